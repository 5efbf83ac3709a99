public import EventLoop
package import HTTP

/// The address of a stream on a server: a URL of HTTP or RTSP, parsed once. User and password in it are sent
/// to its server; no description, dump or error contains them.
public struct StreamAddress: Sendable {
  /// The scheme of a supported URL.
  public enum Scheme: String, Sendable {
    case http, https, rtsp, rtsps

    /// The port of a URL that states none. Sources: RFC 2326 §3.2; RFC 7826 §4.2 (rtsps).
    var port: Int {
      switch self {
      case .http: 80
      case .https: 443
      case .rtsp: 554
      case .rtsps: 322
      }
    }

    /// `true` for RTSP, which is not fetched by HTTP.
    public var isRTSP: Bool { self == .rtsp || self == .rtsps }
    /// `true` if the connection is encrypted.
    public var isEncrypted: Bool { self == .https || self == .rtsps }
  }

  /// The result of resolving a reference against an address.
  package enum Target: Equatable {
    case address(StreamAddress)
    /// A URL of another scheme, or one that names no server.
    case unsupported(scheme: String?)
  }

  /// The limit of an address in bytes.
  public static let lengthLimit = 8192

  /// The scheme.
  public let scheme: Scheme
  /// The host without user, password and port; IPv6 in brackets.
  public let host: String
  /// The port, that of the scheme if the URL states none.
  public let port: Int
  /// The path without query and fragment, with %XX decoded; "/" if it is empty.
  public let path: String
  /// The URL without user and password, but with its query: a value for programs, which is not shown.
  public let url: String
  /// The URL as it is shown: without user, password and query, which may have a token in it.
  public let description: String
  /// The URL as `encoded` returns it, with user and password. For requests alone: all other texts use `url`
  /// or `description`.
  package let textWithCredentials: String

  /// Parses a URL, in which blanks, umlauts and the like may be unescaped.
  /// - Throws: `stream.url` for a text that is not a URL, `stream.unsupported` for an unsupported scheme. The
  ///   error has the text without user, password and query.
  public init(_ given: String) throws(StreamError) {
    let shown = Self.shown(given)
    let url = ErrorFact("url", .string(shown))
    guard !given.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
      throw StreamError(
        .url, "the URL has a control character", hint: "write such bytes as %0A", facts: [url])
    }
    let isCredentials = given.contains("@") && !given.contains("://")
    guard let name = Self.scheme(of: given), !isCredentials else {
      throw StreamError(
        .url,
        given.isEmpty
          ? "the URL is empty"
          : "no station \"\(shown.prefix(100))\" is configured, and it is not a URL",
        hint: "write it with http:// or https://", facts: [url])
    }
    guard let scheme = Scheme(rawValue: name) else {
      throw StreamError(
        .unsupported, "\(name):// addresses don't work here", hint: Self.hint(instead: name),
        facts: [url, .init("scheme", .string(name))])
    }
    guard let text = Self.encoded(given), let parts = URIReference(text), let host = parts.host,
      Self.isHost(host)
    else {
      throw StreamError(
        .url, "\"\(shown.prefix(100))\" names no server", hint: "write it as http://server/path",
        facts: [url])
    }
    if let port = parts.port, !(1...65_535).contains(port) {
      throw StreamError(
        .url, "\"\(shown.prefix(100))\" has the port \(port): 1 to 65535 expected", hint: "check the address",
        facts: [url])
    }
    self.init(
      scheme: scheme, host: host, port: parts.port ?? scheme.port, path: parts.path ?? "/",
      url: Self.redacted(text), description: Self.shown(text), textWithCredentials: text)
  }

  /// Returns the remedy for an unsupported scheme.
  private static func hint(instead name: String) -> String {
    ["mms", "mmsh", "mmst"].contains(name)
      ? "most such stations have an http:// address now: look for it on the page of the station"
      : "use http://, https:// or rtsp://"
  }

  private init(
    scheme: Scheme, host: String, port: Int, path: String, url: String, description: String,
    textWithCredentials: String
  ) {
    (self.scheme, self.host, self.port, self.path) = (scheme, host, port, path)
    (self.url, self.description, self.textWithCredentials) = (url, description, textWithCredentials)
  }

  /// The address without user and password.
  public var withoutCredentials: StreamAddress {
    StreamAddress(
      scheme: scheme, host: host, port: port, path: path, url: url, description: description,
      textWithCredentials: url)
  }

  /// Returns `true` if two addresses have one scheme, host and port: credentials for the one may be sent to
  /// the other. Another port of the host is another server, and so is http after https.
  public func isSameServer(as other: StreamAddress) -> Bool {
    scheme == other.scheme && port == other.port && host.lowercased() == other.host.lowercased()
  }

  /// Returns `true` if a host has one meaning: libxml2 accepts any text between brackets, and libcurl would
  /// find another host after an `@` in it.
  private static func isHost(_ host: String) -> Bool {
    guard host.utf8.first == UInt8(ascii: "[") else { return !host.isEmpty }
    return host.utf8.dropFirst().dropLast().allSatisfy { isSchemeByte($0) || ":%_~".utf8.contains($0) }
  }

  /// Resolves a reference, such as an entry of a list at this address. Blanks and the like in it are escaped.
  /// - Returns: nil for a text that is neither a URL nor a reference to one.
  package func resolving(_ reference: String) -> Target? {
    guard !reference.isEmpty, let encoded = Self.encoded(reference),
      let url = URIReference.resolve(encoded, base: textWithCredentials)
    else { return nil }
    return (try? StreamAddress(url)).map { .address($0) } ?? .unsupported(scheme: Self.scheme(of: url))
  }
}

extension StreamAddress: Hashable {
  /// Returns `true` if two addresses have the same text, including user and password.
  public static func == (one: StreamAddress, other: StreamAddress) -> Bool {
    one.textWithCredentials == other.textWithCredentials
  }

  /// Hashes the text.
  public func hash(into hasher: inout Hasher) { hasher.combine(textWithCredentials) }
}

extension StreamAddress: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The URL as it is shown, as `description`.
  public var debugDescription: String { description }
  /// A mirror that has only the URL as it is shown.
  public var customMirror: Mirror { Mirror(self, children: ["url": description]) }
}

/// Texts that may be a URL, a path or a name.
extension StreamAddress {
  /// Returns the scheme of a URL in lower case, as `http`; nil for a text without one. Source: RFC 3986 §3.1.
  public static func scheme(of text: String) -> String? {
    guard let colon = text.firstIndex(of: ":") else { return nil }
    let scheme = text[..<colon]
    guard let first = scheme.utf8.first, isLetter(first), scheme.utf8.allSatisfy(isSchemeByte) else {
      return nil
    }
    return scheme.lowercased()
  }

  /// Returns `true` for a text that begins with a scheme and `://`: a URL, though maybe an unsupported one.
  public static func looksLikeURL(_ text: String) -> Bool {
    scheme(of: text) != nil && text.drop { $0 != ":" }.hasPrefix("://")
  }

  /// Returns a text as it may be shown: without the user and the password of a URL. In a malformed URL
  /// everything up to the last `@` is dropped, as the end of a password in it is unknown.
  public static func redacted(_ text: String) -> String {
    // Scalars, as an `@` with a combining accent is not a Character of its own.
    let scalars = text.unicodeScalars
    guard let lastAt = scalars.lastIndex(of: "@") else { return text }
    let mark = scheme(of: text) == nil ? nil : scalars.firstIndex(of: ":")
    let start = mark.flatMap { mark in
      let rest = scalars[mark...].dropFirst()
      return rest.starts(with: "//".unicodeScalars) ? rest.dropFirst(2).startIndex : nil
    }
    guard let start else { return "…" + text[scalars.index(after: lastAt)...] }
    let server = scalars[start...].prefix { !"/?#".unicodeScalars.contains($0) }
    let host = server.lastIndex(of: "@").map { server.index(after: $0) } ?? start
    if isServer(server[host...]) { return String(text[..<start] + text[host...]) }
    return text[..<start] + "…" + text[scalars.index(after: lastAt)...]
  }

  /// Returns a text as messages show it: without the user and the password of a URL, and with `…` in place of
  /// its query and its fragment, which may be secrets too.
  public static func shown(_ text: String) -> String {
    let redacted = redacted(text)
    guard looksLikeURL(redacted),
      let mark = redacted.unicodeScalars.firstIndex(where: { $0 == "?" || $0 == "#" })
    else { return redacted }
    return redacted[...mark] + "…"
  }

  /// Returns `true` if a text has the form of a host with or without a port.
  private static func isServer(_ text: Substring.UnicodeScalarView) -> Bool {
    let port = text.first == "[" ? text.drop { $0 != "]" }.dropFirst() : text.drop { $0 != ":" }
    return !text.isEmpty
      && (port.isEmpty || port.first == ":" && port.dropFirst().allSatisfy { "0"..."9" ~= $0 })
      && !text.contains { $0 == " " || $0 == "\\" }
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }

  private static func isSchemeByte(_ byte: UInt8) -> Bool {
    isLetter(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || "+-.".utf8.contains(byte)
  }
}

extension HTTPRequest {
  /// Creates a request for `address`, with the user and the password that it holds.
  /// - Throws: `.badURL`.
  package init(_ address: StreamAddress) throws(HTTPError) { try self.init(address.textWithCredentials) }
}
