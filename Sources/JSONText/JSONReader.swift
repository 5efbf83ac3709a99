/// The reason and the position of a mistake in JSON text.
public struct JSONSyntaxError: Error, Equatable {
  /// The line, counted from 1.
  public let line: Int
  /// The column in Unicode scalars, counted from 1.
  public let column: Int
  /// The mistake: `a value expected, got "}"`.
  public let reason: String
}

extension JSON {
  /// Parses JSON text (RFC 8259): numbers without point and exponent are whole if they fit.
  /// - Returns: nil if the text is invalid, or nests deeper than `deepest`.
  public init?(parsing text: some Sequence<UInt8>) {
    var reader = JSONReader(Array(text))
    guard let value = reader.whole() else { return nil }
    self = value
  }

  /// Parses JSON text as `init(parsing:)` does, and reports the first mistake.
  public static func parse(_ text: [UInt8]) throws(JSONSyntaxError) -> JSON {
    var reader = JSONReader(text)
    guard let value = reader.whole() else { throw reader.syntaxError }
    return value
  }
}

/// A parser of JSON text. Each part returns nil for an invalid text.
struct JSONReader {
  private let bytes: [UInt8]
  private var position = 0
  private var depth = 0
  /// The first mistake: the offset of its byte, and the words for it.
  private var mistake: (offset: Int, reason: String)?

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Parses the text as one value, with no text after it.
  mutating func whole() -> JSON? {
    guard let value = value() else { return nil }
    skipSpace()
    return position == bytes.count ? value : fail("the end expected")
  }

  /// The first mistake with its position.
  var syntaxError: JSONSyntaxError {
    let (offset, reason) = mistake ?? (position, "no JSON")
    let before = bytes[..<min(offset, bytes.count)]
    let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    return JSONSyntaxError(
      line: before.count { $0 == UInt8(ascii: "\n") } + 1,
      // Only bytes that begin a scalar count.
      column: before[start...].count { $0 & 0xC0 != 0x80 } + 1, reason: reason)
  }

  /// Records a mistake at `offset`, by default at the position, whose byte is named; the first one is kept.
  private mutating func fail<Value>(_ reason: String, at offset: Int? = nil) -> Value? {
    if mistake == nil {
      mistake = (offset ?? position, offset == nil ? "\(reason), got \(here)" : reason)
    }
    return nil
  }

  /// The character at the position, for messages.
  private var here: String {
    guard position < bytes.count else { return "the end of the text" }
    guard bytes[position] > 0x20, bytes[position] != 0x7F else { return "a control character or space" }
    let character = String(decoding: bytes[position...].prefix(4), as: UTF8.self).first ?? "?"
    return character == "\"" ? "a quote" : "\"\(character)\""
  }

  private mutating func value() -> JSON? {
    skipSpace()
    guard position < bytes.count else { return fail("a value expected") }
    switch bytes[position] {
    case UInt8(ascii: "{"): return nested { $0.record() }
    case UInt8(ascii: "["): return nested { $0.list() }
    case UInt8(ascii: "\""): return string().map { .string($0) }
    case UInt8(ascii: "t"): return word("true") ? .bool(true) : fail("a value expected")
    case UInt8(ascii: "f"): return word("false") ? .bool(false) : fail("a value expected")
    case UInt8(ascii: "n"): return word("null") ? .null : fail("a value expected")
    default: return number()
    }
  }

  private mutating func nested(_ read: (inout JSONReader) -> JSON?) -> JSON? {
    guard depth < JSON.deepest else {
      return fail("more than \(JSON.deepest) lists and objects are nested here", at: position)
    }
    depth += 1
    defer { depth -= 1 }
    position += 1
    return read(&self)
  }

  private mutating func list() -> JSON? {
    var values: [JSON] = []
    if consume("]") { return .array(values) }
    repeat {
      guard let value = value() else { return nil }
      values.append(value)
    } while consume(",")
    return consume("]") ? .array(values) : fail("',' or ']' expected")
  }

  private mutating func record() -> JSON? {
    var fields: [(name: String, value: JSON)] = []
    if consume("}") { return .object(fields) }
    repeat {
      skipSpace()
      guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else {
        return fail("a name in quotes expected")
      }
      guard let name = string() else { return nil }
      guard consume(":") else { return fail("':' expected") }
      guard let value = value() else { return nil }
      fields.append((name, value))
    } while consume(",")
    return consume("}") ? .object(fields) : fail("',' or '}' expected")
  }

  private mutating func number() -> JSON? {
    let start = position
    skip("-")
    guard position < bytes.count, isDigit else {
      return start == position ? fail("a value expected") : fail("a digit expected")
    }
    if !skip("0") { skipDigits() }
    var isWhole = true
    if skip(".") {
      guard isDigit else { return fail("a digit expected") }
      skipDigits()
      isWhole = false
    }
    if skip("e") || skip("E") {
      if !skip("+") { skip("-") }
      guard isDigit else { return fail("a digit expected") }
      skipDigits()
      isWhole = false
    }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    if isWhole, let whole = Int(text) { return .number(whole) }
    guard let number = Double(text), number.isFinite else {
      return fail("a number beyond those of 64 bits", at: start)
    }
    return .exact(number)
  }

  private var isDigit: Bool { position < bytes.count && (0x30...0x39).contains(bytes[position]) }

  private mutating func skipDigits() {
    while isDigit { position += 1 }
  }

  // MARK: Text

  private mutating func string() -> String? {
    let start = position
    position += 1
    var text: [UInt8] = []
    while position < bytes.count {
      let byte = bytes[position]
      position += 1
      switch byte {
      case UInt8(ascii: "\""):
        return String(validating: text, as: UTF8.self) ?? fail("a string that is not UTF-8", at: start)
      case UInt8(ascii: "\\"):
        let backslash = position - 1
        guard let character = escaped() else {
          return fail("no escape of JSON, or half of a surrogate pair", at: backslash)
        }
        text += character.utf8
      case 0..<32: return fail("a control character in a string; write it as an escape", at: position - 1)
      default: text.append(byte)
      }
    }
    return fail("a string without its end", at: start)
  }

  /// Parses the character after a backslash.
  private mutating func escaped() -> String? {
    guard position < bytes.count else { return nil }
    let byte = bytes[position]
    position += 1
    switch byte {
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{c}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return String(UnicodeScalar(byte))
    case UInt8(ascii: "u"):
      guard let first = unit() else { return nil }
      guard (0xD800...0xDBFF).contains(first) else { return UnicodeScalar(first).map { String($0) } }
      guard word("\\u"), let second = unit(), (0xDC00...0xDFFF).contains(second) else { return nil }
      return UnicodeScalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00)).map { String($0) }
    default: return nil
    }
  }

  /// Parses four hexadecimal digits.
  private mutating func unit() -> UInt32? {
    let digits = bytes[position...].prefix(4)
    guard digits.count == 4, digits.first != UInt8(ascii: "+") else { return nil }
    position += 4
    return UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
  }

  // MARK: Signs

  private mutating func skipSpace() {
    while position < bytes.count, Self.isSpace(bytes[position]) { position += 1 }
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
  }

  private mutating func consume(_ sign: Unicode.Scalar) -> Bool {
    skipSpace()
    return skip(sign)
  }

  @discardableResult
  private mutating func skip(_ sign: Unicode.Scalar) -> Bool {
    guard position < bytes.count, bytes[position] == UInt8(ascii: sign) else { return false }
    position += 1
    return true
  }

  private mutating func word(_ word: String) -> Bool {
    guard bytes[position...].starts(with: word.utf8) else { return false }
    position += word.utf8.count
    return true
  }
}
