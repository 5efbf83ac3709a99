internal import Glibc

/// A failure of an event loop: a refusal by the operating system, or a misuse.
public struct LoopError: CodedError, Equatable {
  /// The code: `loop.descriptor`, `loop.signal` or `loop.thread`.
  public let code: String
  /// The refused operation and the reason.
  public let message: String
  /// The error number of the system call, 0 when no call failed.
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
