internal import CLua
internal import CLuaShim

/// The names by which a value is used: fields with `.`, methods with `:`.
public struct LuaMembers: Equatable, Sendable {
  /// Fields to read; all names for a table.
  public var fields: [String] = []
  /// Methods; functions for a table.
  public var methods: [String] = []
  /// The name of the class; nil for a table.
  public var className: String?

  /// Creates an empty list of members.
  public init() {}
}

/// Names for completion. Nothing here runs code of the script.
extension LuaState {
  /// The names of the globals, sorted.
  public var globalNames: [String] { members(at: [])?.fields ?? [] }

  /// Returns the sorted members of the value that a path of names leads to, from the globals on:
  /// `["speaker"]`.
  /// - Returns: nil when the path leads to no value with members, or through a field that only code could
  ///   read.
  public func members(at path: [String]) -> LuaMembers? {
    guard !isClosed else { return nil }
    let stack = main
    let top = stack.top
    defer { stack.setTop(top) }
    guard stack.reserve(Int(path.count) * 4 + 16) else { return nil }
    stack.pushGlobals()
    for name in path { guard push(name, of: stack.top, on: stack) else { return nil } }
    var found = LuaMembers()
    collect(stack.top, on: stack, into: &found, depth: 0)
    found.fields = Array(Set(found.fields)).sorted()
    found.methods = Array(Set(found.methods)).sorted()
    return found.fields.isEmpty && found.methods.isEmpty ? nil : found
  }

  /// Returns the members of a class of objects by its name; nil for an unknown class.
  public func members(ofClass name: String) -> LuaMembers? {
    guard !isClosed, let type = classes[name] else { return nil }
    let stack = main
    let top = stack.top
    defer { stack.setTop(top) }
    guard stack.reserve(16) else { return nil }
    shim_push_type(stack.L, type)
    var found = LuaMembers()
    collectClass(stack.top, on: stack, into: &found)
    found.fields.sort()
    found.methods.sort()
    return found
  }

  /// Pushes a field of the table or the module at `index`, also a field of its metatable's table.
  private func push(_ name: String, of index: Int32, on stack: Stack) -> Bool {
    var holder = index
    for _ in 0..<8 {
      guard stack.type(holder) == LUA_TTABLE else { return false }
      stack.push(name)
      if lua_rawget(stack.L, holder) != LUA_TNIL { return true }
      stack.pop()
      guard luaL_getmetafield(stack.L, holder, "__index") != LUA_TNIL else { return false }
      holder = stack.top
    }
    return false
  }

  private func collect(_ index: Int32, on stack: Stack, into found: inout LuaMembers, depth: Int) {
    guard depth < 8, stack.reserve(8) else { return }
    switch stack.type(index) {
    case LUA_TTABLE:
      for (name, isFunction) in names(index, on: stack) {
        found.fields.append(name)
        if isFunction { found.methods.append(name) }
      }
      guard lua_getmetatable(stack.L, index) != 0 else { return }
      let metatable = stack.top
      // Objects of the library list their members in these fields.
      for (key, isMethod) in [("__fields", false), ("__methods", true)] {
        stack.push(key)
        if lua_rawget(stack.L, metatable) == LUA_TTABLE {
          let members = names(stack.top, on: stack).map(\.name)
          if isMethod { found.methods += members } else { found.fields += members }
        }
        stack.pop()
      }
      stack.push("__index")
      if lua_rawget(stack.L, metatable) == LUA_TTABLE {
        collect(stack.top, on: stack, into: &found, depth: depth + 1)
      }
      stack.pop(2)
    case LUA_TUSERDATA:
      guard lua_getmetatable(stack.L, index) != 0 else { return }
      collectClass(stack.top, on: stack, into: &found)
      stack.pop()
    case LUA_TSTRING:
      guard luaL_getmetafield(stack.L, index, "__index") == LUA_TTABLE else { return }
      found.methods += names(stack.top, on: stack).map(\.name)
      stack.pop()
    default: break
    }
  }

  /// Adds the members that a metatable of objects lists.
  private func collectClass(_ metatable: Int32, on stack: Stack, into found: inout LuaMembers) {
    stack.push("__name")
    lua_rawget(stack.L, metatable)
    found.className = stack.string(-1)
    stack.pop()
    for (key, isMethod) in [("fields", false), ("methods", true)] {
      stack.push(key)
      if lua_rawget(stack.L, metatable) == LUA_TTABLE {
        let members = names(stack.top, on: stack).map(\.name)
        if isMethod { found.methods += members } else { found.fields += members }
      }
      stack.pop()
    }
  }

  /// Returns the keys of the table at `index` that are names.
  private func names(_ index: Int32, on stack: Stack) -> [(name: String, isFunction: Bool)] {
    var found: [(String, Bool)] = []
    lua_pushnil(stack.L)
    while lua_next(stack.L, index) != 0 {
      if stack.type(-2) == LUA_TSTRING, let name = stack.string(-2), name.isLuaName {
        found.append((name, stack.type(-1) == LUA_TFUNCTION))
      }
      stack.pop()
    }
    return found
  }
}

extension String {
  /// `true` if the text is a name in Lua.
  public var isLuaName: Bool {
    guard let first = utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else {
      return false
    }
    return utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      default: false
      }
    }
  }
}
