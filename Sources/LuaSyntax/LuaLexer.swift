/// Reads the tokens of a text.
/// Source: chapter 3.1 of the Lua 5.4 manual, and `llex.c`.
struct LuaLexer {
  /// A token that the end of the text cuts off.
  enum Cut {
    case comment
    /// A string in quotation marks, with its contents so far.
    case string([UInt8])
    case longString
  }

  private let bytes: [UInt8]
  /// `true` for a text that may be cut anywhere: an invalid escape sequence stands for its characters, and
  /// the end of a line ends a string.
  private let isFragment: Bool
  private(set) var position = 0
  /// Ranges of the comments read so far.
  private(set) var comments: [Range<Int>] = []
  /// The token that the end of the text cuts off, if any; nil until it is read.
  private(set) var cut: Cut?

  /// Begins with a text that may be cut anywhere.
  init(fragment bytes: [UInt8]) { (self.bytes, isFragment) = (bytes, true) }

  /// Begins after a byte order mark and a first line that begins with `#`, as Lua does with files.
  init(_ bytes: [UInt8]) {
    (self.bytes, isFragment) = (bytes, false)
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    if byte() == UInt8(ascii: "#") { skipLine() }
  }

  private func byte(_ distance: Int = 0) -> UInt8? {
    let index = position + distance
    return index < bytes.count ? bytes[index] : nil
  }

  private mutating func skipLine() {
    while let next = byte(), next != 0x0A, next != 0x0D { position += 1 }
  }

  private mutating func accept(_ character: Unicode.Scalar) -> Bool {
    guard byte() == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  /// Skips a byte that begins no token.
  mutating func skipByte() { if position < bytes.count { position += 1 } }

  /// Returns the next token; at the end of the text `endOfFile`, again and again.
  mutating func next() throws(LuaSyntaxError) -> LuaToken {
    while let first = byte() {
      switch first {
      case 0x20, 0x09...0x0D: position += 1
      case UInt8(ascii: "-") where byte(1) == UInt8(ascii: "-"): try skipComment()
      default: return try token(first)
      }
    }
    return LuaToken(kind: .endOfFile, start: position, end: position)
  }

  private mutating func skipComment() throws(LuaSyntaxError) {
    let start = position
    position += 2
    if byte() == UInt8(ascii: "["), let level = longBracket() {
      _ = try longText(level, from: start, what: "comment")
    } else {
      skipLine()
      if position == bytes.count { cut = .comment }
    }
    comments.append(start..<position)
  }

  private mutating func token(_ first: UInt8) throws(LuaSyntaxError) -> LuaToken {
    let start = position
    if Self.isLetter(first) { return word() }
    if decimalDigit(first) != nil || first == UInt8(ascii: ".") && byte(1).flatMap(decimalDigit) != nil {
      return try numeral()
    }
    if first == UInt8(ascii: "\"") || first == UInt8(ascii: "'") { return try string(first) }
    if first == UInt8(ascii: "[") {
      if let level = longBracket() {
        let text = try longText(level, from: start, what: "string")
        return LuaToken(kind: .string, start: start, end: position, text: text)
      }
      if byte(1) == UInt8(ascii: "=") {
        if bytes[(start + 1)...].allSatisfy({ $0 == UInt8(ascii: "=") }) { cut = .longString }
        throw error("invalid long string delimiter", near: start..<start + 2)
      }
    }
    guard let kind = symbol() else {
      let shown = (0x20..<0x7F).contains(first) ? String(UnicodeScalar(first)) : "<\\\(first)>"
      throw LuaSyntaxError(kind: .syntax, message: "unexpected symbol near '\(shown)'", offset: start)
    }
    return LuaToken(kind: kind, start: start, end: position)
  }

  private mutating func symbol() -> LuaToken.Kind? {
    guard let first = byte() else { return nil }
    position += 1
    switch first {
    case UInt8(ascii: "+"): return .plus
    case UInt8(ascii: "-"): return .minus
    case UInt8(ascii: "*"): return .star
    case UInt8(ascii: "/"): return accept("/") ? .floorDivision : .slash
    case UInt8(ascii: "%"): return .percent
    case UInt8(ascii: "^"): return .caret
    case UInt8(ascii: "#"): return .hash
    case UInt8(ascii: "&"): return .ampersand
    case UInt8(ascii: "~"): return accept("=") ? .notEqual : .tilde
    case UInt8(ascii: "|"): return .pipe
    case UInt8(ascii: "<"): return accept("=") ? .lessOrEqual : accept("<") ? .shiftLeft : .less
    case UInt8(ascii: ">"): return accept("=") ? .greaterOrEqual : accept(">") ? .shiftRight : .greater
    case UInt8(ascii: "="): return accept("=") ? .equal : .assign
    case UInt8(ascii: "("): return .openParenthesis
    case UInt8(ascii: ")"): return .closeParenthesis
    case UInt8(ascii: "{"): return .openBrace
    case UInt8(ascii: "}"): return .closeBrace
    case UInt8(ascii: "["): return .openBracket
    case UInt8(ascii: "]"): return .closeBracket
    case UInt8(ascii: ":"): return accept(":") ? .doubleColon : .colon
    case UInt8(ascii: ";"): return .semicolon
    case UInt8(ascii: ","): return .comma
    case UInt8(ascii: "."): return accept(".") ? (accept(".") ? .dots : .concat) : .dot
    default:
      position -= 1
      return nil
    }
  }

  private mutating func word() -> LuaToken {
    let start = position
    while let next = byte(), Self.isLetter(next) || decimalDigit(next) != nil { position += 1 }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    if LuaToken.keywords.contains(text), let kind = LuaToken.Kind(rawValue: text) {
      return LuaToken(kind: kind, start: start, end: position)
    }
    return LuaToken(kind: .name, start: start, end: position, text: text)
  }

  private mutating func numeral() throws(LuaSyntaxError) -> LuaToken {
    let start = position
    let isHex = byte() == UInt8(ascii: "0") && byte(1).map { $0 | 0x20 } == UInt8(ascii: "x")
    if isHex { position += 2 }
    let exponent = UInt8(ascii: isHex ? "p" : "e")
    while let next = byte() {
      if next | 0x20 == exponent {
        position += 1
        if byte() == UInt8(ascii: "+") || byte() == UInt8(ascii: "-") { position += 1 }
      } else if hexDigit(next) != nil || next == UInt8(ascii: ".") {
        position += 1
      } else {
        break
      }
    }
    // A letter after a number makes it malformed.
    if let next = byte(), Self.isLetter(next) { position += 1 }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    guard let number = LuaNumber(text) else { throw error("malformed number", near: start..<position) }
    return LuaToken(kind: .number, start: start, end: position, number: number)
  }

  // MARK: Strings

  private mutating func string(_ mark: UInt8) throws(LuaSyntaxError) -> LuaToken {
    let start = position
    position += 1
    var text: [UInt8] = []
    while true {
      guard let next = byte() else { throw cutOff(text, from: start) }
      position += 1
      switch next {
      case mark:
        return LuaToken(
          kind: .string, start: start, end: position, text: String(decoding: text, as: UTF8.self))
      case 0x0A where isFragment, 0x0D where isFragment:
        return LuaToken(
          kind: .string, start: start, end: position, text: String(decoding: text, as: UTF8.self))
      case 0x0A, 0x0D: throw error("unfinished string", near: start..<position - 1)
      case UInt8(ascii: "\\"): try escape(&text, in: start)
      default: text.append(next)
      }
    }
  }

  private mutating func cutOff(_ text: [UInt8], from start: Int) -> LuaSyntaxError {
    cut = .string(text)
    return LuaSyntaxError(kind: .syntax, message: "unfinished string near <eof>", offset: start)
  }

  /// Reads an escape sequence after its backslash.
  private mutating func escape(_ text: inout [UInt8], in start: Int) throws(LuaSyntaxError) {
    guard position < bytes.count else { throw cutOff(text + [UInt8(ascii: "\\")], from: start) }
    let behind = position
    do throws(LuaSyntaxError) { try escape(&text) } catch {
      guard isFragment else { throw error }
      position = behind
    }
  }

  private mutating func escape(_ text: inout [UInt8]) throws(LuaSyntaxError) {
    let mark = position - 1
    guard let next = byte() else { return }
    position += 1
    switch next {
    case UInt8(ascii: "a"): text.append(7)
    case UInt8(ascii: "b"): text.append(8)
    case UInt8(ascii: "f"): text.append(12)
    case UInt8(ascii: "n"): text.append(10)
    case UInt8(ascii: "r"): text.append(13)
    case UInt8(ascii: "t"): text.append(9)
    case UInt8(ascii: "v"): text.append(11)
    case UInt8(ascii: "\\"), UInt8(ascii: "\""), UInt8(ascii: "'"): text.append(next)
    case 0x0A, 0x0D:
      if let other = byte(), other == 0x0A || other == 0x0D, other != next { position += 1 }
      text.append(10)
    case UInt8(ascii: "z"):
      while let blank = byte(), blank == 0x20 || (0x09...0x0D).contains(blank) { position += 1 }
    case UInt8(ascii: "x"):
      guard let high = byte().flatMap(hexDigit), let low = byte(1).flatMap(hexDigit) else {
        throw error("hexadecimal digit expected", near: mark..<min(position + 1, bytes.count))
      }
      position += 2
      text.append(high << 4 | low)
    case UInt8(ascii: "u"): try codePoint(&text, from: mark)
    default:
      guard var value = decimalDigit(next).map(Int.init) else {
        throw error("invalid escape sequence", near: mark..<position)
      }
      for _ in 0..<2 {
        guard let digit = byte().flatMap(decimalDigit) else { break }
        value = value * 10 + Int(digit)
        position += 1
      }
      guard value < 256 else { throw error("decimal escape too large", near: mark..<position) }
      text.append(UInt8(value))
    }
  }

  private mutating func codePoint(_ text: inout [UInt8], from mark: Int) throws(LuaSyntaxError) {
    guard accept("{") else { throw error("missing '{' in \\u{xxxx}", near: mark..<position) }
    var value: UInt32?
    while let digit = byte().flatMap(hexDigit) {
      guard (value ?? 0) < 0x800_0000 else { throw error("UTF-8 value too large", near: mark..<position) }
      value = (value ?? 0) << 4 | UInt32(digit)
      position += 1
    }
    guard let value else { throw error("hexadecimal digit expected", near: mark..<position) }
    guard accept("}") else { throw error("missing '}' in \\u{xxxx}", near: mark..<position) }
    text += Array(String(Character(UnicodeScalar(value) ?? "\u{FFFD}")).utf8)
  }

  /// Returns the level of the long bracket that begins here, `[==[`; nil if no bracket does. Reads nothing.
  private func longBracket() -> Int? {
    var level = 0
    while byte(1 + level) == UInt8(ascii: "=") { level += 1 }
    return byte(1 + level) == UInt8(ascii: "[") ? level : nil
  }

  /// Reads a text in long brackets to its end, from the opening bracket on.
  private mutating func longText(_ level: Int, from start: Int, what: String) throws(LuaSyntaxError) -> String
  {
    position += level + 2
    if let first = byte(), first == 0x0A || first == 0x0D {
      position += 1
      if let other = byte(), other == 0x0A || other == 0x0D, other != first { position += 1 }
    }
    let begin = position
    while let next = byte() {
      guard next == UInt8(ascii: "]") else {
        position += 1
        continue
      }
      var marks = 0
      while byte(1 + marks) == UInt8(ascii: "=") { marks += 1 }
      if marks == level, byte(1 + marks) == UInt8(ascii: "]") {
        let end = position
        position += level + 2
        return what == "string" ? String(decoding: bytes[begin..<end], as: UTF8.self) : ""
      }
      position += 1 + marks
    }
    cut = what == "string" ? .longString : .comment
    throw LuaSyntaxError(kind: .syntax, message: "unfinished long \(what) near <eof>", offset: start)
  }

  private func error(_ reason: String, near range: Range<Int>) -> LuaSyntaxError {
    let text = String(decoding: bytes[range].prefix(40), as: UTF8.self)
    return LuaSyntaxError(kind: .syntax, message: "\(reason) near '\(text)'", offset: range.lowerBound)
  }

  /// Returns `true` for a byte that may begin a name.
  private static func isLetter(_ byte: UInt8) -> Bool {
    (0x61...0x7A).contains(byte | 0x20) || byte == UInt8(ascii: "_")
  }
}
