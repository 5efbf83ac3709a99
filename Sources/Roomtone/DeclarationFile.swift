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
    state.setGlobals(functions) { name in
      LuaError(code: "argument", message: unknown("section", name, among: names))
    } assigned: { name in
      guard names.contains(name) else {
        return LuaError(
          code: "argument", message: unknown("section", name, among: names),
          hint: nearest(name, among: names) == nil
            ? "a variable of the file's own is a local one: local \(name) = …" : nil)
      }
      return LuaError(
        code: "argument", message: "'\(name)' is a section, and sections are not assigned to",
        hint: "write \(name) { … }, without =")
    }
    let routine = state.start(try state.load(text, chunkName: "@\(path)"), name: path)
    _ = loop.run(until: { routine.outcome != nil })
    if case .failed(let error) = routine.outcome { throw error }
  }
}
