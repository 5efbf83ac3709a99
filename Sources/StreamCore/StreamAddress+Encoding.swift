internal import HTTP

/// The form of URLs that servers accept, from texts as people write them. Source: RFC 3986 §2.1, §3.2 to
/// §3.5.
extension StreamAddress {
  /// Returns a URL, or a reference to one, with %XX for all bytes that are invalid in its path, query and
  /// fragment, and for the characters beyond ASCII of a user and a password. A host beyond ASCII becomes the
  /// name that name servers know. Existing escapes stay unchanged.
  /// - Returns: nil for a text that is too long, and for a host that can't exist.
  static func encoded(_ text: String) -> String? {
    guard text.utf8.count <= lengthLimit else { return nil }
    let result: String?
    if let start = serverStart(in: text) {
      let end = text.utf8[start...].firstIndex { "/?#".utf8.contains($0) } ?? text.endIndex
      result = server(text[start..<end]).map { text[..<start] + $0 + escaped(text[end...]) }
    } else {
      result = escaped(text[...])
    }
    return result.flatMap { $0.utf8.count <= lengthLimit ? $0 : nil }
  }

  /// Returns the index after the `//` of a URL or of a reference to a server; nil for any other text.
  private static func serverStart(in text: String) -> String.Index? {
    let rest = scheme(of: text) == nil ? text[...] : text.drop { $0 != ":" }.dropFirst()
    let bytes = rest.utf8
    return bytes.starts(with: "//".utf8) ? bytes.index(bytes.startIndex, offsetBy: 2) : nil
  }

  /// Returns the part of a URL that names the server, in ASCII; nil for a host that can't exist.
  private static func server(_ text: Substring) -> String? {
    guard !text.utf8.allSatisfy({ $0 < 0x80 }) else { return String(text) }
    let hostStart = text.utf8.lastIndex(of: UInt8(ascii: "@")).map(text.utf8.index(after:)) ?? text.startIndex
    let user = text[..<hostStart].utf8.map { $0 < 0x80 ? String(Unicode.Scalar($0)) : escape($0) }.joined()
    let host = text[hostStart...].utf8.prefix { $0 != UInt8(ascii: ":") }
    guard let name = InternationalName.ascii(String(Substring(host))) else { return nil }
    return user + name + text[host.endIndex...]
  }

  private static func escaped(_ text: Substring) -> String {
    var (result, rest, isFragment) = (String.UnicodeScalarView(), text.utf8, false)
    while let byte = rest.popFirst() {
      let isAllowed: Bool
      switch byte {
      case UInt8(ascii: "%"): isAllowed = rest.count >= 2 && rest.prefix(2).allSatisfy(isHexDigit)
      case UInt8(ascii: "#"): (isAllowed, isFragment) = (!isFragment, true)
      default: isAllowed = byte > 0x20 && byte < 0x7F && !#"<>"{}[]|\^`"#.utf8.contains(byte)
      }
      if isAllowed {
        result.append(Unicode.Scalar(byte))
      } else {
        result.append(contentsOf: escape(byte).unicodeScalars)
      }
    }
    return String(result)
  }

  private static func isHexDigit(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte & 0xDF)
  }

  private static func escape(_ byte: UInt8) -> String {
    let hex = String(byte, radix: 16, uppercase: true)
    return "%" + (hex.count < 2 ? "0" : "") + hex
  }
}
