internal import CLuaShim
internal import EventLoop

/// The Lua type of a Swift class: a userdata with fields to read and methods to call, one for each object.
///
/// An unknown name raises and suggests the nearest; an assignment to a field raises and names its setter.
public final class LuaClass<Object: AnyObject> {
  /// The name of the class in scripts: `speaker`, `session`.
  public let name: String
  /// The name in the definitions of the Lua API: `speaker.Session`; nil if it is not described.
  public let definition: String?
  let type: Int32
  var object: Object.Type { Object.self }
  private unowned let state: LuaState
  private let names: Names

  /// The names that the functions for unknown names use.
  private final class Names {
    var fields: [String] = []
    var methods: [String] = []
    var setters: [String: String] = [:]
    /// The reasons why fields can't be read, by name.
    var secrets: [String: String] = [:]
  }

  /// Defines the class in `state`.
  /// - Parameters:
  ///   - definition: the name in the definitions of the Lua API.
  ///   - describe: returns the line for `tostring`.
  public init(
    _ name: String, as definition: String? = nil, in state: LuaState, describe: @escaping (Object) -> String
  ) throws(LuaError) {
    self.name = name
    self.definition = definition
    self.state = state
    let names = Names()
    self.names = names
    let unknownName = LuaFunction(name) { call in
      let key = call.stack.string(2) ?? call.stack.text(2)
      let known = names.fields + names.methods
      if let why = names.secrets[key] {
        throw LuaError(code: "argument", message: "the field '\(key)' of a \(name) can't be read: \(why)")
      }
      var error = LuaError(
        code: "argument", message: unknown("field or method of a \(name)", key, among: known))
      error.location = nil
      throw error
    }
    let assign = LuaFunction(name) { call in
      let key = call.stack.string(2) ?? call.stack.text(2)
      let setter = names.setters[key] ?? (names.methods.contains("set_\(key)") ? "set_\(key)" : nil)
      guard names.fields.contains(key) || names.secrets[key] != nil else {
        let hint =
          setter.map { "call :\($0)(…)" } ?? (names.methods.contains(key) ? "call :\(key)(…)" : nil)
        throw LuaError(code: "argument", message: "a \(name) can't be given a field '\(key)'", hint: hint)
      }
      let advice = setter.map { "call :\($0)(…) to change it" } ?? "it can't be changed"
      let use = names.secrets[key] == nil ? "for reading" : "secret"
      throw LuaError(code: "argument", message: "the field '\(key)' of a \(name) is \(use); \(advice)")
    }
    var type: Int32 = -1
    let description = LuaFunction("tostring") { call in
      guard let raw = shim_test_object(call.stack.L, 1, type) else { return call.return(.string(name)) }
      let object = unsafeDowncast(Unmanaged<AnyObject>.fromOpaque(raw).takeUnretainedValue(), to: Object.self)
      return call.return(.string(describe(object).onOneLine))
    }
    type = shim_new_type(
      state.main.L, name, state.box(unknownName), state.box(assign), state.box(description))
    guard type >= 0 else { throw LuaError(code: "script.memory", message: "no memory for the class \(name)") }
    self.type = type
    if let definition { shim_define_type(state.main.L, type, definition) }
    state.classes[name] = type
  }

  /// Returns the value of `object`: the same userdata every time, as long as Lua holds it.
  public func callAsFunction(_ object: Object) -> LuaValue { .object(LuaObject(type: type, object: object)) }

  /// Returns the object of a value, nil when it has another type.
  public func object(of value: LuaValue) -> Object? {
    guard case .reference = value else { return nil }
    let stack = state.main
    stack.push(value, in: state)
    defer { stack.pop() }
    guard let raw = shim_test_object(stack.L, -1, type) else { return nil }
    return unsafeDowncast(Unmanaged<AnyObject>.fromOpaque(raw).takeUnretainedValue(), to: Object.self)
  }

  /// Adds a field.
  /// - Parameter changedBy: the method that the error of an assignment names, if that is not `set_` and the
  ///   name.
  public func field(
    _ name: String, changedBy: String? = nil, _ get: @escaping (Object, LuaCall) throws -> LuaReturn
  ) {
    names.fields.append(name)
    names.setters[name] = changedBy
    let function = LuaFunction(name, calling(get))
    function.definition = definition.map { "\($0).\(name)" }
    shim_add_field(state.main.L, type, name, state.box(function))
  }

  /// Defines a field that can't be read and that only a method sets, with the reason for its error.
  public func secret(_ name: String, why: String) { names.secrets[name] = why }

  /// Adds a method; its arguments begin at 2.
  /// - Parameters:
  ///   - count: the most arguments beside the object; nil for any number.
  ///   - advice: the hint of the error for more arguments.
  public func method(
    _ name: String, arity count: Int? = nil, advice: String? = nil,
    _ body: @escaping (Object, LuaCall) throws -> LuaReturn
  ) {
    if !name.hasPrefix("__") { names.methods.append(name) }
    let function = LuaFunction(name, arity: count, advice: advice, isMethod: true, calling(body))
    function.definition = definition.map { "\($0):\(name)" }
    shim_add_method(state.main.L, type, name, state.box(function))
  }

  /// Returns a function's body that passes the object, its first argument.
  private func calling(
    _ body: @escaping (Object, LuaCall) throws -> LuaReturn
  ) -> (LuaCall) throws -> LuaReturn {
    let (type, name) = (type, name)
    return { call in
      guard let raw = shim_test_object(call.stack.L, 1, type) else { throw call.mismatch(1, name) }
      // Not retained during the call: the userdata, an argument on the stack, keeps the object.
      return try Unmanaged<AnyObject>.fromOpaque(raw)._withUnsafeGuaranteedRef {
        try body(unsafeDowncast($0, to: Object.self), call)
      }
    }
  }

  /// The names of the fields and of the methods, in order of definition.
  public var members: (fields: [String], methods: [String]) { (names.fields, names.methods) }
}
