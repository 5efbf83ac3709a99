internal import CLua

extension LuaState {
  /// `true` if a module that the script has loaded could come from the file at `path`: by the patterns of `package.path`,
  /// also when the file is new or gone, as it may stand before another one.
  public func requires(file path: String) -> Bool {
    guard !isClosed else { return false }
    let stack = main
    let top = stack.top
    defer { stack.setTop(top) }
    stack.pushGlobals()
    stack.push("package")
    lua_rawget(stack.L, -2)
    guard stack.type(-1) == LUA_TTABLE else { return false }
    stack.push("path")
    lua_rawget(stack.L, -2)
    let patterns = (stack.string(-1) ?? "").split(separator: ";").map {
      $0.split(separator: "?", maxSplits: 1)
    }
    luaL_getsubtable(stack.L, registryIndex, LUA_LOADED_TABLE)
    return (stack.entries(-1, limit: 10_000, in: self) ?? []).contains { entry in
      guard case .string(let name) = entry.key else { return false }
      let file = name.split(separator: ".", omittingEmptySubsequences: false).joined(separator: "/")
      return patterns.contains { $0.count == 2 && path == "\($0[0])\(file)\($0[1])" }
    }
  }
}
