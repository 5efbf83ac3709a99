internal import CLua
internal import CLuaShim

/// Modules: tables of functions and values. Reading what is not there is misuse, and so is assigning; `pairs` is the way
/// to ask what is there.
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
    seal(name, on: stack)
  }

  /// Has the table on the top raise where a name is read that it has not.
  func makeStrict(_ name: String, on stack: Stack) {
    lua_createtable(stack.L, 0, 1)
    setField("__index", unknownName(in: name), on: stack)
    lua_setmetatable(stack.L, -2)
  }

  /// Replaces the table on the top by one that stands for it, and raises where a name is assigned. That one is empty,
  /// else Lua would let fields be assigned that are there.
  func seal(_ name: String, on stack: Stack) {
    lua_createtable(stack.L, 0, 0)
    lua_createtable(stack.L, 0, 3)
    stack.push("__index")
    lua_pushvalue(stack.L, -4)
    lua_rawset(stack.L, -3)
    setField("__newindex", assignment(to: name), on: stack)
    setField("__pairs", Self.pairs, on: stack)
    lua_setmetatable(stack.L, -2)
    lua_rotate(stack.L, -2, 1)
    stack.pop()
  }

  private func setField(_ name: String, _ function: LuaFunction, on stack: Stack) {
    stack.push(name)
    push(function, on: stack)
    lua_rawset(stack.L, -3)
  }

  private func unknownName(in module: String) -> LuaFunction {
    LuaFunction(module) { call in
      // What is no name is no slip of the pen: `ipairs` asks for 1.
      guard let key = call.stack.string(2) else { return call.return(.nil) }
      throw LuaError(
        code: "argument",
        message: LuaRuntime.unknown("field or function of \(module)", key, among: try Self.names(1, call)))
    }
  }

  /// Raises, and names the function that the assignment was probably meant for.
  private func assignment(to module: String) -> LuaFunction {
    LuaFunction(module) { call in
      let key = call.stack.string(2) ?? call.stack.text(2)
      luaL_getmetafield(call.stack.L, 1, "__index")
      let names = try Self.names(Int(call.stack.top), call)
      let advice =
        if names.contains("set_\(key)") {
          "call \(module).set_\(key)(…)"
        } else if names.contains(key) {
          "it is part of the module"
        } else if names.contains("set") {
          "call \(module).set(\"\(key)\", …)"
        } else {
          "keep it in a variable of the script"
        }
      throw LuaError(
        code: "argument", message: "the field '\(key)' of \(module) can't be assigned", hint: advice)
    }
  }

  private static func names(_ number: Int, _ call: LuaCall) throws -> [String] {
    try call.entries(number).compactMap { entry in
      if case .string(let name) = entry.key { name } else { nil }
    }
  }

  /// `pairs` of a module walks the table that it stands for.
  private static var pairs: LuaFunction {
    LuaFunction("pairs") { call in
      lua_settop(call.stack.L, 1)
      lua_getglobal(call.stack.L, "next")
      luaL_getmetafield(call.stack.L, 1, "__index")
      lua_pushnil(call.stack.L)
      return LuaReturn(code: 3)
    }
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
