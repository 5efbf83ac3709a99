internal import EventLoop
internal import Glibc
internal import LuaRuntime
internal import Scheduling

/// The host's replacements in Lua's `os` and `io`: the end of the script, programs that do not block, and the
/// time under simulation.
enum SystemModule {
  static func register(in script: Script, zone: any LocalZone, input: InputReader) throws {
    let state = script.state
    var functions = [
      LuaFunction("exit") { [unowned script] call in
        script.exit(status: try status(call))
        throw LuaError(code: "script.exit", message: "the script ends itself")
      },
      LuaFunction("getenv", arity: 1) { call in
        guard let value = getenv(try call.nameText(1)) else { return call.return(.nil) }
        return call.return(.bytes([UInt8](UnsafeRawBufferPointer(start: value, count: strlen(value)))))
      },
    ]
    if script.loop.isVirtual {
      functions += SimulatedTime.functions(script.loop, zone)
      functions += ["execute", "tmpname"].map(notHere)
      state.override("io", [notHere("popen")])
      // Output becomes whole lines: other text would break the time line, and the lines of its JSON.
      state.replaceOutput()
      script.atLast { [unowned state] in state.finishLine() }
    } else {
      functions.append(LuaFunction("execute") { [unowned script] call in try execute(call, script) })
      let files = try ProgramFiles(script)
      state.override("io", [LuaFunction("popen") { call in try files.open(call) }])
    }
    state.override("os", functions)
    InputFunctions.replace(in: state, input)
    try DeviceFiles(script).replace(in: state)
    script.scratch?.replace(in: state)
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

  /// `os.execute([command])`: like Lua's, but only the calling routine waits.
  private static func execute(_ call: LuaCall, _ script: Script) throws -> LuaReturn {
    if call.isNil(1) { return call.return(true) }
    let command = try call.string(1, .command)
    let program: Program
    switch script.programs.start(command, log: script.onLog) {
    case .success(let started): program = started
    case .failure(let failure):
      return call.results(FileFailure.results(failure.number, of: "/bin/sh"))
    }
    return try call.suspend { continuation in
      script.programs.wait(for: program) { continuation.resume(returning: Program.results(of: $0)) }
      return { program.end() }
    }
  }
}
