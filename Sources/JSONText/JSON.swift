/// A JSON value (RFC 8259). Members keep their order.
public enum JSON: Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByNilLiteral
{
  /// The deepest nesting of arrays and objects in a parsed or written text.
  public static let deepest = 64

  case null
  case bool(Bool)
  case number(Int)
  /// A number rounded to three decimal places; null if it is not finite or 1e15 or more.
  case decimal(Double)
  /// A number with all its digits; null if it is not finite.
  case exact(Double)
  case string(String)
  case array([JSON])
  case object([(name: String, value: JSON)])

  /// Creates a string.
  public init(stringLiteral text: String) { self = .string(text) }
  /// Creates a whole number.
  public init(integerLiteral number: Int) { self = .number(number) }
  /// Creates a Boolean.
  public init(booleanLiteral isTrue: Bool) { self = .bool(isTrue) }
  /// Creates null.
  public init(nilLiteral: ()) { self = .null }

  /// Returns the string; null for nil.
  public static func optional(_ text: String?) -> JSON { text.map { .string($0) } ?? .null }
  /// Returns the Boolean; null for nil.
  public static func optional(_ isTrue: Bool?) -> JSON { isTrue.map { .bool($0) } ?? .null }

  /// The text on one line, without control characters: no string in it can move a terminal's cursor.
  public var line: String {
    switch self {
    case .null: "null"
    case .bool(let isTrue): isTrue ? "true" : "false"
    case .number(let number): String(number)
    case .decimal(let number): abs(number) < 1e15 ? "\((number * 1e3).rounded() / 1e3)" : "null"
    case .exact(let number): number.isFinite ? "\(number)" : "null"
    case .string(let text): Self.quoted(text)
    case .array(let elements): "[" + elements.map(\.line).joined(separator: ", ") + "]"
    case .object(let members): "{" + members.map(Self.line).joined(separator: ", ") + "}"
    }
  }

  /// The text for people too: a line for each element or member, whose own elements share it.
  public var lines: String {
    switch self {
    case .array(let elements) where !elements.isEmpty: Self.block("[", elements.map(\.line), "]")
    case .object(let members) where !members.isEmpty: Self.block("{", members.map(Self.line), "}")
    default: line
    }
  }

  /// The value of the member called `name`, the last one of several; nil without one.
  public subscript(name: String) -> JSON? {
    guard case .object(let members) = self else { return nil }
    return members.last { $0.name == name }?.value
  }

  /// The text of a string; nil for other values.
  public var text: String? { if case .string(let text) = self { text } else { nil } }
  /// The value of a whole number; nil for other values.
  public var int: Int? { if case .number(let number) = self { number } else { nil } }
  /// The value of a Boolean; nil for other values.
  public var bool: Bool? { if case .bool(let isTrue) = self { isTrue } else { nil } }
  /// The elements of an array; nil for other values.
  public var elements: [JSON]? { if case .array(let elements) = self { elements } else { nil } }

  private static func block(_ open: String, _ lines: [String], _ close: String) -> String {
    "\(open)\n" + lines.map { "  " + $0 }.joined(separator: ",\n") + "\n\(close)"
  }

  private static func line(_ member: (name: String, value: JSON)) -> String {
    "\(quoted(member.name)): \(member.value.line)"
  }

  private static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": result += "\\\(scalar)"
      case _ where scalar.properties.generalCategory == .control:
        let hex = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}
