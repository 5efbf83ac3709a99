internal import CLua

extension LuaCall {
  /// Draws 64 bits from the script's own random source, `math.random`, which `math.randomseed` and the seed
  /// of a simulation determine; 0 if `math.random` is not a function any more, or fails.
  public func randomBits() -> UInt64 {
    let before = lua_gettop(stack.L)
    defer { stack.setTop(before) }
    guard stack.reserve(4) else { return 0 }
    lua_rawgeti(stack.L, registryIndex, lua_Integer(LUA_RIDX_GLOBALS))
    for name in ["math", "random"] {
      guard lua_type(stack.L, -1) == LUA_TTABLE else { return 0 }
      stack.push(name)
      lua_rawget(stack.L, -2)
    }
    guard lua_type(stack.L, -1) == LUA_TFUNCTION else { return 0 }
    lua_pushinteger(stack.L, 0)
    guard lua_pcallk(stack.L, 1, 1, 0, 0, nil) == LUA_OK else { return 0 }
    return UInt64(bitPattern: Int64(lua_tointegerx(stack.L, -1, nil)))
  }
}
