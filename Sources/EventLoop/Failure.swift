/// The kinds of one type of errors, as an enum of strings; each raw value is a stable code, as scripts see
/// it.
///
/// `enum StreamErrorKind: String, FailureKind { case timeout = "stream.timeout" }`
public protocol FailureKind: RawRepresentable<String>, Hashable, Sendable {
  /// The advice to the user after any failure of the kind that has none of its own; nil without any.
  var hint: String? { get }
  /// The facts that every failure of the kind has after its own.
  var facts: [ErrorFact] { get }
}

extension FailureKind {
  /// Nil, unless the conforming type provides a hint.
  public var hint: String? { nil }
  /// Empty, unless the conforming type provides them.
  public var facts: [ErrorFact] { [] }
}

/// A failure of one of several kinds: the type of `StreamError`, `SpeakerError` and most other errors.
///
/// Matched by `kind` in Swift, `catch let error as StreamError where error.kind == .timeout`, and by `code`
/// in scripts.
public struct Failure<Code: FailureKind>: CodedError, Equatable {
  /// The kinds of this type of errors.
  public typealias Kind = Code

  /// The kind of failure.
  public let kind: Kind
  /// The failure in one line without a full stop at its end.
  public let message: String
  /// The advice to the user in one line; nil without any.
  public let hint: String?
  /// The facts for programs, in the order in which they are shown.
  public let facts: [ErrorFact]

  /// Creates a failure of `kind`.
  /// - Parameters:
  ///   - message: one line without a full stop at its end.
  ///   - hint: the advice to the user, one line; nil for that of the kind.
  ///   - facts: the facts before those of the kind.
  public init(_ kind: Kind, _ message: String, hint: String? = nil, facts: [ErrorFact] = []) {
    self.kind = kind
    self.message = message
    self.hint = hint ?? kind.hint
    self.facts = facts + kind.facts
  }

  /// The stable name of the kind, as scripts see it.
  public var code: String { kind.rawValue }
}
