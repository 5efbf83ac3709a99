internal import EventLoop
internal import Glibc

/// Processes of one program that run at the same time, and their costs. Killed with the last reference.
final class MeasuredProcesses {
  private let program: String
  private var identifiers: [pid_t] = []

  /// Creates an empty group for processes of `program`, found on PATH.
  init(_ program: String) { self.program = program }

  /// Starts one more process.
  /// - Throws: `StartBench.Failed` when the program does not exist.
  func start(_ arguments: [String]) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for (number, mode) in [(Int32(0), O_RDONLY), (1, O_WRONLY), (2, O_WRONLY)] {
      posix_spawn_file_actions_addopen(&actions, number, "/dev/null", mode, 0)
    }
    let words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { (word: String) in strdup(word) }
    defer { for word in words { free(word) } }
    var identifier = pid_t()
    guard posix_spawnp(&identifier, program, &actions, nil, words + [nil], environ) == 0 else {
      throw StartBench.Failed(message: "can't start \(program)")
    }
    identifiers.append(identifier)
  }

  deinit {
    for identifier in identifiers { kill(identifier, SIGKILL) }
    for identifier in identifiers { while waitpid(identifier, nil, 0) < 0 && errno == EINTR {} }
  }

  /// The number of processes started.
  var count: Int { identifiers.count }

  /// Returns the processor time of all threads in seconds, to the microsecond.
  /// - Throws: `StartBench.Failed` when one of the processes has ended.
  func workTime() throws -> Double {
    try identifiers.reduce(0) { sum, identifier in
      let folder = "/proc/\(identifier)/task"
      let threads = Self.names(in: folder)
      guard waitpid(identifier, nil, WNOHANG) == 0, !threads.isEmpty else {
        throw StartBench.Failed(message: "\(program) has ended")
      }
      return sum
        + threads.reduce(0) { sum, thread in
          // proc(5): nanoseconds on a processor, nanoseconds of waiting for one, turns.
          let text = try? Fixture.bytes(at: "\(folder)/\(thread)/schedstat")
          let first = text.map { String(decoding: $0.prefix { $0 != 0x20 }, as: UTF8.self) }
          return sum + (first.flatMap { Double($0) } ?? 0) / 1e9
        }
    }
  }

  /// Returns the bytes in memory: the proportional share (PSS), and all resident pages (RSS).
  /// - Throws: `StartBench.Failed` when one of the processes has ended.
  func memory() throws -> (share: Int, resident: Int) {
    try identifiers.reduce((0, 0)) { sum, identifier in
      let file = "/proc/\(identifier)/smaps_rollup"
      guard let text = try? Fixture.bytes(at: file), !text.isEmpty else {
        throw StartBench.Failed(message: "\(program) has ended")
      }
      let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
      // proc(5): name and colon, a number, kB.
      func kilobytes(_ name: String) -> Int {
        let line = lines.first { $0.hasPrefix("\(name):") }
        return line.flatMap { $0.split(separator: " ").dropFirst().first }.flatMap { Int($0) } ?? 0
      }
      return (sum.0 + 1024 * kilobytes("Pss"), sum.1 + 1024 * kilobytes("Rss"))
    }
  }

  private static func names(in folder: String) -> [String] {
    ((try? LinuxFiles.names(in: folder)) ?? []).filter { $0.first?.isNumber == true }
  }
}
