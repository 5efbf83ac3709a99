internal import EventLoop
internal import Home
internal import LuaRuntime

/// `store`: values that a script finds again the next time it runs.
struct StoreModule {
  /// The most bytes of JSON of one value.
  static let largestValue = 1 << 20
  /// The most bytes of a key.
  static let longestKey = 1024

  private let store: ScriptStore
  /// The identity of the script.
  private let script: String

  static func register(in script: Script, store: ScriptStore) {
    let module = StoreModule(store: store, script: script.identity)
    script.state.register(
      "store",
      [
        LuaFunction("get", arity: 2, module.get), LuaFunction("set", arity: 2, module.set),
        LuaFunction("delete", arity: 1, module.delete),
        LuaFunction("keys", arity: 1, module.keys),
      ])
  }

  private func get(_ call: LuaCall) throws -> LuaReturn {
    let key = try key(call)
    guard let text = try store.text(key, of: script) else { return call.return(call.value(2)) }
    guard let value = LuaValue(json: text) else { throw store.damaged(key) }
    return call.return(value)
  }

  private func set(_ call: LuaCall) throws -> LuaReturn {
    let key = try key(call)
    guard call.count >= 2 else { throw call.mismatch(2, "value") }
    if call.isNil(2) {
      _ = try store.remove(key, of: script)
      return .none
    }
    let text = String(decoding: try json(call, key), as: UTF8.self)
    try store.set(key, to: text, of: script, limit: call.state.limits.store)
    return .none
  }

  private func json(_ call: LuaCall, _ key: String) throws -> [UInt8] {
    do throws(JSONProblem) {
      return try call.json(2, called: "value", limit: Self.largestValue)
    } catch {
      switch error {
      case .tooLong:
        throw LuaError(
          code: "store.too_large",
          message: "store.set: the value of \"\(key.onOneLine)\" exceeds 1 MiB as JSON",
          hint: "keep it under several keys, or in a file")
      case .unwritable(let path, let reason):
        throw LuaError(code: "store.not_storable", message: "store.set: \(path) \(reason)")
      }
    }
  }

  private func delete(_ call: LuaCall) throws -> LuaReturn {
    call.return(try store.remove(try key(call), of: script))
  }

  private func keys(_ call: LuaCall) throws -> LuaReturn {
    let prefix = call.isNil(1) ? "" : try key(call)
    return call.return(.list(try store.keys(of: script, prefix: prefix).map { .string($0) }))
  }

  private func key(_ call: LuaCall) throws -> String {
    guard call.length(1) <= Self.longestKey else {
      throw call.problem(1, "at most \(Self.longestKey) bytes expected")
    }
    return try call.string(1)
  }
}
