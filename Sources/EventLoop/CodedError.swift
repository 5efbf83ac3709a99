/// An error that a person can act on and a program can match: what every error of Roomtone is.
///
/// Errors are matched by `code`, which never changes; `message` is one line that says what failed and where.
public protocol CodedError: Error, CustomStringConvertible {
  /// Stable name of the failure, as scripts see it: `"speaker.unknown"`.
  var code: String { get }
  /// One line without a full stop at its end: what failed, with the facts that identify it.
  var message: String { get }
  /// What to do about it, one line, when there is something to do.
  var hint: String? { get }
  /// Facts for programs, in a fixed order: `[("status", .int(404))]`.
  var facts: [ErrorFact] { get }
}

extension CodedError {
  /// Nothing to do, unless the error says otherwise.
  public var hint: String? { nil }
  /// No facts, unless the error says otherwise.
  public var facts: [ErrorFact] { [] }
  /// The one clear line that a person reads.
  public var description: String {
    hint.map { "\(message) (\(code)); \($0)" } ?? "\(message) (\(code))"
  }
}

/// One named fact of an error.
public struct ErrorFact: Sendable, Equatable {
  /// What a fact may hold.
  public enum Value: Sendable, Equatable {
    case string(String)
    case int(Int)
    case number(Double)
    case bool(Bool)
    case strings([String])
  }
  /// snake_case name, a field of the Lua error object.
  public let name: String
  /// The value.
  public let value: Value

  /// A fact called `name`.
  public init(_ name: String, _ value: Value) {
    self.name = name
    self.value = value
  }
}
