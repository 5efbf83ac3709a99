public import EventLoop

/// A failure as scripts see it: what an error object of Lua's holds, on its way in either direction.
///
/// Swift throws one and `pcall` catches it; a script raises anything and Swift catches one of these.
public struct LuaError: CodedError, Sendable {
  /// `"speaker.unknown"`; `"argument"` for misuse, `"script.error"` for what `error` raised without a code.
  public var code: String
  /// One line: what failed.
  public var message: String
  /// What to do about it.
  public var hint: String?
  /// Facts, fields of the error object.
  public var facts: [ErrorFact]
  /// What of the script's failed, where that is not the script itself: `job "alarm"`, `on "volume"`.
  public var context: String?
  /// `file:line` of the Lua code that failed; nil when no Lua code was running.
  public var location: String?
  /// Lua's traceback from the place of the failure, lines separated by `\n`.
  public var traceback: String?
  /// The value that the script raised, kept so that it can be raised again as it was.
  public var value: LuaReference?

  /// A failure that is told to Lua.
  public init(
    code: String, message: String, hint: String? = nil, facts: [ErrorFact] = [], location: String? = nil,
    traceback: String? = nil
  ) {
    self.code = code
    self.message = message
    self.hint = hint
    self.facts = facts
    self.location = location
    self.traceback = traceback
  }

  /// Misuse of a function: the argument with `number` (1-based) is wrong.
  public static func argument(_ number: Int, of function: String, _ problem: String) -> LuaError {
    LuaError(code: "argument", message: "bad argument #\(number) to '\(function)' (\(problem))")
  }

  /// What a routine unwinds with when it is cancelled.
  public static let cancelled = LuaError(code: "task.cancelled", message: "the routine was cancelled")

  /// Any error of Swift's as scripts shall see it.
  public init(_ error: any Error) {
    switch error {
    case let error as LuaError: self = error
    case let error as any CodedError:
      self.init(code: error.code, message: error.message, hint: error.hint, facts: error.facts)
    case is CancellationError: self = .cancelled
    default: self.init(code: "internal", message: "\(error)")
    }
  }

  /// Takes the place of an error that has none, as of `error({})`, from its traceback.
  mutating func findLocation() {
    guard location == nil, let traceback else { return }
    let line = traceback.split(separator: "\n").dropFirst().first { !$0.contains("[C]:") }
    guard let words = line?.drop(while: { $0 == "\t" }), let end = words.firstRange(of: ": in ") else {
      return
    }
    let place = words[..<end.lowerBound]
    // What Lua or `error` raised as text says so itself.
    let file = place.prefix { $0 != ":" }
    if !message.hasPrefix("\(file):") { location = String(place) }
  }

  /// `where: message (code); hint`, as `tostring` of the error object gives.
  public var description: String {
    var line = context.map { "\($0): " } ?? ""
    line += location.map { $0.isEmpty ? "" : "\($0): " } ?? ""
    line += message
    if code != "argument" && code != "script.error" { line += " (\(code))" }
    if let hint { line += "; \(hint)" }
    return line
  }

  /// The description, and below it the traceback's lines that stand in Lua files, indented.
  public var report: String {
    guard let traceback else { return description }
    let lines = traceback.split(separator: "\n").dropFirst().filter { !$0.contains("[C]:") }
    // One line says no more than the location in front of the message.
    guard lines.count > 1 else { return description }
    return ([Substring(description)] + lines.map { "  " + $0.drop { $0 == "\t" } })
      .joined(separator: "\n")
  }
}
