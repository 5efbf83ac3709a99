public import EventLoop

/// Why a transfer failed. Matched by `kind` in Swift and by `code` in scripts; never tells credentials.
public struct HTTPError: CodedError, Equatable {
  /// The stable names.
  public enum Kind: String, Sendable, CaseIterable {
    /// The text is no URL.
    case badURL = "http.bad_url"
    /// A URL, or a redirect to one, that is neither http nor https.
    case unsupportedScheme = "http.scheme"
    /// A header or user agent with characters that would end it.
    case badHeader = "http.bad_header"
    /// No address belongs to the host's name, or to the proxy's.
    case resolve = "http.resolve"
    /// No way to the host.
    case connect = "http.connect"
    /// The host is there, and nobody listens at the port.
    case refused = "http.refused"
    /// The connection ended before the answer was complete.
    case reset = "http.reset"
    /// A limit of time of the request was reached.
    case timeout = "http.timeout"
    /// The certificate is not good, or there is no common way to encrypt.
    case tls = "http.tls"
    /// More redirects than the request allows.
    case tooManyRedirects = "http.redirects"
    /// The other side does not speak HTTP, or speaks it wrongly.
    case protocolViolation = "http.protocol"
    /// More header than anybody needs.
    case headersTooLarge = "http.headers"
    /// The body is compressed, unasked or wrongly.
    case encoding = "http.encoding"
    /// The body is larger than the caller takes.
    case tooLarge = "http.too_large"
    /// The network thread was closed before the transfer ended.
    case cancelled = "http.cancelled"
    /// The system or libcurl could not: no memory, no descriptor, no thread.
    case system = "http.system"
  }

  /// Which failure.
  public let kind: Kind
  /// The host of the request, empty when there is none.
  public let host: String
  /// What failed, one line, with libcurl's words where it has some.
  public let message: String

  /// A failure of `kind` in talking to `host`; `words` say more.
  public init(_ kind: Kind, host: String = "", _ words: String = "") {
    self.kind = kind
    self.host = host
    let what = kind.phrase(host.isEmpty ? "the server" : host)
    message = words.isEmpty ? what : "\(what): \(words)"
  }

  /// The stable name, as scripts see it.
  public var code: String { kind.rawValue }
  /// The host.
  public var facts: [ErrorFact] { host.isEmpty ? [] : [ErrorFact("host", .string(host))] }
}

extension HTTPError.Kind {
  fileprivate func phrase(_ host: String) -> String {
    switch self {
    case .badURL: "this is no URL"
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
    case .tooLarge: "\(host) sends more than is taken"
    case .cancelled: "the transfer from \(host) was cancelled"
    case .system: "the transfer from \(host) couldn't be done"
    }
  }
}
