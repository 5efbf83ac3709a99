internal import Glibc

/// The failure of a system call, for callers that check its number.
public struct SystemError: Error, Equatable {
  /// The error number, above 0.
  public let number: Int32

  /// Creates the failure with an error number of `errno.h`.
  public init(_ number: Int32) { self.number = number }

  /// The system's text: "No such file or directory".
  public var text: String { String(cString: strerror(number)) }
}

/// A failure of an event loop: a refusal by the operating system, or a misuse.
public typealias LoopError = Failure<LoopErrorKind>

/// The kinds of failure of an event loop; the raw value is the stable code.
public enum LoopErrorKind: String, FailureKind {
  /// A descriptor can't be created or watched.
  case descriptor = "loop.descriptor"
  /// A signal can't be watched.
  case signal = "loop.signal"
  /// A thread can't be started.
  case thread = "loop.thread"
}

extension LoopError {
  /// The error number of the system call, 0 if no call failed.
  public var errno: Int32 { if case .int(let number) = fact("errno") { Int32(number) } else { 0 } }

  /// Creates the failure of a system call from its error number, which is the fact `errno`.
  /// - Parameter what: the refused operation, as in "cannot watch signals".
  init(_ kind: Kind, _ what: String, errno number: Int32) {
    self.init(
      kind, "\(what): \(SystemError(number).text)", facts: [ErrorFact("errno", .int(Int(number)))])
  }
}
