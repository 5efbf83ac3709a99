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
    let command = try call.string(1)
    var process = pid_t()
    let shell: [UnsafeMutablePointer<CChar>?] = ["/bin/sh", "-c", command].map { (text: String) in
      strdup(text)
    }
    defer { for text in shell { free(text) } }
    let failure = posix_spawn(&process, "/bin/sh", nil, nil, shell + [nil], environ)
    guard failure == 0 else {
      return call.return(.nil, .string("/bin/sh: \(String(cString: strerror(failure)))"), .int(Int(failure)))
    }
    let child = process
    return try call.suspend { continuation in
      Child.wait(for: child, on: call.state.loop) { status in
        let signal = status & 0x7f
        let code = signal == 0 ? status >> 8 & 0xff : signal
        let success: LuaValue = signal == 0 && code == 0 ? .bool(true) : .nil
        continuation.resume(returning: [success, .string(signal == 0 ? "exit" : "signal"), .int(Int(code))])
      }
      return { kill(child, SIGTERM) }
    }
  }
}

/// Waits for processes, each on a thread that does nothing else.
private enum Child {
  /// Calls `ended` on the loop with the status that `waitpid` gave.
  static func wait(for process: pid_t, on loop: EventLoop, ended: @escaping (Int32) -> Void) {
    // Made, called and let go on the loop's thread; the waiting thread only carries it.
    nonisolated(unsafe) let ended = ended
    let hold = loop.hold("a program runs")
    let job = Job(process: process) { status in
      loop.post {
        ended(status)
        hold.release()
      }
    }
    var thread = pthread_t()
    let raw = Unmanaged.passRetained(job).toOpaque()  // released by the thread
    let failure = pthread_create(&thread, nil, { raw in Child.run(raw) }, raw)
    guard failure == 0 else {
      Unmanaged<Job>.fromOpaque(raw).release()
      return ended(255 << 8)
    }
    pthread_detach(thread)
  }

  private static func run(_ raw: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let raw else { return nil }
    let job = Unmanaged<Job>.fromOpaque(raw).takeRetainedValue()
    var status: Int32 = 0
    while waitpid(job.process, &status, 0) == -1 && errno == EINTR {}
    job.ended(status)
    return nil
  }

  private final class Job: Sendable {
    let process: pid_t
    let ended: @Sendable (Int32) -> Void
    init(process: pid_t, ended: @escaping @Sendable (Int32) -> Void) {
      self.process = process
      self.ended = ended
    }
  }
}
