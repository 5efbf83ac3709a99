/// Converts the text of a feed into XML that can be parsed.
///
/// Feeds are written by programs that concatenate texts: several documents in a row, names with characters
/// that no name may have, bare `&` and `<`, end tags of elements that never began. The conversion makes one
/// document of it: elements end where they must, names keep letters, digits, `_`, `-` and `.`, and have no
/// prefix. Comments, instructions and declarations are dropped, so no entity is ever known but the five of
/// XML.
enum FeedText {
  /// The limit of a feed in bytes.
  static let sizeLimit = 1 << 20

  /// Returns the document in `bytes`; nil when it has no element, or more than 1 MiB.
  static func document(_ bytes: [UInt8]) -> XMLDocument? {
    guard bytes.count <= sizeLimit else { return nil }
    var mender = FeedMender(Array(text(bytes).utf8))
    guard let mended = mender.mended(limit: sizeLimit) else { return nil }
    return XMLDocument(mended)
  }

  /// Returns a name as the document has it after the conversion, in lower case: `_` replaces what no name may
  /// have.
  static func name(_ text: String) -> String {
    String(decoding: FeedMender.name(Array(text.utf8)[...]), as: UTF8.self).lowercased()
  }

  /// Decodes UTF-16 with its mark, UTF-8 when that is valid, otherwise the declared encoding, otherwise
  /// Latin-1.
  static func text(_ bytes: [UInt8]) -> String {
    if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) {
      let isLittle = bytes[0] == 0xFF
      let units = stride(from: 2, to: bytes.count - 1, by: 2).map {
        UInt16(bytes[$0 + (isLittle ? 1 : 0)]) << 8 | UInt16(bytes[$0 + (isLittle ? 0 : 1)])
      }
      return text(Array(String(decoding: units, as: UTF16.self).utf8))
    }
    // Line ends are blanks; other control characters below 32 are invalid in XML.
    let bytes = bytes.map { $0 < 0x20 ? 0x20 : $0 }
    if let encoding = declaredEncoding(bytes).flatMap({ MetadataEncoding(name: $0) }) {
      let text = encoding.text(bytes[...])
      // The declaration was read byte by byte: an encoding in which it can't be read is not the document's
      // (UTF-16).
      if text.hasPrefix("<?xml") { return text }
    }
    return MetadataEncoding.latin1.text(bytes[...])
  }

  /// Returns the encoding in `<?xml version="1.0" encoding="…"?>`; nil when none is declared.
  private static func declaredEncoding(_ bytes: [UInt8]) -> String? {
    let head = String(decoding: bytes.prefix(200).map { $0 < 0x80 ? $0 : 0x20 }, as: UTF8.self)
    guard head.trimmingEnds().hasPrefix("<?xml") else { return nil }
    let parts = head.prefix { $0 != ">" }.split(whereSeparator: { $0 == "\"" || $0 == "'" })
    guard let index = parts.firstIndex(where: { $0.trimmingEnds().hasSuffix("encoding=") }),
      index + 1 < parts.endIndex
    else { return nil }
    return String(parts[index + 1])
  }
}
