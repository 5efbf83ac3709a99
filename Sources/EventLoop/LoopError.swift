internal import Glibc

/// What the operating system refused an event loop.
public struct LoopError: CodedError, Equatable {
  /// `loop.descriptor` or `loop.signal`.
  public let code: String
  /// What was refused, and why.
  public let message: String
  /// The error number of the system call, 0 when it was ours to refuse.
  public let errno: Int32

  init(code: String, _ what: String, errno: Int32) {
    self.code = code
    self.errno = errno
    message = "\(what): \(String(cString: strerror(errno)))"
  }

  init(code: String, _ message: String) {
    self.code = code
    self.errno = 0
    self.message = message
  }

  /// The error number, for programs.
  public var facts: [ErrorFact] { errno == 0 ? [] : [ErrorFact("errno", .int(Int(errno)))] }
}
