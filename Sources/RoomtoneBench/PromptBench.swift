internal import Glibc
internal import TestSupport

/// `roomtone repl` on a terminal: from its start to the prompt, and from Tab to the list of names.
enum PromptBench {
  static func run() throws -> [Figure] {
    let folder = try TemporaryFolder()
    let speakers = (0..<200).map { "{ name = 'Speaker \($0)', group = 'Room \($0 / 2)', role = 'mono' }" }
    _ = try folder.write(
      Array("house { speakers = { \(speakers.joined(separator: ", ")) } }".utf8), to: "house.lua")
    let arguments = ["repl", "--output", "null", "--config", "\(folder.path)/house.lua"]
    let start = try Bench.median(of: 11) {
      let prompt = try PromptProcess(arguments, home: folder.path)
      return try prompt.wait(for: "> ") * 1000
    }
    let prompt = try PromptProcess(arguments, home: folder.path)
    _ = try prompt.wait(for: "> ")
    // As long as a person needs for the first word, in which the definitions are read.
    usleep(500_000)
    let completion = try Bench.median(of: 21) {
      try prompt.type("speaker.device \"Speaker 19")
      _ = try prompt.wait(for: "19")
      try prompt.type("\t")
      let time = try prompt.wait(for: "Speaker 199") * 1000
      try prompt.type("\u{15}")
      _ = try prompt.wait(for: "> ")
      return time
    }
    return [
      Figure(
        name: "prompt, start with 200 speakers", value: start, unit: "ms", against: "", goal: "<= 30 ms",
        isReached: start <= 30),
      Figure(
        name: "prompt, Tab with 200 speakers", value: completion, unit: "ms", against: "", goal: "<= 20 ms",
        isReached: completion <= 20),
    ]
  }
}

/// A `roomtone` process on a terminal of its own; killed with the last reference.
private final class PromptProcess {
  private let terminal: Int32
  private var process = pid_t()
  private var asked = Bench.now()

  init(_ arguments: [String], home: String) throws {
    let (master, path) = try Descriptors.terminal()
    terminal = master
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, path, O_RDWR | O_NOCTTY, 0)
    posix_spawn_file_actions_adddup2(&actions, 0, 1)
    posix_spawn_file_actions_adddup2(&actions, 0, 2)
    let program = "\(StartBench.executableFolder())/roomtone"
    let variables = ["PATH=/usr/bin:/bin", "TERM=xterm", "LANG=C.UTF-8", "HOME=\(home)"]
    let words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { (word: String) in strdup(word) }
    let environment: [UnsafeMutablePointer<CChar>?] = variables.map { (word: String) in strdup(word) }
    defer { for text in words + environment { free(text) } }
    asked = Bench.now()
    guard posix_spawn(&process, program, &actions, nil, words + [nil], environment + [nil]) == 0
    else {
      throw StartBench.Failed(message: "can't start \(program)")
    }
  }

  deinit {
    kill(process, SIGKILL)
    waitpid(process, nil, 0)
    close(terminal)
  }

  /// Types a text; `wait` counts from now on.
  func type(_ text: String) throws {
    asked = Bench.now()
    guard text.utf8.withContiguousStorageIfAvailable({ write(terminal, $0.baseAddress, $0.count) }) ?? -1 > 0
    else {
      throw StartBench.Failed(message: "can't type")
    }
  }

  /// Waits until the terminal shows a text.
  /// - Returns: the seconds since the start or the last key.
  func wait(for text: String) throws -> Double {
    var shown: [UInt8] = []
    while Bench.now() - asked < 10 {
      var entry = pollfd(fd: terminal, events: Int16(POLLIN), revents: 0)
      guard poll(&entry, 1, 1000) > 0 else { continue }
      var bytes = [UInt8](repeating: 0, count: 4096)
      let count = read(terminal, &bytes, bytes.count)
      guard count > 0 else { break }
      shown += bytes[..<count]
      if String(decoding: shown, as: UTF8.self).firstRange(of: text) != nil { return Bench.now() - asked }
    }
    throw StartBench.Failed(
      message: "no '\(text)' on the terminal: \(String(decoding: shown, as: UTF8.self))")
  }
}
