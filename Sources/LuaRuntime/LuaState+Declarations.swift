internal import CLua
internal import CLuaShim

extension LuaState {
  /// Replaces all globals of a script by these functions, and refuses assignments.
  /// - Parameters:
  ///   - unknown: called with the name of an unknown global that is read.
  ///   - assigned: called with the name of a global that is assigned to, known or not.
  public func setGlobals(
    _ functions: [LuaFunction], standard: [String] = [], unknown: @escaping (String) -> LuaError,
    assigned: @escaping (String) -> LuaError
  ) {
    let stack = main
    func set(_ name: String, _ body: @escaping (String) -> LuaError) {
      stack.push(name)
      push(
        LuaFunction(name) { call in throw body(call.stack.string(2) ?? call.stack.text(2)) }, on: stack)
      lua_rawset(stack.L, -3)
    }
    // The table of globals stays empty, so that every assignment is reported.
    lua_createtable(stack.L, 0, 0)
    lua_createtable(stack.L, 0, 2)
    set("__newindex", assigned)
    stack.push("__index")
    lua_createtable(stack.L, 0, Int32(functions.count))
    for function in functions {
      stack.push(function.name)
      push(function, on: stack)
      lua_rawset(stack.L, -3)
    }
    for name in standard {
      stack.push(name)
      lua_rawgeti(stack.L, registryIndex, lua_Integer(LUA_RIDX_GLOBALS))
      stack.push(name)
      lua_rawget(stack.L, -2)
      lua_rotate(stack.L, -2, 1)
      lua_settop(stack.L, -2)
      lua_rawset(stack.L, -3)
    }
    lua_createtable(stack.L, 0, 1)
    set("__index", unknown)
    lua_setmetatable(stack.L, -2)
    lua_rawset(stack.L, -3)
    lua_setmetatable(stack.L, -2)
    lua_rawseti(stack.L, registryIndex, lua_Integer(LUA_RIDX_GLOBALS))
  }
}
