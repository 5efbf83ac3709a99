public import JSONText

extension LuaValue {
  /// Parses JSON text (RFC 8259): whole numbers without point and exponent become integers, `null` becomes
  /// nil.
  /// - Returns: nil when the text is invalid, or nests more than 64 tables.
  public init?(json text: String) {
    guard let value = JSON(parsing: text.utf8) else { return nil }
    self.init(value)
  }

  /// The form in scripts of a JSON value.
  /// - Parameter null: the form of null.
  public init(_ json: JSON, null: LuaValue = .nil) {
    switch json {
    case .null: self = null
    case .bool(let isTrue): self = .bool(isTrue)
    case .number(let number): self = .int(number)
    case .decimal(let number), .exact(let number): self = .number(number)
    case .string(let text): self = .string(text)
    case .array(let elements): self = .list(elements.map { LuaValue($0, null: null) })
    case .object(let members): self = .record(members.map { ($0.name, LuaValue($0.value, null: null)) })
    }
  }
}
