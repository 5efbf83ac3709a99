internal import EventLoop
internal import LuaRuntime

/// A file of Lua that says what is: it has a few functions to say it with, and nothing else.
enum DeclarationFile {
  /// Runs a file.
  /// - Parameter functions: all that it has.
  /// - Throws: `LuaError`: what is wrong with file and line.
  static func run(_ text: [UInt8], path: String, kind: String, _ functions: [LuaFunction]) throws {
    let loop = EventLoop(name: kind)
    defer { loop.close() }
    var limits = LuaLimits()
    limits.memory = 16 << 20
    let state = try LuaState(name: path, loop: loop, limits: limits, watchdog: try LuaWatchdog())
    defer { state.close() }
    let names = functions.map(\.name)
    state.clearGlobals(
      unknown: LuaFunction(kind) { call in
        throw LuaError(code: "argument", message: unknown("section", try call.string(2), among: names))
      })
    for function in functions { state[global: function.name] = state.value(of: function) }
    let routine = state.start(try state.load(text, chunkName: "@\(path)"), name: path)
    _ = loop.run(until: { routine.outcome != nil })
    if case .failed(let error) = routine.outcome { throw error }
  }
}
