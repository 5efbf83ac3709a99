internal import CLua
internal import CLuaShim
internal import EventLoop
internal import Glibc

/// The host's part of `require`: waits for a routine that already loads the module, supplies modules inside
/// the program, and suggests names.
extension LuaState {
  func installRequire() {
    let wait = LuaFunction("require") { call in
      let name = try call.shownText(1)
      return try call.suspend { continuation in
        call.state.moduleWaiters[name, default: []].append(continuation)
        return nil
      }
    }
    let loaded = LuaFunction("require") { call in
      for waiter in call.state.moduleWaiters.removeValue(forKey: try call.shownText(1)) ?? [] {
        waiter.resume(returning: [])
      }
      return .none
    }
    let library = LuaFunction("require") { call in
      guard let (text, chunkName) = call.state.libraryModule(try call.shownText(1)) else {
        return call.return(.nil, .nil)
      }
      return call.return(.bytes(text), .string(chunkName))
    }
    let missing = LuaFunction("require") { call in
      let name = try call.shownText(1)
      // The script itself is a file of that name, but not a module.
      let near = nearest(name, among: call.state.knownModules.filter { $0 != name })
      throw LuaError(
        code: "script.module", message: try call.shownText(2), hint: near.map { "did you mean '\($0)'?" })
    }
    shim_set_require(main.L, box(library), box(wait), box(loaded), box(missing))
  }

  /// Returns the hint for Lua's message that a global is nil, if a module has the name of the global;
  /// otherwise nil.
  func requireHint(for message: String) -> String? {
    guard let start = message.firstRange(of: "a nil value (global '")?.upperBound,
      let end = message[start...].firstIndex(of: "'")
    else { return nil }
    let name = String(message[start..<end])
    guard hasModule(name) else { return nil }
    return "local \(name) = require \"\(name)\""
  }

  /// Returns `true` if the library has the module, or it is loaded: `require` then searches no file.
  public func hasModule(_ name: String) -> Bool {
    libraryModules.contains(name) || loadedModules.contains(name)
  }

  private var loadedModules: Set<String> {
    let stack = main
    luaL_getsubtable(stack.L, registryIndex, LUA_LOADED_TABLE)
    defer { stack.pop() }
    return Set(
      (stack.entries(-1, limit: 1000, in: self) ?? []).compactMap { entry in
        if case .string(let name) = entry.key, name != "_G" { name } else { nil }
      })
  }

  /// The names of modules that are loaded, and of files that could be.
  private var knownModules: [String] {
    let stack = main
    var names = loadedModules.union(libraryModules)
    stack.pushGlobals()
    stack.push("package")
    lua_rawget(stack.L, -2)
    if stack.type(-1) == LUA_TTABLE {
      stack.push("path")
      lua_rawget(stack.L, -2)
      for pattern in (stack.string(-1) ?? "").split(separator: ";").prefix(16)
      where pattern.hasSuffix("/?.lua") {
        names.formUnion(Self.modules(in: String(pattern.dropLast("?.lua".count))))
      }
      stack.pop()
    }
    stack.pop(2)
    return names.sorted()
  }

  private static func modules(in folder: String) -> [String] {
    let names = (try? LinuxFiles.names(in: folder)) ?? []
    return names.lazy.filter { $0.hasSuffix(".lua") }.prefix(1000).map { String($0.dropLast(4)) }
  }
}

extension LuaState {
  /// `true` if a module that the script has loaded could come from the file at `path`, by the patterns of
  /// `package.path`. The file may be new or gone, since it may precede the file that was found.
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
