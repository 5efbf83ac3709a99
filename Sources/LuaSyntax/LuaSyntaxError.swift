/// The reason why a text is not valid Lua, or is not parsed.
public struct LuaSyntaxError: Error, Equatable, Sendable {
  /// The kinds of reasons.
  public enum Kind: Sendable {
    /// Lua itself refuses the text.
    case syntax
    /// The text is larger or more deeply nested than the parser accepts; Lua may accept it.
    case limit
  }

  /// The kind of the reason.
  public let kind: Kind
  /// The reason in Lua's own words, without the position.
  public let message: String
  /// Byte offset in the text.
  public let offset: Int
}
