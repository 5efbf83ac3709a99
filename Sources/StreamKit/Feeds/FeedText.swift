/// What a feed sends, made into XML that can be read.
///
/// Feeds are written by programs that put texts together: several documents one behind the other, names with blanks'
/// neighbours that no name may have, bare `&` and `<`, ends of elements that never began. Here that becomes one
/// document: elements end where they must, names keep letters, digits, `_`, `-` and `.`, and have no prefix. Comments,
/// instructions and declarations go, so no entity is ever known but the five of XML.
enum FeedText {
  /// Bytes of the longest feed that is read.
  static let sizeLimit = 1 << 20

  /// The document in `bytes`; nil when there is not one element, or more than 1 MiB.
  static func document(_ bytes: [UInt8]) -> XMLDocument? {
    guard bytes.count <= sizeLimit else { return nil }
    var mender = FeedMender(Array(text(bytes).utf8))
    guard let mended = mender.mended(limit: sizeLimit) else { return nil }
    return XMLDocument(mended)
  }

  /// A name as the document has it then, in lower case: what is no letter of a name is `_`.
  static func name(_ text: String) -> String {
    String(decoding: FeedMender.name(Array(text.utf8)[...]), as: UTF8.self).lowercased()
  }

  /// UTF-16 with its mark, UTF-8 when that is valid, else what the declaration says, else Latin-1.
  static func text(_ bytes: [UInt8]) -> String {
    if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) {
      let isLittle = bytes[0] == 0xFF
      let units = stride(from: 2, to: bytes.count - 1, by: 2).map {
        UInt16(bytes[$0 + (isLittle ? 1 : 0)]) << 8 | UInt16(bytes[$0 + (isLittle ? 0 : 1)])
      }
      return text(Array(String(decoding: units, as: UTF16.self).utf8))
    }
    // Line ends are blanks; what else is below 32 has no business here.
    let bytes = bytes.map { $0 < 0x20 ? 0x20 : $0 }
    if let encoding = declaredEncoding(bytes).flatMap({ MetadataEncoding(name: $0) }) {
      let text = encoding.text(bytes[...])
      // The declaration was read byte by byte: an encoding in which it is none is not the document's (UTF-16).
      if text.hasPrefix("<?xml") { return text }
    }
    return MetadataEncoding.latin1.text(bytes[...])
  }

  /// `<?xml version="1.0" encoding="…"?>`
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
