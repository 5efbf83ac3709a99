public import EventLoop

/// The failure of a transfer, with the fact `host` if it is known. Matched by `kind` in Swift and by `code`
/// in scripts; never contains credentials.
public typealias HTTPError = Failure<HTTPErrorKind>

/// The kinds of failure of a transfer; the raw value is the stable code, as scripts see it.
public enum HTTPErrorKind: String, FailureKind, CaseIterable {
  /// The text is not a URL.
  case badURL = "http.bad_url"
  /// A URL, or a redirect to one, that is neither http nor https.
  case unsupportedScheme = "http.scheme"
  /// A header or user agent with characters that would end it.
  case badHeader = "http.bad_header"
  /// The name of the host, or of the proxy, has no address.
  case resolve = "http.resolve"
  /// The host can't be reached.
  case connect = "http.connect"
  /// The host refuses the connection at the port.
  case refused = "http.refused"
  /// The connection ended before the response was complete.
  case reset = "http.reset"
  /// A timeout of the request was reached.
  case timeout = "http.timeout"
  /// The certificate is not valid, or there is no common way to encrypt.
  case tls = "http.tls"
  /// More redirects than the request allows.
  case tooManyRedirects = "http.redirects"
  /// The other side does not speak HTTP, or speaks it wrongly.
  case protocolViolation = "http.protocol"
  /// The headers exceed the limits of `HeaderCollector`.
  case headersTooLarge = "http.headers"
  /// The body is compressed without a request, or wrongly.
  case encoding = "http.encoding"
  /// The body is larger than the caller's limit.
  case tooLarge = "http.too_large"
  /// The network thread was closed before the transfer ended.
  case cancelled = "http.cancelled"
  /// A failure of the system or libcurl: no memory, no descriptor, no thread.
  case system = "http.system"
}

extension HTTPError {
  /// Creates the failure of a transfer, whose message begins with the words for `kind`.
  /// - Parameters:
  ///   - host: the host of the request; nil without one.
  ///   - detail: words after those for `kind`, such as libcurl's.
  ///   - isUntrusted: `true` if the server's certificate is not trusted.
  public init(_ kind: Kind, host: String?, _ detail: String = "", isUntrusted: Bool = false) {
    let host = host.flatMap { $0.isEmpty ? nil : $0 }
    let phrase = kind.phrase(host ?? "the server")
    // libcurl's words would only repeat it.
    let detail = kind == .resolve && detail.hasPrefix("Could not resolve host") ? "" : detail
    self.init(
      kind, detail.isEmpty ? phrase : "\(phrase): \(detail)",
      facts: (host.map { [ErrorFact("host", .string($0))] } ?? [])
        + (isUntrusted ? [ErrorFact("certificate", .string("untrusted"))] : []))
  }

  /// `true` if the server's certificate is not trusted: the user may name a file of certificates that
  /// contains it.
  public var isUntrusted: Bool { fact("certificate") == .string("untrusted") }
}

extension HTTPErrorKind {
  fileprivate func phrase(_ host: String) -> String {
    switch self {
    case .badURL: "this is not a URL"
    case .unsupportedScheme: "only http and https URLs can be opened"
    case .badHeader: "a header for \(host) can't be sent"
    case .resolve: "no such host: \(host)"
    case .connect: "can't connect to \(host)"
    case .refused: "\(host) refuses connections"
    case .reset: "\(host) ended the connection early"
    case .timeout: "\(host) took too long"
    case .tls: "no secure connection to \(host)"
    case .tooManyRedirects: "\(host) redirects too often"
    case .protocolViolation: "\(host) doesn't speak proper HTTP"
    case .headersTooLarge: "\(host) sends too much header"
    case .encoding: "\(host) sends a body in a coding that wasn't asked for, or is broken"
    case .tooLarge: "\(host) sends more than is accepted"
    case .cancelled: "the transfer from \(host) was cancelled"
    case .system: "the transfer from \(host) couldn't be done"
    }
  }
}
