/// Reads a text from its beginning, byte by byte.
struct TextReader {
  private var rest: Substring.UTF8View

  init(_ text: String) { rest = Substring(text).utf8 }

  var isAtEnd: Bool { rest.isEmpty }
  var next: UInt8? { rest.first }

  mutating func skip(_ character: Character) -> Bool {
    guard let byte = character.asciiValue, rest.first == byte else { return false }
    rest.removeFirst()
    return true
  }

  /// Reads a number of exactly `digits` digits; nil if the next bytes are not digits.
  mutating func number(digits: Int) -> Int? {
    let text = rest.prefix(digits)
    guard text.count == digits, text.allSatisfy(isDigit) else { return nil }
    rest.removeFirst(digits)
    return Int(Substring(text))
  }

  /// Reads all bytes up to the first for which `isWanted` is false.
  mutating func run(where isWanted: (UInt8) -> Bool) -> String {
    let text = rest.prefix(while: isWanted)
    rest.removeFirst(text.count)
    return String(Substring(text))
  }
}

/// `true` if the byte is one of 0 to 9 in ASCII.
func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

/// `true` if the byte is a letter in ASCII.
func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7a).contains(byte | 0x20) }

extension Int {
  /// The number with a leading zero if it has one digit.
  var twoDigits: String { self < 10 ? "0\(self)" : "\(self)" }

  /// Returns quotient and remainder, rounded down: the remainder has the sign of the divisor.
  func dividedDown(by divisor: Int) -> (quotient: Int, remainder: Int) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}
