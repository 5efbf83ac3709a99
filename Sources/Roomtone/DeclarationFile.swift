internal import EventLoop
internal import LuaRuntime
internal import Scheduling

/// A Lua file of declarations: it has the few functions that declare them, and nothing else.
enum DeclarationFile {
  /// The standard functions and libraries of files that compute their declarations. They don't read or write
  /// anything.
  static let standard = [
    "ipairs", "pairs", "math", "select", "string", "table", "tonumber", "tostring", "type",
  ]

  /// Runs a file.
  /// - Parameters:
  ///   - mark: records a process that ended with the file, which is then refused until it changes; nil
  ///     without one.
  ///   - functions: the functions that declare.
  ///   - standard: names of standard functions and libraries that it has besides.
  /// - Throws: `LuaError`: the mistake with file and line.
  static func run(
    _ text: [UInt8], path: String, kind: String, mark: HoldMark? = nil, standard: [String] = [],
    _ functions: [LuaFunction]
  ) throws {
    if let refusal = mark?.refusal({ "\(ProcessZone().local($0))" }, hint: "change the file") {
      throw refusal
    }
    let loop = EventLoop(name: kind)
    defer { loop.close() }
    var limits = LuaLimits()
    limits.memory = 16 << 20
    // The seed is fixed, so that the same file declares the same every time.
    let state = try LuaState(name: path, loop: loop, limits: limits, watchdog: try LuaWatchdog(), seed: 0)
    defer { state.close() }
    if let mark { state.setMark(path: mark.path, text: mark.file) }
    let names = functions.map(\.name)
    state.setGlobals(functions, standard: standard) { name in
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
