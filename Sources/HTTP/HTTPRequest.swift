public import EventLoop
internal import Glibc

/// A request to a server.
///
/// Proxies come from the environment (`http_proxy`, `https_proxy`, `all_proxy`, `no_proxy`).
public struct HTTPRequest: Sendable {
  /// The URL, without its credentials.
  public let url: String
  /// The host of `url`: a name, or an address, IPv6 in brackets.
  public let host: String
  /// The method, with the body that it sends.
  public var method = HTTPMethod.get
  /// The value of the User-Agent header.
  public var userAgent = "Roomtone"
  /// The headers besides those that the other properties create, in their order.
  public var headers: [(name: String, value: String)] = []
  /// The credentials for basic authentication, from the URL unless set. A redirect to another scheme, host or
  /// port drops them (libcurl 7.83 and later).
  public var credentials: HTTPCredentials?
  /// The first byte wanted; the response's status indicates whether the server complies (206).
  public var offset: Int64 = 0
  /// The timeout for resolving, connecting and the TLS handshake, also of each redirect.
  public var connectTimeout: Duration = .seconds(10)
  /// The timeout of the whole transfer; nil for no timeout.
  public var timeout: Duration?
  /// The limit of followed redirects; at 0 a redirect is a response like others.
  public var maximumRedirects = 10
  /// `true` to request titles in the stream, and to accept Shoutcast 1's status line, `ICY 200 OK`.
  public var wantsICY = false
  /// The duration of sound after which a live transfer wakes the thread, for bytes without an urgent
  /// consumer: at most `highestWakeSize` bytes, and only if the response states its bit rate. Nil for
  /// immediate delivery.
  public var wakeTime: Duration?
  /// The limit of waiting bytes: a station that states 320 kbit/s may in fact send 48.
  public static let highestWakeSize = 4000
  /// A file of certificates to trust instead of the system's; that of `SSL_CERT_FILE` by default.
  public var certificateFile: String?
  /// `true` to let the server compress the body, which is decoded; otherwise a compressed body is an error.
  var acceptsCompression = false
  /// `true` to decode a body that is compressed without a request.
  public var decodesUnasked = false
  var decodes: Bool { acceptsCompression || decodesUnasked }

  /// Creates a request for `url`. Spaces in it are encoded; the fragment after # is not sent.
  /// - Throws: `.badURL`, `.unsupportedScheme`.
  public init(_ url: String) throws(HTTPError) {
    let parts = try CurlURL(url)
    (self.url, host, credentials) = (parts.text, parts.host, parts.credentials)
    certificateFile = getenv("SSL_CERT_FILE").map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Checks that the user agent, the headers and the credentials can be sent.
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
  public var description: String { "\(method.name) \(url)" }
  /// The method and the URL, as `description`.
  public var debugDescription: String { description }
  /// A mirror with the URL alone; headers may hold secrets.
  public var customMirror: Mirror { Mirror(self, children: ["url": url]) }
}

/// The method of a request.
public enum HTTPMethod: Sendable {
  /// Requests a resource.
  case get
  /// Sends a body; after a redirect other than 307 and 308 the request continues as `get`.
  case post([UInt8])

  /// The name in the request.
  public var name: String { if case .post = self { "POST" } else { "GET" } }
}

/// A name and a password for basic authentication. No description, dump or error contains them.
public struct HTTPCredentials: Sendable, Equatable {
  /// The user's name; may not hold a colon (RFC 7617 §2).
  public let user: String
  /// The password.
  public let password: String

  /// Creates the credentials of `user`.
  public init(user: String, password: String) {
    self.user = user
    self.password = password
  }
}

extension HTTPCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// A placeholder without the credentials.
  public var description: String { "<credentials>" }
  /// A placeholder without the credentials.
  public var debugDescription: String { description }
  /// An empty mirror.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
