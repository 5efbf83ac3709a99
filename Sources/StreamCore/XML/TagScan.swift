/// Finds tags that would keep libxml2 busy: it compares each attribute with all those before it, and with the
/// number of attributes that fit into a megabyte this takes minutes.
struct TagScan {
  /// The limit of words in a tag: its name, its attributes.
  private static let wordLimit = 256
  /// The limit of a value in bytes.
  private static let valueLimit = 1 << 16

  private enum State {
    case text, tag, value(quote: UInt8, start: Int)
  }

  private var state = State.text
  private var words = 0
  private var isInWord = false
  /// The last byte of the tag that is not white space.
  private var last: UInt8 = 0

  /// Returns `true` if a tag of `bytes` has too many words, or a value without an end.
  static func isCrowded(_ bytes: [UInt8]) -> Bool {
    var scan = TagScan()
    for (index, byte) in bytes.enumerated() where !scan.consume(byte, at: index) { return true }
    return false
  }

  /// Applies the next byte.
  /// - Returns: `false` when a limit is exceeded.
  private mutating func consume(_ byte: UInt8, at index: Int) -> Bool {
    switch state {
    case .text:
      if byte == UInt8(ascii: "<") { (state, words, isInWord, last) = (.tag, 0, false, 0) }
    case .tag where byte == UInt8(ascii: ">"): state = .text
    case .tag where (byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'")) && last == UInt8(ascii: "="):
      state = .value(quote: byte, start: index)
    case .tag:
      // A slash separates words as white space does.
      let isBlank = byte <= 0x20 || byte == UInt8(ascii: "/")
      if !isBlank, !isInWord { words += 1 }
      isInWord = !isBlank
      if byte > 0x20 { last = byte }
    case .value(let quote, let start):
      guard index - start <= Self.valueLimit else { return false }
      if byte == quote { (state, isInWord, last) = (.tag, false, byte) }
    }
    return words <= Self.wordLimit
  }
}
