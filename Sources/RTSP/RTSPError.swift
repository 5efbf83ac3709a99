package import EventLoop

/// A failure of a session of RTSP. Its messages name no server: the caller knows the address.
package typealias RTSPError = Failure<RTSPErrorKind>

/// The kinds of failure of a session of RTSP.
package enum RTSPErrorKind: String, FailureKind, CaseIterable {
  /// The other side does not speak RTSP, or speaks it wrongly.
  case malformed = "rtsp.malformed"
  /// A message is larger than its limit.
  case tooLarge = "rtsp.too_large"
  /// The server answers with a status of 400 or more, which is the fact `status`.
  case status = "rtsp.status"
  /// The server requires credentials, or refuses those sent.
  case auth = "rtsp.auth"
  /// The server offers nothing that this side can receive.
  case unsupported = "rtsp.unsupported"
  /// The server has ended the session.
  case ended = "rtsp.ended"
}

extension Failure<RTSPErrorKind> {
  /// Creates the failure of a request that was answered with `status`.
  init(_ method: RTSPMethod, status: Int, reason: String) {
    let words = reason.isEmpty ? "" : " \(String(reason.prefix(80)).onOneLine)"
    self.init(
      .status, "answers \(method.rawValue) with RTSP \(status)\(words)",
      facts: [.init("status", .int(status))])
  }

  /// The status of the failed answer; nil for other failures.
  package var status: Int? { if case .int(let status) = fact("status") { status } else { nil } }
}
