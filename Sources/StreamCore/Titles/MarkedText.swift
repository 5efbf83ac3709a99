/// Text in UTF-16 with a byte order mark, as in tags that programs pass on unread. Source: RFC 2781 §3.2.
package enum MarkedText {
  /// Returns the text in `bytes`, without the mark; nil if they begin with no mark. Half a character at the
  /// end is left out.
  package static func utf16(_ bytes: some Collection<UInt8>) -> String? {
    let bytes = Array(bytes)
    let isLittle = bytes.starts(with: [0xFF, 0xFE])
    guard isLittle || bytes.starts(with: [0xFE, 0xFF]) else { return nil }
    let units = stride(from: 2, to: bytes.count - 1, by: 2).map { index in
      let (one, other) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
      return isLittle ? other << 8 | one : one << 8 | other
    }
    return String(decoding: units, as: UTF16.self)
  }

  /// Returns the intended text of UTF-16 that was decoded byte by byte, as "ÿþA\0"; any other text unchanged.
  static func mended(_ text: String) -> String {
    guard text.hasPrefix("ÿþ") || text.hasPrefix("þÿ") else { return text }
    let bytes = text.unicodeScalars.compactMap { UInt8(exactly: $0.value) }
    guard bytes.count == text.unicodeScalars.count else { return text }
    return utf16(bytes) ?? text
  }
}
