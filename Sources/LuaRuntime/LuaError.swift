public import EventLoop

/// A failure as scripts see it: the content of a Lua error object, in either direction.
///
/// An error that Swift throws is caught by `pcall`; a value that a script raises is caught in Swift as this
/// type.
public struct LuaError: CodedError, Sendable {
  /// The code: `"speaker.unknown"`; `"argument"` for misuse, `"script.error"` for an `error` without a code.
  public var code: String
  /// The failure in one line.
  public var message: String
  /// The advice to the user, if any.
  public var hint: String?
  /// Structured details, fields of the error object.
  public var facts: [ErrorFact]
  /// The part of the script that failed, if not its main chunk: `job "alarm"`, `on "volume"`.
  public var context: String?
  /// `file:line` of the Lua code that failed; nil when no Lua code was running.
  public var location: String?
  /// Lua's traceback from the point of the failure, lines separated by `\n`.
  public var traceback: String?
  /// The value that the script raised, kept so that it can be raised again unchanged.
  public var value: LuaReference?

  /// Creates a failure to be raised in Lua.
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

  /// The error of misuse of a function: the argument with `number` (1-based) is wrong.
  public static func argument(_ number: Int, of function: String, _ problem: String) -> LuaError {
    LuaError(code: "argument", message: "bad argument #\(number) to '\(function)' (\(problem))")
  }

  /// The error with which a cancelled routine unwinds.
  public static let cancelled = LuaError(code: "task.cancelled", message: "the routine was cancelled")

  /// The form in scripts of any Swift error.
  public init(_ error: any Error) {
    switch error {
    case let error as LuaError: self = error
    case let error as any CodedError:
      self.init(code: error.code, message: error.message, hint: error.hint, facts: error.facts)
    case is CancellationError: self = .cancelled
    default: self.init(code: "internal", message: "\(error)")
    }
  }

  /// Sets the location of an error without one, as of `error({})`, from its traceback.
  mutating func findLocation() {
    guard location == nil, let traceback else { return }
    let line = traceback.split(separator: "\n").dropFirst().first { !$0.contains("[C]:") }
    guard let words = line?.drop(while: { $0 == "\t" }), let end = words.firstRange(of: ": in ") else {
      return
    }
    let place = words[..<end.lowerBound]
    // A text that Lua or `error` raised begins with its location.
    let file = place.prefix { $0 != ":" }
    if !message.hasPrefix("\(file):") { location = String(place) }
  }

  /// The text `where: message (code); hint`, as `tostring` of the error object returns it.
  public var description: String {
    var line = context.map { "\($0): " } ?? ""
    line += location.map { $0.isEmpty ? "" : "\($0): " } ?? ""
    line += message
    if code != "argument" && code != "script.error" { line += " (\(code))" }
    if let hint { line += "; \(hint)" }
    return line
  }

  /// The description, and below it the traceback's lines in Lua files, indented.
  public var report: String {
    guard let traceback else { return description }
    let lines = traceback.split(separator: "\n").dropFirst().filter { !$0.contains("[C]:") }
    // A single line of traceback only repeats the location that begins the description.
    guard lines.count > 1 else { return description }
    return ([Substring(description)] + lines.map { "  " + $0.drop { $0 == "\t" } })
      .joined(separator: "\n")
  }
}
