internal import CLua
internal import CLuaShim
internal import EventLoop
internal import Glibc

/// Modules: tables of functions and values. Reading an unknown name is misuse, and so is an assignment;
/// `pairs` lists the names.
extension LuaState {
  /// Registers a table of `functions` and `values` as the result of `require "name"`.
  /// - Parameter fields: functions without arguments that yield the values of fields, each time one is read; they may
  ///   suspend.
  public func register(
    _ name: String, _ functions: [LuaFunction], values: [(String, LuaValue)] = [],
    fields: [LuaFunction] = [], global: Bool = false
  ) {
    let stack = main
    pushModule(name, functions, values, fields)
    luaL_getsubtable(stack.L, registryIndex, LUA_LOADED_TABLE)
    stack.push(name)
    lua_pushvalue(stack.L, -3)
    lua_rawset(stack.L, -3)
    stack.pop(2)
    if global { makeGlobal(module: name) }
  }

  /// Returns a table of functions by their names, for a part of a module.
  /// - Parameter name: the full name, with the module's: `stream.effect`.
  public func table(_ name: String, _ functions: [LuaFunction]) -> LuaValue {
    pushModule(name, functions, [], [])
    defer { main.pop() }
    return .reference(main.reference(-1, in: self))
  }

  private func pushModule(
    _ name: String, _ functions: [LuaFunction], _ values: [(String, LuaValue)], _ fields: [LuaFunction]
  ) {
    let stack = main
    lua_createtable(stack.L, 0, Int32(functions.count + values.count))
    for function in functions {
      function.module = name
      function.definition = "\(name).\(function.name)"
      stack.push(function.name)
      push(function, on: stack)
      lua_rawset(stack.L, -3)
    }
    for (name, value) in values { stack.setField(name, value, in: self) }
    for field in fields {
      field.module = name
      field.definition = "\(name).\(field.name)"
    }
    makeStrict(name, fields: fields, on: stack)
    let setsByName = functions.contains { $0.name == "set" }
    seal(name, setsByName: setsByName, on: stack)
  }

  /// Makes the table on the top raise when an unknown name is read.
  /// - Parameter fields: functions that yield the values of fields.
  func makeStrict(_ name: String, fields: [LuaFunction] = [], on stack: Stack) {
    lua_createtable(stack.L, 0, 2)
    setField("__index", unknownName(in: name, fields), on: stack)
    if !fields.isEmpty {
      // For completion, as objects of the library list their members.
      stack.push("__fields")
      lua_createtable(stack.L, 0, Int32(fields.count))
      for field in fields { stack.setField(field.name, .bool(true), in: self) }
      lua_rawset(stack.L, -3)
    }
    lua_setmetatable(stack.L, -2)
  }

  /// Replaces the table on the top by a proxy that raises at assignments. The proxy is empty, since Lua
  /// assigns to existing fields without a call of `__newindex`.
  /// - Parameters:
  ///   - setsByName: `true` if the module's `set` accepts a name and a value.
  ///   - options: the functions that accept an option, by its name.
  func seal(
    _ name: String, setsByName: Bool = false, options: [String: String] = [:], on stack: Stack
  ) {
    lua_createtable(stack.L, 0, 0)
    lua_createtable(stack.L, 0, 3)
    stack.push("__index")
    lua_pushvalue(stack.L, -4)
    lua_rawset(stack.L, -3)
    setField("__newindex", assignment(to: name, setsByName, options), on: stack)
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

  private func unknownName(in module: String, _ fields: [LuaFunction]) -> LuaFunction {
    LuaFunction(module) { call in
      // Only a string can be a misspelled name: `ipairs` reads 1.
      guard let key = call.stack.string(2) else { return call.return(.nil) }
      if let field = fields.first(where: { $0.name == key }) { return try field.body(call) }
      throw LuaError(
        code: "argument",
        message: unknown(
          "field or function of \(module)", key, among: try Self.names(1, call) + fields.map(\.name)))
    }
  }

  /// Returns a function that raises, and suggests the function for the assignment.
  private func assignment(
    to module: String, _ setsByName: Bool, _ options: [String: String]
  ) -> LuaFunction {
    LuaFunction(module) { call in
      let key = call.stack.string(2) ?? call.stack.text(2)
      luaL_getmetafield(call.stack.L, 1, "__index")
      let names = try Self.names(Int(call.stack.top), call)
      let advice =
        if names.contains("set_\(key)") {
          "call \(module).set_\(key)(…)"
        } else if names.contains(key) {
          "it is part of the module"
        } else if let function = options[key] {
          "call \(module).\(function) { \(key) = … }"
        } else if setsByName {
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

  /// The function `pairs` for a module: walks the table that the proxy stands for.
  private static var pairs: LuaFunction {
    LuaFunction("pairs") { call in
      lua_settop(call.stack.L, 1)
      lua_getglobal(call.stack.L, "next")
      luaL_getmetafield(call.stack.L, 1, "__index")
      lua_pushnil(call.stack.L)
      return LuaReturn(code: 3)
    }
  }

  /// Makes the result of `require "module"` a global.
  public func makeGlobal(module: String) {
    let stack = main
    luaL_getsubtable(stack.L, registryIndex, LUA_LOADED_TABLE)
    stack.push(module)
    lua_rawget(stack.L, -2)
    self[global: module] = stack.value(-1, in: self)
    stack.pop(2)
  }

  /// Sets the function that supplies globals that do not exist; it receives the table of globals and the
  /// name.
  public func setMissingGlobals(_ function: LuaReference) {
    let stack = main
    stack.pushGlobals()
    lua_createtable(stack.L, 0, 1)
    stack.setField("__index", .reference(function), in: self)
    lua_setmetatable(stack.L, -2)
    stack.pop()
  }

  /// Returns an environment for `load`: a table with values of its own, which assigns to globals.
  /// - Parameter index: the function that supplies all other names; it receives the table and the name.
  public func environment(_ values: [(name: String, value: LuaValue)], index: LuaReference) -> LuaReference {
    let stack = main
    lua_createtable(stack.L, 0, Int32(values.count))
    for (name, value) in values { stack.setField(name, value, in: self) }
    lua_createtable(stack.L, 0, 2)
    stack.setField("__index", .reference(index), in: self)
    stack.push("__newindex")
    stack.pushGlobals()
    lua_rawset(stack.L, -3)
    lua_setmetatable(stack.L, -2)
    defer { stack.pop() }
    return stack.reference(-1, in: self)
  }

  /// Replaces functions of an existing table: `override("os", …)`; those of the globals when `library` is
  /// nil.
  public func override(_ library: String?, _ replacements: [LuaFunction], removing: [String] = []) {
    let stack = main
    stack.pushGlobals()
    if let library {
      stack.push(library)
      lua_rawget(stack.L, -2)
    }
    if stack.type(-1) == LUA_TTABLE {
      for function in replacements {
        function.definition = library.map { "\($0).\(function.name)" } ?? function.name
        stack.push(function.name)
        push(function, on: stack)
        lua_rawset(stack.L, -3)
      }
      for name in removing { stack.setField(name, .nil, in: self) }
    }
    stack.setTop(0)
  }

  /// Sets the search path of `require`: patterns with `?`, in order.
  /// - Parameter script: the script's own file, which is not a module: `require "party"` in a script called
  ///   `party.lua` finds the library's `party`.
  public func setModulePath(_ patterns: [String], script: String? = nil) {
    let stack = main
    var status = stat()
    if let script, stat(script, &status) == 0 {
      shim_set_script_file(stack.L, UInt64(status.st_dev), UInt64(status.st_ino))
    }
    stack.pushGlobals()
    stack.push("package")
    lua_rawget(stack.L, -2)
    stack.setField("path", .string(patterns.joined(separator: ";")), in: self)
    stack.pop(2)
  }
}
