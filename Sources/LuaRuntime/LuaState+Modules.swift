internal import CLua
internal import CLuaShim

/// Modules: tables of functions and values, in which what is not there is misuse. `rawget` is the way to ask.
extension LuaState {
  /// Makes a table of `functions` and `values` what `require "name"` gives.
  public func register(
    _ name: String, _ functions: [LuaFunction], values: [(String, LuaValue)] = [], global: Bool = false
  ) {
    let stack = main
    pushModule(name, functions, values)
    luaL_getsubtable(stack.L, registryIndex, LUA_LOADED_TABLE)
    stack.push(name)
    lua_pushvalue(stack.L, -3)
    lua_rawset(stack.L, -3)
    stack.pop(2)
    if global { makeGlobal(module: name) }
  }

  /// A table of functions by their names, for a module that has parts.
  /// - Parameter name: with that of the module: `stream.effect`.
  public func table(_ name: String, _ functions: [LuaFunction]) -> LuaValue {
    pushModule(name, functions, [])
    defer { main.pop() }
    return .reference(main.reference(-1, in: self))
  }

  private func pushModule(_ name: String, _ functions: [LuaFunction], _ values: [(String, LuaValue)]) {
    let stack = main
    lua_createtable(stack.L, 0, Int32(functions.count + values.count))
    for function in functions {
      function.module = name
      stack.push(function.name)
      push(function, on: stack)
      lua_rawset(stack.L, -3)
    }
    for (name, value) in values { stack.setField(name, value, in: self) }
    makeStrict(name, on: stack)
  }

  /// Has the table on the top raise where a name is read that it has not.
  func makeStrict(_ name: String, on stack: Stack) {
    lua_createtable(stack.L, 0, 1)
    stack.push("__index")
    push(
      LuaFunction(name) { call in
        // What is no name is no slip of the pen: `ipairs` asks for 1.
        guard let key = call.stack.string(2) else { return call.return(.nil) }
        let names = try call.entries(1).compactMap { entry in
          if case .string(let name) = entry.key { name } else { nil }
        }
        throw LuaError(
          code: "argument", message: LuaRuntime.unknown("field or function of \(name)", key, among: names))
      }, on: stack)
    lua_rawset(stack.L, -3)
    lua_setmetatable(stack.L, -2)
  }

  /// Makes a global of what `require "module"` gives.
  public func makeGlobal(module: String) {
    let stack = main
    luaL_getsubtable(stack.L, registryIndex, LUA_LOADED_TABLE)
    stack.push(module)
    lua_rawget(stack.L, -2)
    self[global: module] = stack.value(-1, in: self)
    stack.pop(2)
  }

  /// Replaces functions of a table that exists: `override("os", …)`; the globals with nil.
  public func override(_ library: String?, _ replacements: [LuaFunction], removing: [String] = []) {
    let stack = main
    stack.pushGlobals()
    if let library {
      stack.push(library)
      lua_rawget(stack.L, -2)
    }
    if stack.type(-1) == LUA_TTABLE {
      for function in replacements {
        stack.push(function.name)
        push(function, on: stack)
        lua_rawset(stack.L, -3)
      }
      for name in removing { stack.setField(name, .nil, in: self) }
    }
    stack.setTop(0)
  }

  /// Where `require` looks: patterns with `?`, in order.
  public func setModulePath(_ patterns: [String]) {
    let stack = main
    stack.pushGlobals()
    stack.push("package")
    lua_rawget(stack.L, -2)
    stack.setField("path", .string(patterns.joined(separator: ";")), in: self)
    stack.pop(2)
  }
}
