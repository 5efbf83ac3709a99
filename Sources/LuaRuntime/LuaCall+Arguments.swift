internal import CLua
internal import CLuaShim
internal import EventLoop

/// Typed arguments. Each accessor throws an error that names the argument: `bad argument #2 to 'set_volume'
/// (number expected, got no value)`. Values are not converted: `"5"` is not a number.
extension LuaCall {
  /// Returns a number with a whole value.
  /// - Parameter range: the values accepted.
  public func int(_ number: Int, in range: ClosedRange<Int> = .min ... .max) throws -> Int {
    var isInteger: Int32 = 0
    guard lua_type(stack.L, Int32(number)) == LUA_TNUMBER else { throw mismatch(number, "number") }
    let value = Int(lua_tointegerx(stack.L, Int32(number), &isInteger))
    guard isInteger != 0 else { throw problem(number, "whole number expected, got \(numberText(number))") }
    guard range.contains(value) else { throw problem(number, expected(range, got: "\(value)")) }
    return value
  }

  /// Returns a finite number.
  public func number(_ number: Int, in range: ClosedRange<Double>? = nil) throws -> Double {
    guard lua_type(stack.L, Int32(number)) == LUA_TNUMBER else { throw mismatch(number, "number") }
    let value = lua_tonumberx(stack.L, Int32(number), nil)
    guard value.isFinite else { throw problem(number, "finite number expected, got \(value)") }
    if let range, !range.contains(value) {
      throw problem(
        number, "\(plain(range.lowerBound)) to \(plain(range.upperBound)) expected, got \(plain(value))")
    }
    return value
  }

  /// Returns a string in UTF-8.
  /// - Parameter kind: limits its length.
  public func string(_ number: Int, _ kind: TextKind = .text) throws -> String {
    // The length is checked before the host copies the text.
    if let count = stack.bytes(Int32(number))?.count, let problem = kind.problem(withLength: count) {
      throw self.problem(number, problem)
    }
    guard case .string(let text) = value(number) else { throw mismatch(number, "string") }
    if let problem = kind.problem(with: text) { throw self.problem(number, problem) }
    return text
  }

  /// The bytes of a string; 0 for an argument of another type.
  public func length(_ number: Int) -> Int { stack.bytes(Int32(number))?.count ?? 0 }

  /// `true` for a string.
  public func isText(_ number: Int) -> Bool { lua_type(stack.L, Int32(number)) == LUA_TSTRING }

  /// Returns a string, for display only; bytes that are not UTF-8 are replaced.
  /// - Parameter limit: the bytes beyond which the text is cut, with their number at its end.
  public func shownText(_ number: Int, atMost limit: Int = .max) throws -> String {
    guard let bytes = stack.bytes(Int32(number)) else { throw mismatch(number, "string") }
    return Self.text(bytes, atMost: limit)
  }

  private static func text(_ bytes: UnsafeBufferPointer<UInt8>, atMost limit: Int) -> String {
    guard bytes.count > limit else { return String(decoding: bytes, as: UTF8.self) }
    return String(decoding: bytes[..<limit], as: UTF8.self) + "… (\(bytes.count - limit) bytes more)"
  }

  /// Returns the bytes of a string.
  public func bytes(_ number: Int) throws -> [UInt8] {
    guard let bytes = stack.bytes(Int32(number)) else { throw mismatch(number, "string") }
    return Array(bytes)
  }

  /// Returns one of the known names of a kind, such as roles.
  public func name(_ number: Int, of kind: String, _ known: [String]) throws -> String {
    let name = try string(number, .name)
    guard known.contains(name) else { throw problem(number, unknown(kind, name, among: known)) }
    return name
  }

  /// Returns a boolean.
  public func bool(_ number: Int) throws -> Bool {
    guard lua_type(stack.L, Int32(number)) == LUA_TBOOLEAN else { throw mismatch(number, "boolean") }
    return lua_toboolean(stack.L, Int32(number)) != 0
  }

  /// Returns a function.
  public func function(_ number: Int) throws -> LuaReference {
    guard lua_type(stack.L, Int32(number)) == LUA_TFUNCTION else { throw mismatch(number, "function") }
    return stack.reference(Int32(number), in: state)
  }

  /// Returns the argument, of any type.
  public func value(_ number: Int) -> LuaValue { stack.value(Int32(number), in: state) }

  /// Returns the arguments from `number` on, to be passed on: long texts by reference, as a script may pass
  /// one text a thousand times.
  public func values(from number: Int) -> [LuaValue] {
    number > count
      ? []
      : (number...count).map {
        length($0) > 4096 ? .reference(stack.reference(Int32($0), in: state)) : value($0)
      }
  }

  /// Returns an object of a Swift class.
  public func object<Object>(_ number: Int, _ type: LuaClass<Object>) throws -> Object {
    guard let raw = shim_test_object(stack.L, Int32(number), type.type) else {
      throw mismatch(number, type.name)
    }
    let object = Unmanaged<AnyObject>.fromOpaque(raw).takeUnretainedValue()
    return unsafeDowncast(object, to: type.object)
  }

  /// Returns the object, or nil when the argument is something else.
  public func optionalObject<Object>(_ number: Int, _ type: LuaClass<Object>) -> Object? {
    try? object(number, type)
  }

  /// Returns a table of named options; an absent argument is an empty one.
  /// - Parameters:
  ///   - known: the accepted names; any other raises and suggests the nearest.
  ///   - besideList: `true` for a table that is a list, too: its elements are not checked.
  public func options(_ number: Int, _ known: [String], besideList: Bool = false) throws -> LuaOptions {
    if isNil(number) { return LuaOptions(call: self, number: number, fields: [:]) }
    var fields: [String: LuaValue] = [:]
    var unknownNames: [String] = []
    for (key, value) in try entries(number) {
      if besideList, case .int = key { continue }
      if case .string(let name) = key, known.contains(name) {
        fields[name] = value
      } else {
        unknownNames.append(state.keyText(key))
      }
    }
    if let name = unknownNames.min() { throw problem(number, unknown("option", name, among: known)) }
    return LuaOptions(call: self, number: number, fields: fields)
  }

  /// Returns an argument as the option `name`: read and checked in the same way, with errors that name the
  /// argument.
  public func option(_ number: Int, as name: String) -> LuaOptions {
    LuaOptions(call: self, number: number, fields: [name: value(number)], isArgument: true)
  }

  /// Returns the fields of a table as text, sorted by name: for logs.
  /// - Parameter limit: the bytes beyond which a text is cut, with their number at its end.
  public func fields(_ number: Int, atMost limit: Int = .max) throws -> [(String, String)] {
    func text(_ value: LuaValue) -> String {
      var text = state.text(value)
      guard text.utf8.count > limit else { return text }
      return text.withUTF8 { Self.text($0, atMost: limit) }
    }
    return try entries(number).map { (text($0.key), text($0.value)) }.sorted { $0.0 < $1.0 }
  }

  /// Returns the keys and values of a table, at most 1000, in no particular order.
  public func entries(_ number: Int) throws -> [(key: LuaValue, value: LuaValue)] {
    guard lua_type(stack.L, Int32(number)) == LUA_TTABLE else { throw mismatch(number, "table") }
    guard let entries = stack.entries(Int32(number), limit: 1000, in: state) else {
      throw problem(number, "at most 1000 fields with 16 MiB of texts expected")
    }
    return entries
  }

  /// Returns the elements 1, 2, … of a table up to the first nil.
  /// - Parameter limit: the most elements accepted.
  public func list(_ number: Int, limit: Int = 100_000) throws -> [LuaValue] {
    guard lua_type(stack.L, Int32(number)) == LUA_TTABLE else { throw mismatch(number, "table") }
    return try state.list(at: Int32(number), on: stack, limit: limit)
      ?? { throw problem(number, "at most \(limit) elements with 64 MiB of texts expected") }()
  }

  /// Returns the error for an argument that the function itself refuses.
  /// - Parameters:
  ///   - code: the code of this misuse, if the contract names one.
  ///   - hint: the correct form.
  public func problem(
    _ number: Int, _ problem: String, code: String = "argument", hint: String? = nil
  ) -> any Error {
    ArgumentError(number: number, problem: problem, code: code, hint: hint)
  }

  /// Returns the error for an argument that is missing or has another type. A string that is not UTF-8 counts
  /// as another type.
  public func mismatch(_ number: Int, _ expected: String) -> any Error {
    if let bytes = stack.bytes(Int32(number)), bytes.count <= TextKind.text.limit,
      String(validating: bytes, as: UTF8.self) == nil
    {
      return problem(number, TextKind.problem(withBytes: bytes))
    }
    return problem(number, "\(expected) expected, got \(stack.typeName(Int32(number)))")
  }

  private func numberText(_ number: Int) -> String { stack.text(Int32(number)) }
}

extension LuaState {
  func list(at index: Int32, on stack: Stack, limit: Int) -> [LuaValue]? {
    var values: [LuaValue] = []
    var bytes = 0
    while true {
      defer { stack.pop() }
      if lua_rawgeti(stack.L, index, lua_Integer(values.count + 1)) == LUA_TNIL { return values }
      // The same text may occur many times, and the host would copy it each time.
      bytes += stack.bytes(-1)?.count ?? 0
      guard values.count < limit, bytes <= 64 << 20 else { return nil }
      values.append(stack.value(-1, in: self))
    }
  }

  /// Returns the fields of a table by name, or nil when the value is not a table; other keys become `[key]`.
  public func fields(of value: LuaValue) -> [String: LuaValue]? {
    guard case .reference = value else { return nil }
    let stack = main
    stack.push(value, in: self)
    defer { stack.pop() }
    guard stack.type(-1) == LUA_TTABLE else { return nil }
    guard let entries = stack.entries(-1, limit: 1000, in: self) else { return nil }
    return Dictionary(entries.map { (keyText($0.key), $0.value) }) { first, _ in first }
  }

  /// Returns the name of a key in error messages.
  func keyText(_ key: LuaValue) -> String {
    if case .string(let name) = key { return name }
    return "[\(text(key))]"
  }

  /// Returns the elements 1, 2, … of a table up to the first nil; nil when the value is not a table, or has
  /// more than `limit` elements.
  public func list(_ value: LuaValue, limit: Int = 100_000) -> [LuaValue]? {
    guard case .reference(let reference) = value else { return nil }
    let stack = main
    stack.push(.reference(reference), in: self)
    defer { stack.pop() }
    return stack.type(-1) == LUA_TTABLE ? list(at: stack.top, on: stack, limit: limit) : nil
  }
}

func expected(_ range: ClosedRange<Int>, got: String) -> String {
  if range.lowerBound == .min { return "at most \(range.upperBound) expected, got \(got)" }
  if range.upperBound == .max { return "at least \(range.lowerBound) expected, got \(got)" }
  return "\(range.lowerBound) to \(range.upperBound) expected, got \(got)"
}

/// Returns a number in the form that a person writes.
func plain(_ value: Double) -> String {
  value == value.rounded() && abs(value) < 1e15 ? "\(Int(value))" : "\(value)"
}
