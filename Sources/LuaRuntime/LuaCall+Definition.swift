internal import CLua
internal import CLuaShim

/// The name of a value in the definitions of the Lua API.
public enum LuaDefinition: Equatable {
  /// A function: `speaker.play`, `speaker.Session:pause`.
  case function(String)
  /// A module: `speaker`.
  case module(String)
  /// An object's class, and its one line.
  case object(class: String, text: String)
}

extension LuaCall {
  /// Returns the definition of an argument; nil for a value without one.
  ///
  /// A Swift function knows its name; a function of a module in Lua is searched in the loaded modules.
  /// - Parameter isKnown: `true` for the names of modules and functions that are described; others are left
  ///   out.
  public func definition(of number: Int, where isKnown: (String) -> Bool) -> LuaDefinition? {
    let index = Int32(number)
    if luaL_getmetafield(stack.L, index, "__definition") != LUA_TNIL {
      defer { stack.pop() }
      return stack.string(-1).map { .object(class: $0, text: stack.text(index)) }
    }
    if let name = functionName(index), isKnown(name) { return .function(name) }
    guard [LUA_TFUNCTION, LUA_TTABLE].contains(lua_type(stack.L, index)), stack.reserve(8) else { return nil }
    luaL_getsubtable(stack.L, registryIndex, LUA_LOADED_TABLE)
    defer { stack.pop() }
    let loaded = (stack.entries(-1, limit: 1000, in: state) ?? []).compactMap { entry -> String? in
      if case .string(let name) = entry.key, name == "_G" || isKnown(name) || Self.libraries.contains(name) {
        return name
      }
      return nil
    }
    for module in loaded.sorted() {
      stack.push(module)
      lua_rawget(stack.L, -2)
      defer { stack.pop() }
      if lua_rawequal(stack.L, -1, index) != 0, isKnown(module) { return .module(module) }
      if let name = member(equalTo: index) {
        let full = module == "_G" ? name : "\(module).\(name)"
        if isKnown(full) { return .function(full) }
      }
    }
    return nil
  }

  /// Lua's own tables of functions.
  private static let libraries: Set<String> = ["coroutine", "debug", "io", "os", "package"]

  /// Returns the key of a value in the table on the top, or in the table that its proxy stands for.
  private func member(equalTo index: Int32) -> String? {
    guard lua_type(stack.L, -1) == LUA_TTABLE else { return nil }
    let isProxy = luaL_getmetafield(stack.L, -1, "__index") == LUA_TTABLE
    // An absent field pushes nothing.
    if !isProxy, lua_type(stack.L, -1) != LUA_TTABLE { stack.pop() }
    defer { if isProxy { stack.pop() } }
    let table = lua_absindex(stack.L, -1)
    lua_pushnil(stack.L)
    while lua_next(stack.L, table) != 0 {
      if lua_rawequal(stack.L, -1, index) != 0, let name = stack.string(-2) {
        stack.pop(2)
        return name
      }
      stack.pop()
    }
    return nil
  }

  /// Returns the full name of a Swift function; nil for any other value.
  private func functionName(_ index: Int32) -> String? {
    guard lua_tocfunction(stack.L, index) != nil, lua_getupvalue(stack.L, index, 1) != nil else { return nil }
    defer { stack.pop() }
    guard lua_type(stack.L, -1) == LUA_TLIGHTUSERDATA, let box = lua_touserdata(stack.L, -1) else {
      return nil
    }
    return state.definition(ofBox: box)
  }
}
