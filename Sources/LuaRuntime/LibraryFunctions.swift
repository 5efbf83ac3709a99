internal import CLua
internal import CLuaShim
internal import EventLoop

/// Functions that make modules written in Lua behave like those written in Swift.
extension LuaFunction {
  /// The function `failure(fields)`: makes an error object of the table, and returns it.
  public static var failure: LuaFunction {
    LuaFunction("failure", arity: 1) { call in
      guard lua_type(call.stack.L, 1) == LUA_TTABLE else { throw call.mismatch(1, "table") }
      lua_settop(call.stack.L, 1)
      shim_make_error(call.stack.L)
      return LuaReturn(code: 1)
    }
  }

  /// The function `sealed(name, module [, options])`: returns a proxy of `module`, which raises at
  /// assignments, and names the function that accepts an option of that name. `options`: for functions,
  /// tables whose keys are their options.
  public static var sealed: LuaFunction {
    LuaFunction("sealed", arity: 3) { call in
      let name = try call.shownText(1)
      guard lua_type(call.stack.L, 2) == LUA_TTABLE else { throw call.mismatch(2, "table") }
      var options: [String: String] = [:]
      let functions =
        call.isNil(3)
        ? []
        : try call.entries(3).compactMap { entry -> (String, LuaValue)? in
          if case .string(let name) = entry.key { (name, entry.value) } else { nil }
        }
      for (function, known) in functions.sorted(by: { $0.0 < $1.0 }) {
        for option in call.state.fields(of: known)?.keys ?? [:].keys {
          options[option] = options[option] ?? function
        }
      }
      lua_settop(call.stack.L, 2)
      call.state.seal(name, options: options, on: call.stack)
      return LuaReturn(code: 1)
    }
  }

  /// The function `strict(name, module)`: makes the table raise when an unknown name is read, and returns it.
  public static var strict: LuaFunction {
    LuaFunction("strict", arity: 2) { call in
      let name = try call.shownText(1)
      guard lua_type(call.stack.L, 2) == LUA_TTABLE else { throw call.mismatch(2, "table") }
      lua_settop(call.stack.L, 2)
      call.state.makeStrict(name, on: call.stack)
      return LuaReturn(code: 1)
    }
  }

  /// The function `unknown(kind, name, known)`: returns the message for an unknown name, with the known ones.
  public static var unknownName: LuaFunction {
    LuaFunction("unknown", arity: 3) { call in
      let known = try call.list(3).compactMap { if case .string(let name) = $0 { name } else { nil } }
      return call.return(
        .string(unknown(try call.shownText(1), try call.shownText(2), among: known)))
    }
  }
}
