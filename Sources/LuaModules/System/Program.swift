internal import EventLoop
internal import Glibc
internal import LuaRuntime

/// A command of the shell that runs, with all processes that it starts.
final class Program: Sendable {
  /// The number of the process, and of the group of all processes that it starts.
  let process: pid_t

  private enum Phase {
    case running
    /// The group is being ended. The number of the process stays in use until the group is killed, even if
    /// the process is gone.
    case ending(isGone: Bool)
    /// The number may belong to another process.
    case reaped
  }
  private let phase = Lock(Phase.running)

  private init(process: pid_t) { self.process = process }

  /// Starts a command in a process group of its own, with the signals that it would have in a terminal: this
  /// process ignores SIGPIPE and SIGXFSZ, and blocks the signals that it watches.
  /// - Parameter descriptors: each one replaces one of the program's own: 0 for its input, 1 for its output,
  ///   2 for its errors.
  static func start(_ command: String, _ descriptors: [(own: Int32, for: Int32)]) -> Result<
    Program, SystemError
  > {
    start(["/bin/sh", "-c", command], descriptors)
  }

  /// Starts a program without a shell, with an empty input; found in `PATH` unless its name has a slash.
  /// - Parameters:
  ///   - output: the descriptor that becomes its output.
  ///   - errors: the descriptor that becomes its output of errors.
  static func start(_ arguments: [String], output: Int32, errors: Int32) -> Result<Program, SystemError> {
    let null = open("/dev/null", O_RDONLY | O_CLOEXEC)
    defer { if null >= 0 { close(null) } }
    return start(arguments, [(null, 0), (output, 1), (errors, 2)])
  }

  private static func start(
    _ arguments: [String], _ descriptors: [(own: Int32, for: Int32)]
  ) -> Result<Program, SystemError> {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for descriptor in descriptors {
      posix_spawn_file_actions_adddup2(&actions, descriptor.own, descriptor.for)
    }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    separateSignals(&attributes)
    let texts: [UnsafeMutablePointer<CChar>?] = arguments.map { (text: String) in strdup(text) }
    defer { for text in texts { free(text) } }
    var process = pid_t()
    let failure = posix_spawnp(&process, arguments[0], &actions, &attributes, texts + [nil], environ)
    return failure == 0 ? .success(Program(process: process)) : .failure(SystemError(failure))
  }

  /// Calls `ended` on the loop with the status that `waitpid` gave.
  func wait(on loop: EventLoop, ended: @escaping (Int32) -> Void) {
    // Created, called and released on the loop's thread; the waiting thread only carries it.
    nonisolated(unsafe) let ended = ended
    let hold = loop.hold("a program runs")
    do throws(LoopError) {
      try startDetachedThread("no thread to wait for a program") { [self] in
        let (status, isWanted) = reap()
        loop.post {
          if isWanted { ended(status) }
          hold.release()
        }
      }
    } catch {
      end()
      ended(255 << 8)
    }
  }

  /// The results of `os.execute` and `close` for a status of `waitpid`.
  static func results(of status: Int32) -> [LuaValue] {
    let signal = status & 0x7f
    let code = signal == 0 ? status >> 8 & 0xff : signal
    let success: LuaValue = signal == 0 && code == 0 ? .bool(true) : .nil
    return [success, .string(signal == 0 ? "exit" : "signal"), .int(Int(code))]
  }

  /// Ends the whole group, unless the process is gone: then its number may belong to another one.
  func end() { phase.withLock { if case .running = $0 { _ = Glibc.kill(-process, SIGTERM) } } }

  /// Ends the whole group, and kills the rest of it after `delay`; callbacks of `wait` are dropped.
  func end(killingAfter delay: Duration, on loop: EventLoop) {
    let isRunning = phase.withLock { phase in
      guard case .running = phase else { return false }
      phase = .ending(isGone: false)
      _ = Glibc.kill(-process, SIGTERM)
      return true
    }
    guard isRunning else { return }
    // The loop stays until then: nothing of the group outlives the script.
    let hold = loop.hold("a program ends")
    loop.after(delay) {
      self.kill()
      hold.release()
    }
  }

  private func kill() {
    phase.withLock { phase in
      guard case .ending(let isGone) = phase else { return }
      _ = Glibc.kill(-process, SIGKILL)
      phase = isGone ? .reaped : .running
      if isGone { _ = waitpid(process, nil, 0) }
    }
  }

  /// Waits until the process is gone.
  /// - Returns: its status, and `false` for a process that was ended by `end(killingAfter:on:)`.
  private func reap() -> (status: Int32, isWanted: Bool) {
    var info = siginfo_t()
    // The status is not collected yet, so that the number stays in use until the lock is held.
    while waitid(P_PID, id_t(process), &info, WEXITED | WNOWAIT) == -1 && errno == EINTR {}
    return phase.withLock { phase in
      if case .ending = phase {
        phase = .ending(isGone: true)
        return (0, false)
      }
      var status: Int32 = 0
      while waitpid(process, &status, 0) == -1 && errno == EINTR {}
      phase = .reaped
      return (status, true)
    }
  }
}
