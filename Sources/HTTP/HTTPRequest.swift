internal import Glibc

/// What is asked of a server, with GET.
///
/// Proxies come from the environment (`http_proxy`, `https_proxy`, `all_proxy`, `no_proxy`).
public struct HTTPRequest: Sendable {
  /// Where, without the credentials that it was written with.
  public let url: String
  /// The host of `url`: a name, or an address, IPv6 in brackets.
  public let host: String
  /// What the program calls itself.
  public var userAgent = "Roomtone"
  /// Headers beyond those that the other properties make, in their order.
  public var headers: [(name: String, value: String)] = []
  /// For basic authentication, from the URL unless set. Not sent on to other hosts by a redirect.
  public var credentials: HTTPCredentials?
  /// Asks for the bytes from this one on; the answer's status says whether the server does that (206).
  public var offset: Int64 = 0
  /// For resolving, connecting and the TLS handshake, of each redirect too.
  public var connectTimeout: Duration = .seconds(10)
  /// For the whole transfer; nil for one that may go on for ever.
  public var timeout: Duration?
  /// How many redirects are followed; at 0 a redirect is an answer like others.
  public var maximumRedirects = 10
  /// Asks for titles in the stream, and understands Shoutcast 1, which answers `ICY 200 OK`.
  public var wantsICY = false
  /// For live bytes that nobody waits for: takes little memory, and wakes the thread for this much sound at a time,
  /// `highestWakeSize` at most, where the answer tells its bit rate. Nil for what is to come at once.
  public var wakeTime: Duration?
  /// Bytes that wait at the most: a station that tells 320 kbit/s may send 48.
  public static let highestWakeSize = 4000
  /// A file of certificates to trust in place of the system's; that of `SSL_CERT_FILE` by default.
  public var certificateFile: String?
  /// Lets the server compress the body, which is decoded; else a compressed body is an error.
  var acceptsCompression = false
  /// Decodes a compressed body that nobody has asked for.
  public var decodesUnasked = false
  var decodes: Bool { acceptsCompression || decodesUnasked }

  /// A request for `url`. A space in it is encoded; what stands behind # is not sent.
  /// - Throws: `.badURL`, `.unsupportedScheme`.
  public init(_ url: String) throws(HTTPError) {
    let parts = try CurlURL(url)
    (self.url, host, credentials) = (parts.text, parts.host, parts.credentials)
    certificateFile = getenv("SSL_CERT_FILE").map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Whether all can be sent as one line each.
  /// - Throws: `.badHeader`.
  func checkHeaders() throws(HTTPError) {
    func isBad(_ text: String) -> Bool { text.utf8.contains { $0 < 0x20 && $0 != 9 || $0 == 0x7F } }
    if isBad(userAgent) { throw HTTPError(.badHeader, host: host, "User-Agent has a control character") }
    for (index, (name, value)) in headers.enumerated() {
      let isToken =
        !name.isEmpty && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ":") }
      guard isToken else {
        throw HTTPError(.badHeader, host: host, "the name of header \(index + 1) is not a name")
      }
      if isBad(value) { throw HTTPError(.badHeader, host: host, "\(name) has a control character") }
    }
    if let credentials,
      isBad(credentials.user) || isBad(credentials.password) || credentials.user.contains(":")
    {
      throw HTTPError(
        .badHeader, host: host, "the user's name or password has a character that can't be sent")
    }
  }
}

extension HTTPRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The method and the URL; headers may hold secrets.
  public var description: String { "GET \(url)" }
  /// The same.
  public var debugDescription: String { description }
  /// The URL.
  public var customMirror: Mirror { Mirror(self, children: ["url": url]) }
}
