internal import EventLoop
internal import Glibc
internal import LuaRuntime
internal import Scheduling

/// What the host changes in Lua's `os` and `io`: the end of the script, programs without blocking, and under
/// simulation the time.
enum SystemModule {
  static func register(in script: Script, zone: any LocalZone, input: StandardInput) {
    let state = script.state
    var functions = [
      LuaFunction("exit") { [unowned script] call in
        script.exit(status: try status(call))
        throw LuaError(code: "script.exit", message: "the script ends itself")
      }
    ]
    if script.loop.isVirtual {
      functions += SimulatedTime.functions(script.loop, zone)
      functions += ["execute", "tmpname"].map(notHere)
      state.override("io", [notHere("popen")])
    } else {
      functions.append(LuaFunction("execute", execute))
    }
    state.override("os", functions)
    state.override("io", InputFunctions.functions(input))
  }

  private static func notHere(_ name: String) -> LuaFunction {
    LuaFunction(name) { _ in
      throw LuaError(
        code: "simulate.not_here", message: "'\(name)' does something outside of the simulation",
        hint: "guard it with pcall, or run the script for real")
    }
  }

  private static func status(_ call: LuaCall) throws -> Int32 {
    if call.isNil(1) { return 0 }
    if case .bool(let good) = call.value(1) { return good ? 0 : 1 }
    return Int32(try call.int(1, in: 0...255))
  }

  /// `os.execute([command])`: as Lua's, but only the calling routine waits.
  private static func execute(_ call: LuaCall) throws -> LuaReturn {
    if call.isNil(1) { return call.return(true) }
    let command = try call.nameText(1)
    let program: Program
    switch Program.start(command) {
    case .success(let started): program = started
    case .failure(let failure):
      return call.return(
        .nil, .string("/bin/sh: \(String(cString: strerror(failure.number)))"), .int(Int(failure.number)))
    }
    return try call.suspend { continuation in
      program.wait(on: call.state.loop) { status in
        let signal = status & 0x7f
        let code = signal == 0 ? status >> 8 & 0xff : signal
        let success: LuaValue = signal == 0 && code == 0 ? .bool(true) : .nil
        continuation.resume(returning: [success, .string(signal == 0 ? "exit" : "signal"), .int(Int(code))])
      }
      return { program.end() }
    }
  }
}

/// A command of the shell that runs, with all that it starts.
private final class Program: Sendable {
  private let process: pid_t
  /// Whether the process id is free for others again.
  private let isReaped = Lock(false)

  struct Failure: Error { let number: Int32 }

  private init(process: pid_t) { self.process = process }

  /// Starts it in a process group of its own, and with the signals that it would have in a terminal: this process
  /// ignores SIGPIPE and SIGXFSZ, and blocks those that it watches.
  static func start(_ command: String) -> Result<Program, Failure> {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    posix_spawnattr_setpgroup(&attributes, 0)
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    for signal in [SIGPIPE, SIGXFSZ, SIGINT, SIGTERM] { sigaddset(&signals, signal) }
    posix_spawnattr_setsigdefault(&attributes, &signals)
    let shell: [UnsafeMutablePointer<CChar>?] = ["/bin/sh", "-c", command].map { (text: String) in
      strdup(text)
    }
    defer { for text in shell { free(text) } }
    var process = pid_t()
    let failure = posix_spawn(&process, "/bin/sh", nil, &attributes, shell + [nil], environ)
    return failure == 0 ? .success(Program(process: process)) : .failure(Failure(number: failure))
  }

  /// Calls `ended` on the loop with the status that `waitpid` gave.
  func wait(on loop: EventLoop, ended: @escaping (Int32) -> Void) {
    // Made, called and let go on the loop's thread; the waiting thread only carries it.
    nonisolated(unsafe) let ended = ended
    let hold = loop.hold("a program runs")
    let failure = WaitingThread.start { [self] in
      let status = reap()
      loop.post {
        ended(status)
        hold.release()
      }
    }
    guard failure == 0 else {
      end()
      return ended(255 << 8)
    }
  }

  /// Ends the whole group, unless the process is gone: its number may be somebody else's then.
  func end() { isReaped.withLock { if !$0 { kill(-process, SIGTERM) } } }

  /// Waits without taking the status, so that the number stays taken until the lock is held.
  private func reap() -> Int32 {
    var info = siginfo_t()
    while waitid(P_PID, id_t(process), &info, WEXITED | WNOWAIT) == -1 && errno == EINTR {}
    return isReaped.withLock { isReaped in
      var status: Int32 = 0
      while waitpid(process, &status, 0) == -1 && errno == EINTR {}
      isReaped = true
      return status
    }
  }
}

/// A thread that does one thing.
private enum WaitingThread {
  private final class Work: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  /// - Returns: 0, or why there is no thread.
  static func start(_ body: @escaping @Sendable () -> Void) -> Int32 {
    var thread = pthread_t()
    let raw = Unmanaged.passRetained(Work(body)).toOpaque()  // released by the thread
    let failure = pthread_create(&thread, nil, { raw in WaitingThread.run(raw) }, raw)
    if failure == 0 { pthread_detach(thread) } else { Unmanaged<Work>.fromOpaque(raw).release() }
    return failure
  }

  private static func run(_ raw: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let raw { Unmanaged<Work>.fromOpaque(raw).takeRetainedValue().body() }
    return nil
  }
}
