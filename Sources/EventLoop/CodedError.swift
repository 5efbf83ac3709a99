/// An error that a person can act on and a program can match; every error of Roomtone conforms.
///
/// Errors are matched by `code`, which never changes; `message` is one line that names the failure and its
/// location.
public protocol CodedError: Error, CustomStringConvertible {
  /// The stable name of the failure, as scripts see it: `"speaker.unknown"`.
  var code: String { get }
  /// The failure in one line without a full stop at its end, with the facts that identify it.
  var message: String { get }
  /// The advice to the user in one line, nil without any.
  var hint: String? { get }
  /// The facts for programs, in a fixed order: `[("status", .int(404))]`.
  var facts: [ErrorFact] { get }
}

extension CodedError {
  /// Nil, unless the conforming type provides a hint.
  public var hint: String? { nil }
  /// Empty, unless the conforming type provides them.
  public var facts: [ErrorFact] { [] }
  /// Returns the value of the fact called `name`; nil without one.
  public func fact(_ name: String) -> ErrorFact.Value? { facts.first { $0.name == name }?.value }
  /// The message, code and hint in one line for a person.
  public var description: String {
    hint.map { "\(message) (\(code)); \($0)" } ?? "\(message) (\(code))"
  }
}

/// A named fact of an error.
public struct ErrorFact: Sendable, Equatable {
  /// The value of a fact.
  public enum Value: Sendable, Equatable {
    case string(String)
    case int(Int)
    case number(Double)
    case bool(Bool)
    case strings([String])
  }
  /// The snake_case name, a field of the Lua error object.
  public let name: String
  /// The value.
  public let value: Value

  /// Creates a fact called `name`.
  public init(_ name: String, _ value: Value) {
    self.name = name
    self.value = value
  }
}
