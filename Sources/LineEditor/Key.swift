/// A key, or an input that a terminal sends in place of one.
public enum Key: Equatable, Sendable {
  /// A character of text.
  case text(Unicode.Scalar)
  /// A control character, 0 to 31 or 127: Ctrl-A is 1.
  case control(UInt8)
  /// An escape sequence without its ESC: `[A` for the arrow up, `b` for Alt-B.
  case escape(String)
  /// A pasted block, its lines separated by `\n`.
  case paste(String)

  static let enter = Key.control(10)
  static let tab = Key.control(9)
  static let backspace = Key.control(127)

  /// The characters of the key as a terminal sends it.
  var scalars: [Unicode.Scalar] {
    switch self {
    case .text(let scalar): [scalar]
    case .control(let byte): [Unicode.Scalar(byte)]
    case .escape(let sequence): ["\u{1B}"] + Array(sequence.unicodeScalars)
    case .paste(let text): Array(text.unicodeScalars)
    }
  }
}

/// Divides the bytes of a terminal into keys; a key may come in parts.
///
/// Source: ECMA-48, 5.4 (control sequences); xterm's bracketed paste mode.
public struct KeyDecoder {
  private enum Phase {
    case ground
    /// Bytes of a character in UTF-8, and the number of those that follow.
    case character([UInt8], missing: Int)
    case escape
    case sequence(String)
    case paste([UInt8])
  }

  private static let pasteBegins = "[200~"
  private static let pasteEnds = Array("\u{1B}[201~".utf8)
  /// The longest sequence that counts as a key.
  private static let longestSequence = 32
  private var phase = Phase.ground

  /// A decoder at the start of a key.
  public init() {}

  /// Returns the keys that `bytes` complete.
  public mutating func receive(_ bytes: some Sequence<UInt8>) -> [Key] {
    var keys: [Key] = []
    for byte in bytes { receive(byte, &keys) }
    return keys
  }

  /// Forgets a key that is not complete, such as a paste without an end.
  public mutating func reset() { phase = .ground }

  private mutating func receive(_ byte: UInt8, _ keys: inout [Key]) {
    switch phase {
    case .ground: begin(byte, &keys)
    case .character(let start, let missing):
      guard byte & 0xC0 == 0x80 else {
        keys.append(.text("\u{FFFD}"))
        phase = .ground
        return begin(byte, &keys)
      }
      guard missing == 1 else { return phase = .character(start + [byte], missing: missing - 1) }
      phase = .ground
      keys += String(decoding: start + [byte], as: UTF8.self).unicodeScalars.map { .text($0) }
    case .escape:
      switch byte {
      case UInt8(ascii: "["), UInt8(ascii: "O"): phase = .sequence(String(Unicode.Scalar(byte)))
      case 0x1B: break
      case 0x80...:  // Alt with a letter beyond ASCII counts as the letter.
        phase = .ground
        begin(byte, &keys)
      default:
        phase = .ground
        keys.append(.escape(String(Unicode.Scalar(byte))))
      }
    case .sequence(var sequence):
      guard (0x20..<0x7F).contains(byte), sequence.utf8.count < Self.longestSequence else {
        phase = .ground
        return begin(byte, &keys)
      }
      sequence.unicodeScalars.append(Unicode.Scalar(byte))
      let isFinal = byte >= 0x40 || sequence.hasPrefix("O")
      if sequence == Self.pasteBegins {
        phase = .paste([])
      } else if isFinal {
        phase = .ground
        keys.append(.escape(sequence))
      } else {
        phase = .sequence(sequence)
      }
    case .paste(var bytes):
      phase = .ground  // so that the bytes are not copied
      bytes.append(byte)
      if byte == Self.pasteEnds.last, bytes.suffix(Self.pasteEnds.count).elementsEqual(Self.pasteEnds) {
        keys.append(.paste(Self.text(of: bytes.dropLast(Self.pasteEnds.count))))
      } else {
        phase = .paste(bytes)
      }
    }
  }

  private mutating func begin(_ byte: UInt8, _ keys: inout [Key]) {
    switch byte {
    case 0x1B: phase = .escape
    case 0..<0x20, 0x7F: keys.append(.control(byte == 13 ? 10 : byte == 8 ? 127 : byte))
    case 0..<0x80: keys.append(.text(Unicode.Scalar(byte)))
    case 0xC2..<0xE0: phase = .character([byte], missing: 1)
    case 0xE0..<0xF0: phase = .character([byte], missing: 2)
    case 0xF0..<0xF5: phase = .character([byte], missing: 3)
    default: keys.append(.text("\u{FFFD}"))
    }
  }

  /// The text of a paste: a carriage return, a line feed or both in either order end a line (terminals send
  /// any of these, and the terminal's driver may exchange them); other control characters except the tab are
  /// left out.
  private static func text(of bytes: ArraySlice<UInt8>) -> String {
    var kept: [UInt8] = []
    var lastEnd: UInt8?
    for byte in bytes {
      if byte == 10 || byte == 13 {
        if let last = lastEnd, last != byte {
          lastEnd = nil
          continue
        }
        lastEnd = byte
        kept.append(10)
        continue
      }
      lastEnd = nil
      if byte >= 0x20 && byte != 0x7F || byte == 9 { kept.append(byte) }
    }
    return String(decoding: kept, as: UTF8.self)
  }
}
