/// A value in transit between Swift and Lua.
public enum LuaValue {
  case `nil`
  case bool(Bool)
  case int(Int)
  case number(Double)
  case string(String)
  /// A Lua string that need not be UTF-8.
  case bytes([UInt8])
  /// A new table with the values at 1, 2, …
  case list([LuaValue])
  /// A new table with these fields.
  case record([(name: String, value: LuaValue)])
  /// A new table with these fields, whose text for `tostring` is its field `text`.
  case described([(name: String, value: LuaValue)])
  /// A new table with values at these keys.
  case numbered([(key: Int, value: LuaValue)])
  /// A value that lives in Lua: a table, a function, a thread, a userdata.
  case reference(LuaReference)
  /// A Swift object.
  case object(LuaObject)
  /// A new error object.
  case error(LuaError)

  /// A string, or nil for nil.
  public static func optional(_ text: String?) -> LuaValue { text.map { .string($0) } ?? .nil }
  /// A number, or nil for nil.
  public static func optional(_ number: Double?) -> LuaValue { number.map { .number($0) } ?? .nil }
}

/// A Swift object together with its class in scripts. Made by `LuaClass.callAsFunction`.
public struct LuaObject {
  let type: Int32
  let object: AnyObject
}

/// A reference to a Lua value, which it keeps in the registry of its state.
///
/// Used on the loop's thread only; may be released on any.
public final class LuaReference: Sendable {
  let slot: Int32
  private let pool: ReferencePool

  init(slot: Int32, pool: ReferencePool) {
    self.slot = slot
    self.pool = pool
  }

  deinit { pool.release(slot) }

  func belongs(to pool: ReferencePool) -> Bool { self.pool === pool }
}
