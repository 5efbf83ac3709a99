internal import EventLoop
internal import Glibc

/// A foreign server program that runs for the time of a test, and is killed with its last reference.
public final class ServerProcess: Sendable {
  private let process: Lock<pid_t?>
  private let log: String

  /// Starts `program`, found on PATH, with these arguments; its output goes to the file `log`.
  public init(_ program: String, _ arguments: [String], log: String) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0o644)
    posix_spawn_file_actions_adddup2(&actions, 1, 2)
    (process, self.log) = (Lock(try spawn(program, arguments, &actions)), log)
  }

  deinit { end() }

  /// The output of the server so far.
  public var output: String { (try? readBytes(log)).map { String(decoding: $0, as: UTF8.self) } ?? "" }

  /// `true` if the server still runs.
  public var isRunning: Bool {
    process.withLock { process in
      guard let running = process else { return false }
      if waitpid(running, nil, WNOHANG) == 0 { return true }
      process = nil
      return false
    }
  }

  /// Waits for a minute at most until `look` returns a result.
  /// - Throws: `TestFailure`, with the server's output, when it ended or the minute is over.
  @discardableResult
  public func wait<Result>(for what: String, _ look: (_ output: String) throws -> Result?) throws -> Result {
    for _ in 0..<6_000 {
      if let result = try look(output) { return result }
      guard isRunning else { throw TestFailure("ended before \(what): \(output)") }
      usleep(10_000)
    }
    throw TestFailure("waited a minute for \(what): \(output)")
  }

  /// Kills the server and waits for its end. A second call does nothing.
  public func end() {
    let running = process.withLock { process in
      defer { process = nil }
      return process
    }
    guard let running else { return }
    kill(running, SIGKILL)
    while waitpid(running, nil, 0) < 0 && errno == EINTR {}
  }
}
