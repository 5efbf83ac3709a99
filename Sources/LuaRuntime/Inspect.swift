internal import CLua

/// The text of values for a person at the prompt. Raw accessors only, except for `__tostring`.
extension LuaState {
  /// Returns the text of a value: strings in quotes inside tables, tables sorted by key, nested, cyclic ones
  /// marked, long ones cut with a count; objects by their description.
  public func inspect(_ value: LuaValue) -> String {
    let stack = main
    stack.push(value, in: self)
    defer { stack.pop() }
    if case .string(let text) = value { return text }
    var inspector = Inspector(stack: stack)
    return inspector.text(of: stack.top, indent: 0)
  }
}

private struct Inspector {
  static let longest = 50
  static let deepest = 6
  static let widest = 72

  let stack: Stack
  var seen: Set<UnsafeRawPointer> = []

  mutating func text(of index: Int32, indent: Int) -> String {
    switch stack.type(index) {
    case LUA_TSTRING: return quoted(stack.string(index) ?? "")
    case LUA_TTABLE where !hasText(index):
      guard pushModule(index) else { return table(index, indent: indent) }
      defer { stack.pop() }
      return table(stack.top, indent: indent)
    default: return stack.text(index)
    }
  }

  private func hasText(_ index: Int32) -> Bool {
    guard luaL_getmetafield(stack.L, index, "__tostring") != LUA_TNIL else { return false }
    stack.pop()
    return true
  }

  /// Pushes the table behind a module's proxy, see `LuaState.seal`.
  /// - Returns: `false`, with nothing pushed, when the value is no module.
  private func pushModule(_ index: Int32) -> Bool {
    guard luaL_getmetafield(stack.L, index, "__newindex") != LUA_TNIL else { return false }
    stack.pop()
    let type = luaL_getmetafield(stack.L, index, "__index")
    if type != LUA_TTABLE, type != LUA_TNIL { stack.pop() }
    return type == LUA_TTABLE
  }

  private mutating func table(_ index: Int32, indent: Int) -> String {
    guard let address = lua_topointer(stack.L, index) else { return "{}" }
    guard seen.insert(address).inserted else { return "{…again}" }
    defer { seen.remove(address) }
    guard indent < Self.deepest, stack.reserve(8) else { return "{…}" }
    let length = Int(lua_rawlen(stack.L, index))
    var entries: [String] = []
    for number in 0..<min(length, Self.longest) {
      lua_rawgeti(stack.L, index, lua_Integer(number + 1))
      entries.append(text(of: stack.top, indent: indent + 1))
      stack.pop()
    }
    let (named, count) = fields(index, after: length, room: Self.longest - entries.count, indent: indent)
    entries += named
    let hidden = max(0, length - Self.longest) + count - named.count
    if hidden > 0 { entries.append("… \(hidden) more") }
    if entries.isEmpty { return "{}" }
    let line = "{ " + entries.joined(separator: ", ") + " }"
    if line.count + indent * 2 <= Self.widest && !line.contains("\n") { return line }
    let margin = String(repeating: "  ", count: indent + 1)
    return "{\n" + entries.map { margin + $0 }.joined(separator: ",\n") + "\n" + margin.dropLast(2) + "}"
  }

  /// Returns the fields outside the list part, sorted by type and value; at most `room` of them, and their
  /// total number.
  private mutating func fields(_ index: Int32, after length: Int, room: Int, indent: Int) -> ([String], Int) {
    // The walk comes first, and the keys are turned into text afterwards: that may run script code, which may
    // change the table.
    var found: [(type: Int32, number: Double, reference: Int32)] = []
    lua_pushnil(stack.L)
    while lua_next(stack.L, index) != 0 {
      stack.pop()
      let type = stack.type(-1)
      let number = type == LUA_TNUMBER ? lua_tonumberx(stack.L, -1, nil) : 0
      let isInList =
        type == LUA_TNUMBER && lua_isinteger(stack.L, -1) != 0 && number >= 1 && number <= Double(length)
      if !isInList {
        lua_pushvalue(stack.L, -1)
        found.append((type, number, luaL_ref(stack.L, registryIndex)))
      }
    }
    var keys = found.map { type, number, reference in
      lua_rawgeti(stack.L, registryIndex, lua_Integer(reference))
      defer { stack.pop() }
      let label = type == LUA_TSTRING ? key(stack.string(-1) ?? "") : "[\(stack.text(-1))]"
      return (rank: Int(type), number: number, text: label, reference: reference)
    }
    keys.sort { ($0.rank, $0.number, $0.text) < ($1.rank, $1.number, $1.text) }
    var entries: [String] = []
    for key in keys {
      if entries.count < room {
        lua_rawgeti(stack.L, registryIndex, lua_Integer(key.reference))
        lua_rawget(stack.L, index)
        entries.append("\(key.text) = \(text(of: stack.top, indent: indent + 1))")
        stack.pop()
      }
      luaL_unref(stack.L, registryIndex, key.reference)
    }
    return (entries, keys.count)
  }

  private func key(_ name: String) -> String {
    let isName = name.utf8.enumerated().allSatisfy { index, byte in
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
        || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
        || byte == UInt8(ascii: "_") || index > 0 && (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
    return isName && !name.isEmpty ? name : "[\(quoted(name))]"
  }

  private func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\t": result += "\\t"
      case "\r": result += "\\r"
      case _ where scalar.value < 32 || scalar.value == 127: result += "\\\(scalar.value)"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}
