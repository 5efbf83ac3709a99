internal import CLua
internal import CLuaShim
internal import EventLoop

/// The stack of one Lua thread, by raw accessors: nothing here raises, as long as a Swift frame is counted
/// (`shim_state.swift_depth`), which holds in every entry from Lua and between slices. Only `text` may run
/// script code, protected and watched: no walk through a table spans a call of it.
struct Stack {
  let L: OpaquePointer

  var top: Int32 { lua_gettop(L) }
  func setTop(_ index: Int32) { lua_settop(L, index) }
  func pop(_ count: Int32 = 1) { lua_settop(L, -count - 1) }
  func type(_ index: Int32) -> Int32 { lua_type(L, index) }

  /// Returns the name in error messages of the type of the value at `index`: its class, or its Lua type.
  func typeName(_ index: Int32) -> String {
    if luaL_getmetafield(L, index, "__name") == LUA_TSTRING {
      defer { pop() }
      return string(-1) ?? "userdata"
    } else if lua_type(L, index) == LUA_TNONE {
      return "no value"
    }
    if lua_type(L, index) == LUA_TSTRING, let bytes = bytes(index),
      String(validating: bytes, as: UTF8.self) == nil
    {
      return "a string that is not UTF-8"
    }
    return String(cString: lua_typename(L, lua_type(L, index)))
  }

  /// Returns the string at `index`, not converted; invalid UTF-8 is replaced.
  func string(_ index: Int32) -> String? {
    guard lua_type(L, index) == LUA_TSTRING else { return nil }
    return bytes(index).map { String(decoding: $0, as: UTF8.self) }
  }

  /// Returns the bytes of the string at `index`; valid while the string is on the stack.
  func bytes(_ index: Int32) -> UnsafeBufferPointer<UInt8>? {
    guard lua_type(L, index) == LUA_TSTRING else { return nil }
    var size = 0
    guard let text = lua_tolstring(L, index, &size) else { return nil }
    return UnsafeRawBufferPointer(start: text, count: size).bindMemory(to: UInt8.self)
  }

  func push(_ text: String) {
    var text = text
    text.withUTF8 { utf8 in
      utf8.withMemoryRebound(to: CChar.self) { _ = lua_pushlstring(L, $0.baseAddress, $0.count) }
    }
  }

  /// Reserves room for `count` more values; `false` when the script's stack is full.
  func reserve(_ count: Int) -> Bool { lua_checkstack(L, Int32(clamping: count)) != 0 }
}

extension Stack {
  /// Pushes a value, which needs one slot: values of several parts are built on the main thread's stack, as a
  /// script may have filled this one.
  func push(_ value: LuaValue, in state: LuaState) {
    switch value {
    case .list, .record, .numbered, .error:
      let main = state.main
      guard main.L != L else {
        // A table, a key and a value; each nested table reserves its own slots.
        guard reserve(4) else { return lua_pushnil(L) }
        break
      }
      main.push(value, in: state)
      return lua_xmove(main.L, L, 1)
    default: break
    }
    switch value {
    case .nil: lua_pushnil(L)
    case .bool(let value): lua_pushboolean(L, value ? 1 : 0)
    case .int(let value): lua_pushinteger(L, lua_Integer(value))
    case .number(let value): lua_pushnumber(L, value)
    case .string(let text): push(text)
    case .bytes(let bytes):
      bytes.withUnsafeBytes { raw in
        _ = lua_pushlstring(L, raw.bindMemory(to: CChar.self).baseAddress, raw.count)
      }
    case .list(let values):
      lua_createtable(L, Int32(clamping: values.count), 0)
      for (index, value) in values.enumerated() {
        push(value, in: state)
        lua_rawseti(L, -2, lua_Integer(index + 1))
      }
    case .record(let fields):
      lua_createtable(L, 0, Int32(clamping: fields.count))
      for field in fields { setField(field.name, field.value, in: state) }
    case .described(let fields):
      push(.record(fields), in: state)
      shim_describe(L)
    case .numbered(let entries):
      lua_createtable(L, 0, Int32(clamping: entries.count))
      for entry in entries {
        push(entry.value, in: state)
        lua_rawseti(L, -2, lua_Integer(entry.key))
      }
    case .reference(let reference):
      if reference.belongs(to: state.references) {
        lua_rawgeti(L, registryIndex, lua_Integer(reference.slot))
      } else {
        lua_pushnil(L)
      }
    case .object(let object):
      // Released by `release` in LuaFunction.swift, when Lua collects the userdata.
      let retained = Unmanaged.passRetained(object.object).toOpaque()
      shim_push_object(L, object.type, retained)
    case .error(let error): push(error, in: state)
    }
  }

  /// Sets a field of the table on the top.
  func setField(_ name: String, _ value: LuaValue, in state: LuaState) {
    push(name)
    push(value, in: state)
    lua_rawset(L, -3)
  }

  /// Returns the entries of the table at `index`, in no particular order.
  /// - Returns: nil when there are more than `limit`, or more than 16 MiB of texts, which the host copies.
  func entries(_ index: Int32, limit: Int, in state: LuaState) -> [(key: LuaValue, value: LuaValue)]? {
    guard reserve(4) else { return nil }
    let table = lua_absindex(L, index)
    var entries: [(key: LuaValue, value: LuaValue)] = []
    var size = 0
    lua_pushnil(L)
    while lua_next(L, table) != 0 {
      size += (bytes(-2)?.count ?? 0) + (bytes(-1)?.count ?? 0)
      guard entries.count < limit, size <= 16 << 20 else {
        pop(2)
        return nil
      }
      entries.append((value(-2, in: state), value(-1, in: state)))
      pop()
    }
    return entries
  }

  /// Pushes the value that the script raised, or a new error object. On the main thread's stack.
  private func push(_ error: LuaError, in state: LuaState) {
    if let value = error.value, value.belongs(to: state.references) {
      return push(.reference(value), in: state)
    }
    lua_createtable(L, 0, 6)
    setField("code", .string(error.code), in: state)
    setField("message", .string(error.message), in: state)
    if let hint = error.hint { setField("hint", .string(hint), in: state) }
    if let location = error.location { setField("where", .string(location), in: state) }
    if let traceback = error.traceback { setField("traceback", .string(traceback), in: state) }
    for fact in error.facts { setField(fact.name, LuaValue(fact.value), in: state) }
    shim_make_error(L)
  }

  /// Returns the value at `index`: plain values by value, all else by reference.
  func value(_ index: Int32, in state: LuaState) -> LuaValue {
    switch lua_type(L, index) {
    case LUA_TNIL, LUA_TNONE: return .nil
    case LUA_TBOOLEAN: return .bool(lua_toboolean(L, index) != 0)
    case LUA_TNUMBER:
      if lua_isinteger(L, index) != 0 { return .int(Int(lua_tointegerx(L, index, nil))) }
      return .number(lua_tonumberx(L, index, nil))
    case LUA_TSTRING:
      guard let bytes = bytes(index) else { return .nil }
      return String(validating: bytes, as: UTF8.self).map { .string($0) } ?? .bytes(Array(bytes))
    default: return .reference(reference(index, in: state))
    }
  }

  /// Returns a reference to the value at `index`.
  func reference(_ index: Int32, in state: LuaState) -> LuaReference {
    lua_pushvalue(L, index)
    return LuaReference(slot: luaL_ref(L, registryIndex), pool: state.references)
  }

  /// Pops the error on the top: an error object by its fields, or a raised text.
  func takeError(status: Int32, in state: LuaState) -> LuaError {
    defer { pop() }
    let at = top
    var error = LuaError(code: "script.error", message: "")
    if lua_type(L, at) == LUA_TNIL {
      error.message = "an error without a message"
    } else if shim_is_error(L, at) || lua_type(L, at) == LUA_TTABLE {
      error.code = field("code", at) ?? error.code
      error.message = field("message", at) ?? text(at)
      error.hint = field("hint", at)
      error.location = field("where", at)
      error.traceback = field("traceback", at)
    } else {
      error.message = text(at)
      error.hint = state.requireHint(for: error.message)
    }
    error.value = reference(at, in: state)
    shim_push_traceback(L)
    if let traceback = string(-1), error.traceback == nil { error.traceback = traceback }
    pop()
    error.findLocation()
    return error
  }

  /// Sets the location of the error object at the top, unless it has one.
  func locate(at place: String) {
    guard shim_is_error(L, top), (field("where", top) ?? "").isEmpty else { return }
    push("where")
    push(place)
    lua_rawset(L, -3)
  }

  /// Returns the result of `tostring` for the value at `index`; never raises.
  func text(_ index: Int32) -> String {
    shim_tostring(L, index)
    defer { pop() }
    return string(-1) ?? "?"
  }

  private func field(_ name: String, _ table: Int32) -> String? {
    push(name)
    defer { pop() }
    lua_rawget(L, table)
    return string(-1)
  }
}

extension LuaValue {
  /// The Lua value of a fact of an error.
  init(_ fact: ErrorFact.Value) {
    switch fact {
    case .string(let text): self = .string(text)
    case .int(let value): self = .int(value)
    case .number(let value): self = .number(value)
    case .bool(let value): self = .bool(value)
    case .strings(let values): self = .list(values.map { .string($0) })
    }
  }
}

/// The index of the registry, which no script sees.
let registryIndex = Int32(SHIM_REGISTRY)
