extension JSON {
  /// Parses JSON text (RFC 8259): numbers without point and exponent are whole where they fit.
  /// - Returns: nil when the text is invalid, or nests deeper than `deepest`.
  public init?(parsing text: some Sequence<UInt8>) {
    var reader = JSONReader(Array(text))
    guard let value = reader.whole() else { return nil }
    self = value
  }
}

/// A parser of JSON text. Each part returns nil for an invalid text.
struct JSONReader {
  private let bytes: [UInt8]
  private var position = 0
  private var depth = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Parses the text as one value, with no text behind it.
  mutating func whole() -> JSON? {
    let value = value()
    skipSpace()
    return position == bytes.count ? value : nil
  }

  private mutating func value() -> JSON? {
    skipSpace()
    guard position < bytes.count else { return nil }
    switch bytes[position] {
    case UInt8(ascii: "{"): return nested { $0.record() }
    case UInt8(ascii: "["): return nested { $0.list() }
    case UInt8(ascii: "\""): return string().map { .string($0) }
    case UInt8(ascii: "t"): return word("true") ? .bool(true) : nil
    case UInt8(ascii: "f"): return word("false") ? .bool(false) : nil
    case UInt8(ascii: "n"): return word("null") ? .null : nil
    default: return number()
    }
  }

  private mutating func nested(_ read: (inout JSONReader) -> JSON?) -> JSON? {
    guard depth < JSON.deepest else { return nil }
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
    return consume("]") ? .array(values) : nil
  }

  private mutating func record() -> JSON? {
    var fields: [(name: String, value: JSON)] = []
    if consume("}") { return .object(fields) }
    repeat {
      skipSpace()
      guard let name = string(), consume(":"), let value = value() else { return nil }
      fields.append((name, value))
    } while consume(",")
    return consume("}") ? .object(fields) : nil
  }

  private mutating func number() -> JSON? {
    let digits = bytes[position...].prefix {
      (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "+")
        || $0 == UInt8(ascii: ".") || $0 | 0x20 == UInt8(ascii: "e")
    }
    position += digits.count
    let text = String(decoding: digits, as: UTF8.self)
    guard digits.first.map({ $0 == UInt8(ascii: "-") || (0x30...0x39).contains($0) }) == true else {
      return nil
    }
    if let whole = Int(text) { return .number(whole) }
    guard let number = Double(text), number.isFinite else { return nil }
    return .exact(number)
  }

  // MARK: Text

  private mutating func string() -> String? {
    guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else { return nil }
    position += 1
    var text: [UInt8] = []
    while position < bytes.count {
      let byte = bytes[position]
      position += 1
      switch byte {
      case UInt8(ascii: "\""): return String(validating: text, as: UTF8.self)
      case UInt8(ascii: "\\"):
        guard let character = escaped() else { return nil }
        text += character.utf8
      case 0..<32: return nil
      default: text.append(byte)
      }
    }
    return nil
  }

  /// Parses the character behind a backslash.
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
    while position < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[position]) { position += 1 }
  }

  private mutating func consume(_ sign: Unicode.Scalar) -> Bool {
    skipSpace()
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
