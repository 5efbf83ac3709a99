/// A JSON value (RFC 8259). Members keep their order.
enum JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByNilLiteral
{
  case null
  case bool(Bool)
  case number(Int)
  /// A number rounded to three decimal places; null when it is not finite or 1e15 or more.
  case decimal(Double)
  case string(String)
  case array([JSON])
  case object([(name: String, value: JSON)])

  init(stringLiteral text: String) { self = .string(text) }
  init(integerLiteral number: Int) { self = .number(number) }
  init(booleanLiteral isTrue: Bool) { self = .bool(isTrue) }
  init(nilLiteral: ()) { self = .null }

  /// Returns the string; null for nil.
  static func optional(_ text: String?) -> JSON { text.map { .string($0) } ?? .null }
  /// Returns the Boolean; null for nil.
  static func optional(_ isTrue: Bool?) -> JSON { isTrue.map { .bool($0) } ?? .null }

  /// Text on one line, without control characters: no string in it can move a terminal's cursor.
  var line: String {
    switch self {
    case .null: "null"
    case .bool(let isTrue): isTrue ? "true" : "false"
    case .number(let number): String(number)
    case .decimal(let number): abs(number) < 1e15 ? "\((number * 1e3).rounded() / 1e3)" : "null"
    case .string(let text): Self.quoted(text)
    case .array(let elements): "[" + elements.map(\.line).joined(separator: ", ") + "]"
    case .object(let members): "{" + members.map(Self.line).joined(separator: ", ") + "}"
    }
  }

  /// Text for people too: a line for each element or member, whose own elements share it.
  var lines: String {
    switch self {
    case .array(let elements) where !elements.isEmpty: Self.block("[", elements.map(\.line), "]")
    case .object(let members) where !members.isEmpty: Self.block("{", members.map(Self.line), "}")
    default: line
    }
  }

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
