/// A number of Lua.
public struct LuaNumber: Sendable, Equatable {
  /// The value; the nearest float for large integers.
  public let value: Double
  /// `true` for integers: `1`, not `1.0`.
  public let isInteger: Bool

  /// Creates a number.
  public init(_ value: Double, isInteger: Bool) { (self.value, self.isInteger) = (value, isInteger) }

  /// Converts a numeral as Lua does; nil if it is malformed.
  /// Source: `l_str2int` and `l_str2d` of Lua 5.4.
  init?(_ text: String) {
    let digits = Array(text.utf8)
    let isHex = digits.count > 1 && digits[0] == 0x30 && digits[1] | 0x20 == 0x78
    var mantissa = digits[...]
    if isHex { mantissa = mantissa.dropFirst(2) }
    var isFloat = false
    if let mark = mantissa.firstIndex(where: { $0 | 0x20 == (isHex ? 0x70 : 0x65) }) {
      var exponent = mantissa[(mark + 1)...]
      if exponent.first == 0x2b || exponent.first == 0x2d { exponent = exponent.dropFirst() }
      guard !exponent.isEmpty, exponent.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
      mantissa = mantissa[..<mark]
      isFloat = true
    }
    let points = mantissa.count { $0 == 0x2e }
    guard points < 2, mantissa.count > points else { return nil }
    isFloat = isFloat || points > 0
    let isDigit = { (byte: UInt8) in (isHex ? hexDigit(byte) : decimalDigit(byte)) != nil || byte == 0x2e }
    guard mantissa.allSatisfy(isDigit) else { return nil }
    if !isFloat {
      if isHex {
        let bits = mantissa.reduce(UInt64(0)) { $0 &* 16 &+ UInt64(hexDigit($1) ?? 0) }
        self.init(Double(Int64(bitPattern: bits)), isInteger: true)
        return
      }
      if let value = Int64(text) {
        self.init(Double(value), isInteger: true)
        return
      }
    }
    self.init(Self.float(text, isHex: isHex), isInteger: false)
  }

  private static func float(_ text: String, isHex: Bool) -> Double {
    var text = text
    if !isHex, text.hasPrefix(".") { text = "0" + text }
    if let value = Double(text) { return value }
    // Forms that Swift does not accept, such as "5." and "0x.8".
    var (value, scale, isFraction) = (0.0, 1.0, false)
    let base = isHex ? 16.0 : 10.0
    for byte in text.utf8.dropFirst(isHex ? 2 : 0) {
      if byte == 0x2e {
        isFraction = true
      } else if let digit = isHex ? hexDigit(byte) : decimalDigit(byte) {
        if isFraction { scale /= base }
        value = isFraction ? value + Double(digit) * scale : value * base + Double(digit)
      } else {
        break
      }
    }
    return value
  }
}

/// Returns the value of a decimal digit in ASCII.
func decimalDigit(_ byte: UInt8) -> UInt8? { (0x30...0x39).contains(byte) ? byte - 0x30 : nil }

/// Returns the value of a hexadecimal digit in ASCII.
func hexDigit(_ byte: UInt8) -> UInt8? {
  switch byte {
  case 0x30...0x39: byte - 0x30
  case 0x41...0x46: byte - 0x37
  case 0x61...0x66: byte - 0x57
  default: nil
  }
}

/// A token, with its range of bytes in the text.
public struct LuaToken: Sendable {
  /// The kinds of tokens. The raw value of a token without a value is its text.
  public enum Kind: String, Sendable {
    case and, `break`, `do`, `else`, elseif, end, `false`, `for`, function, goto, `if`, `in`, local, `nil`,
      not,
      or, `repeat`, `return`, then, `true`, until, `while`
    case plus = "+"
    case minus = "-"
    case star = "*"
    case slash = "/"
    case percent = "%"
    case caret = "^"
    case hash = "#"
    case ampersand = "&"
    case tilde = "~"
    case pipe = "|"
    case shiftLeft = "<<"
    case shiftRight = ">>"
    case floorDivision = "//"
    case equal = "=="
    case notEqual = "~="
    case lessOrEqual = "<="
    case greaterOrEqual = ">="
    case less = "<"
    case greater = ">"
    case assign = "="
    case openParenthesis = "("
    case closeParenthesis = ")"
    case openBrace = "{"
    case closeBrace = "}"
    case openBracket = "["
    case closeBracket = "]"
    case doubleColon = "::"
    case semicolon = ";"
    case colon = ":"
    case comma = ","
    case dot = "."
    case concat = ".."
    case dots = "..."
    case name = "<name>"
    case string = "<string>"
    case number = "<number>"
    case endOfFile = "<eof>"
  }

  /// The kind.
  public internal(set) var kind: Kind
  /// The offset of its first byte.
  public internal(set) var start: Int
  /// The offset after its last byte.
  public internal(set) var end: Int
  /// The name, or the contents of the string.
  public internal(set) var text = ""
  var number = LuaNumber(0, isInteger: true)

  static let keywords = Set(LuaKeywords.all)

  /// `true` for a reserved word of Lua.
  public var isKeyword: Bool { Self.keywords.contains(kind.rawValue) }
}

/// The reserved words of Lua. Source: Lua 5.4 Reference Manual, §3.1.
public enum LuaKeywords {
  /// The words in alphabetical order.
  public static let all = [
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in", "local",
    "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
  ]
}
