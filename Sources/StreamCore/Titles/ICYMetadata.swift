/// The contents of a block of metadata.
///
/// `StreamTitle='A - Café d'Or; live';StreamUrl='http://…';` followed by zeros. Nothing is escaped, so a text
/// ends at the first `';` after which the block ends or another name starts. Other bytes are skipped.
public struct ICYMetadata: Sendable, Equatable {
  /// The text of `StreamTitle`, without control characters and surrounding blanks, and with the entities of
  /// XML decoded if every `&` begins one (`R&amp;B`, not `Q & A`); nil if it was not sent.
  public let title: String?
  /// The text of `StreamUrl`, read as that of `StreamTitle`; nil if it was not sent.
  public let url: String?

  /// The limit of bytes that are read: the longest block.
  private static let limit = 255 * 16

  /// Creates the contents of a block with these texts.
  package init(title: String?, url: String?) { (self.title, self.url) = (title, url) }

  /// Parses a block.
  /// - Parameter encoding: the encoding of texts that are not UTF-8.
  public init(_ block: some Collection<UInt8>, encoding: MetadataEncoding = .latin1) {
    var bytes = Array(block.prefix(Self.limit))
    if let text = MarkedText.utf16(bytes) { bytes = Array(text.utf8) }
    let end = bytes.lastIndex { $0 != 0 }.map { $0 + 1 } ?? 0
    var fields: [String: String] = [:]
    var start = 0
    while let field = Self.field(in: bytes[start..<end]) {
      if fields[field.name] == nil { fields[field.name] = encoding.text(field.value) }
      start = field.next
    }
    title = fields["streamtitle"].map { Self.decoded($0) ?? $0 }
    url = fields["streamurl"].map { Self.decoded($0) ?? $0 }
  }

  /// Returns a text without the entities of XML; nil if one `&` does not begin an entity.
  private static func decoded(_ text: String) -> String? {
    var (result, rest) = ("", text[...])
    while let start = rest.firstIndex(of: "&") {
      let name = rest[rest.index(after: start)...].prefix(9)
      guard let end = name.firstIndex(of: ";"), let scalar = entity(name[..<end]) else { return nil }
      result += rest[..<start]
      result.unicodeScalars.append(scalar)
      rest = rest[name.index(after: end)...]
    }
    return result + rest
  }

  /// Returns the character of an entity; nil for a control character. Numbers of Windows-1252 are read as
  /// browsers do. Sources: XML 1.0 §4.1, §4.6; HTML, "Numeric character reference end state".
  private static func entity(_ name: Substring) -> Unicode.Scalar? {
    switch name {
    case "amp": return "&"
    case "lt": return "<"
    case "gt": return ">"
    case "quot": return "\""
    case "apos": return "'"
    default:
      guard name.hasPrefix("#") else { return nil }
      let isHexadecimal = name.dropFirst().first.map { "xX".contains($0) } ?? false
      let digits = name.dropFirst(isHexadecimal ? 2 : 1)
      guard digits.first?.isHexDigit == true, let number = UInt32(digits, radix: isHexadecimal ? 16 : 10)
      else { return nil }
      if (0x80...0x9F).contains(number) {
        return MetadataEncoding.windows1252.text([UInt8(number)]).unicodeScalars.first
      }
      guard let scalar = Unicode.Scalar(number), scalar.properties.generalCategory != .control else {
        return nil
      }
      return scalar
    }
  }

  private struct Field {
    let name: String
    let value: ArraySlice<UInt8>
    let next: Int
  }

  private static let quote = UInt8(ascii: "'")

  /// Returns the first `name='value';` in `bytes`.
  private static func field(in bytes: ArraySlice<UInt8>) -> Field? {
    var index = bytes.startIndex
    while index < bytes.endIndex {
      guard let length = nameLength(in: bytes[index...]) else {
        index += 1
        continue
      }
      let name = String(decoding: bytes[index..<(index + length)], as: UTF8.self).lowercased()
      let first = index + length + 2
      let (end, next) = self.end(of: bytes[first...])
      return Field(name: name, value: bytes[first..<end], next: next)
    }
    return nil
  }

  /// Returns the length of the name if `bytes` start with `name='`.
  private static func nameLength(in bytes: ArraySlice<UInt8>) -> Int? {
    let length = bytes.prefix(32).prefix { isLetter($0) }.count
    let rest = bytes.dropFirst(length)
    return length > 0 && rest.starts(with: [UInt8(ascii: "="), quote]) ? length : nil
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || (0x30...0x39).contains(byte)
      || byte == UInt8(ascii: "_")
  }

  /// Returns the end of the value that `bytes` start with, and the index after it.
  private static func end(of bytes: ArraySlice<UInt8>) -> (end: Int, next: Int) {
    var firstEnd: Int?
    var index = bytes.startIndex
    while index + 1 < bytes.endIndex {
      if bytes[index] == quote, bytes[index + 1] == UInt8(ascii: ";") {
        let behind = bytes[(index + 2)...].drop { $0 <= 0x20 }
        if behind.isEmpty || nameLength(in: behind) != nil { return (index, index + 2) }
        firstEnd = firstEnd ?? index
      }
      index += 1
    }
    if let firstEnd { return (firstEnd, firstEnd + 2) }
    // The block was cut off, or the station forgot the semicolon.
    let hasQuote = bytes.last == quote
    return (bytes.endIndex - (hasQuote ? 1 : 0), bytes.endIndex)
  }
}
