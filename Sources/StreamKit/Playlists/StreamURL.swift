public import EventLoop

/// Addresses of streams: checks and parts of a URL, without a connection.
public enum StreamURL {
  /// The limit of an address in bytes.
  public static let lengthLimit = 8192

  /// Returns the scheme in lower case, as `http`; nil when there is none.
  public static func scheme(_ url: String) -> String? {
    guard let colon = url.firstIndex(of: ":") else { return nil }
    let scheme = url[..<colon]
    guard let first = scheme.utf8.first, isLetter(first), scheme.utf8.allSatisfy(isSchemeByte) else {
      return nil
    }
    return scheme.lowercased()
  }

  /// Returns `true` for an http or https address with a host.
  public static func isPlayable(_ url: String) -> Bool { host(url) != nil }

  /// Returns the host of an http or https address, without user, password and port; nil for anything else.
  public static func host(_ url: String) -> String? {
    guard let scheme = scheme(url), scheme == "http" || scheme == "https", url.utf8.count <= lengthLimit,
      let host = URIReference.host(url), !host.isEmpty
    else { return nil }
    return host
  }

  /// Returns `true` if two addresses have one scheme, host and port: credentials for the one may be sent to
  /// the other. Another port of the host is another server, and so is http after https.
  public static func isSameServer(_ one: String, _ other: String) -> Bool {
    func server(_ url: String) -> [String]? {
      guard let scheme = scheme(url), let host = host(url) else { return nil }
      let port = URIReference.port(url) ?? (scheme == "https" ? 443 : 80)
      return [scheme, host.lowercased(), "\(port)"]
    }
    return server(one) != nil && server(one) == server(other)
  }

  /// Returns the path of an address, "/" when it has none.
  static func path(_ url: String) -> String {
    url.utf8.count <= lengthLimit ? URIReference.path(url) ?? "/" : "/"
  }

  /// Returns an address as it may be shown: without user and password. In a text that is no address
  /// everything up to the last `@` is dropped, as the end of a password in it is unknown.
  public static func shown(_ url: String) -> String {
    guard let lastAt = url.lastIndex(of: "@") else { return url }
    let mark = scheme(url) == nil ? nil : url.firstRange(of: ":")
    let start = mark.map { url[$0.upperBound...] }.flatMap {
      $0.hasPrefix("//") ? $0.dropFirst(2).startIndex : nil
    }
    guard let start else { return "…" + url[url.index(after: lastAt)...] }
    let server = url[start...].prefix { !"/?#".contains($0) }
    let host = server.lastIndex(of: "@").map { server.index(after: $0) } ?? start
    if isServer(server[host...]) { return String(url[..<start] + url[host...]) }
    return url[..<start] + "…" + url[url.index(after: lastAt)...]
  }

  /// Returns `true` if a text has the form of a host with or without a port.
  private static func isServer(_ text: Substring) -> Bool {
    let port = text.first == "[" ? text.drop { $0 != "]" }.dropFirst() : text.drop { $0 != ":" }
    return !text.isEmpty && (port.isEmpty || port.first == ":" && port.dropFirst().allSatisfy(\.isNumber))
      && !text.contains { $0 == " " || $0 == "\\" }
  }

  /// Checks an address from a person.
  /// - Throws: `stream.url` for a text that is no address, `stream.unsupported` for a scheme that does not
  ///   work here.
  public static func check(_ url: String) throws(StreamError) {
    guard !url.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
      throw StreamError(
        .url, "the URL has a control character", hint: "write such bytes as %0A",
        facts: [.init("url", .string(shown(url)))])
    }
    let isCredentials = url.contains("@") && !url.contains("://")
    guard let scheme = scheme(url), !isCredentials else {
      throw StreamError(
        .url,
        url.isEmpty
          ? "the URL is empty"
          : "no station \"\(shown(url).prefix(100))\" is configured, and it is not a URL",
        hint: "write it with http:// or https://", facts: [.init("url", .string(shown(url)))])
    }
    guard scheme == "http" || scheme == "https" else {
      throw StreamError(
        .unsupported, "\(scheme):// addresses don't work here", hint: "use http:// or https://",
        facts: [.init("url", .string(shown(url))), .init("scheme", .string(scheme))])
    }
    guard isPlayable(url) else {
      throw StreamError(
        .url, "\"\(shown(url).prefix(100))\" names no server", hint: "write it as http://server/path",
        facts: [.init("url", .string(shown(url)))])
    }
  }

  /// Resolves a reference to an absolute address. Blanks and the like in it are escaped.
  /// - Returns: nil for a text that is neither an address nor a reference to one.
  static func resolve(_ reference: String, base: String) -> String? {
    guard !reference.isEmpty, reference.utf8.count <= lengthLimit, base.utf8.count <= lengthLimit else {
      return nil
    }
    return URIReference.resolve(escaping(reference), base: base)
  }

  /// Returns the text with %XX for bytes that a URL may not have.
  private static func escaping(_ text: String) -> String {
    var result = ""
    for byte in text.utf8 {
      if byte > 32 && byte < 127 && !#"<>"{}|\^`"#.utf8.contains(byte) {
        result.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        let hex = String(byte, radix: 16, uppercase: true)
        result += "%" + (hex.count < 2 ? "0" : "") + hex
      }
    }
    return result
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }

  private static func isSchemeByte(_ byte: UInt8) -> Bool {
    isLetter(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || "+-.".utf8.contains(byte)
  }
}
