internal import CLua
internal import CLuaShim
internal import EventLoop

/// What modules that are written in Lua need to be as those that are not.
extension LuaFunction {
  /// `failure(fields)`: makes an error object of the table, and returns it.
  public static var failure: LuaFunction {
    LuaFunction("failure", takes: 1) { call in
      guard lua_type(call.stack.L, 1) == LUA_TTABLE else { throw call.mismatch(1, "table") }
      lua_settop(call.stack.L, 1)
      shim_make_error(call.stack.L)
      return LuaReturn(code: 1)
    }
  }

  /// `sealed(name, module)`: a table that stands for `module`, and raises where a name is assigned.
  public static var sealed: LuaFunction {
    LuaFunction("sealed", takes: 2) { call in
      let name = try call.shownText(1)
      guard lua_type(call.stack.L, 2) == LUA_TTABLE else { throw call.mismatch(2, "table") }
      lua_settop(call.stack.L, 2)
      call.state.seal(name, on: call.stack)
      return LuaReturn(code: 1)
    }
  }

  /// `strict(name, module)`: has the table raise where a name is read that it has not, and returns it.
  public static var strict: LuaFunction {
    LuaFunction("strict", takes: 2) { call in
      let name = try call.shownText(1)
      guard lua_type(call.stack.L, 2) == LUA_TTABLE else { throw call.mismatch(2, "table") }
      lua_settop(call.stack.L, 2)
      call.state.makeStrict(name, on: call.stack)
      return LuaReturn(code: 1)
    }
  }

  /// `unknown(kind, name, known)`: says that nothing is called so, and what is.
  public static var unknown: LuaFunction {
    LuaFunction("unknown", takes: 3) { call in
      let known = try call.list(3).compactMap { if case .string(let name) = $0 { name } else { nil } }
      return call.return(
        .string(LuaRuntime.unknown(try call.shownText(1), try call.shownText(2), among: known)))
    }
  }
}
