package import EventLoop

/// A failure of a server.
package typealias WebError = Failure<WebErrorKind>

/// The kinds of failure of a server; the raw value is the stable code.
package enum WebErrorKind: String, FailureKind {
  /// libmicrohttpd can't be loaded.
  case library = "web.library"
  /// The port is in use by another process.
  case busy = "web.busy"
  /// The machine does not have the address.
  case address = "web.address"
  /// The certificate or its key can't be used.
  case certificate = "web.certificate"
  /// The server can't be started.
  case failed = "web.failed"
}
