internal import EventLoop
internal import JSONText
internal import LuaRuntime

/// `json`: values as JSON text and back.
final class JSONModule {
  /// The most bytes of a text that is read or written: as values such a text needs a few hundred megabytes.
  static let largestText = 4 << 20

  private let nullClass: LuaClass<JSONNull>
  /// The only null, so that `==` holds in scripts.
  private let null = JSONNull()

  private init(_ nullClass: LuaClass<JSONNull>) { self.nullClass = nullClass }

  /// Registers the module.
  /// - Returns: the module, which also writes the bodies of requests.
  static func register(in script: Script) throws -> JSONModule {
    let module = JSONModule(try LuaClass("json.null", in: script.state) { _ in "null" })
    script.keep(module)
    script.state.register(
      "json",
      [
        LuaFunction("encode", arity: 2) { [unowned module] call in
          let pretty = try call.options(2, ["pretty"]).bool("pretty") ?? false
          guard call.count >= 1 else { throw call.mismatch(1, "value") }
          return call.return(
            .bytes(try module.text(1, of: call, in: "json.encode", called: "value", pretty: pretty)))
        },
        LuaFunction("decode", arity: 1) { [unowned module] call in try module.decode(call) },
      ], values: [("null", module.nullClass(module.null))])
    return module
  }

  /// Returns an argument as JSON, as `json.encode` does.
  /// - Parameters:
  ///   - function: the name that begins the message of an error.
  ///   - name: the root of the path to a part that has no form in JSON.
  /// - Throws: `json.too_large`, `json.not_json`.
  func text(
    _ number: Int, of call: LuaCall, in function: String, called name: String, pretty: Bool = false
  ) throws -> [UInt8] {
    do throws(JSONProblem) {
      return try call.json(number, called: name, limit: Self.largestText, pretty: pretty, null: nullClass)
    } catch {
      switch error {
      case .tooLong:
        throw LuaError(
          code: "json.too_large", message: "\(function): the \(name) takes more than 4 MiB as JSON")
      case .unwritable(let place, let reason):
        throw LuaError(code: "json.not_json", message: "\(function): \(place) \(reason)")
      }
    }
  }

  /// `decode(text)`
  private func decode(_ call: LuaCall) throws -> LuaReturn {
    let count = call.length(1)
    guard count <= Self.largestText else {
      throw LuaError(
        code: "json.too_large", message: "json.decode: the text has \(count) bytes, of at most 4 MiB")
    }
    let text = try call.bytes(1)
    do throws(JSONSyntaxError) {
      return call.return(LuaValue(try JSON.parse(text), null: nullClass(null)))
    } catch {
      throw LuaError(
        code: "json.syntax",
        message: "json.decode: line \(error.line), column \(error.column): \(error.reason.onOneLine)")
    }
  }
}
