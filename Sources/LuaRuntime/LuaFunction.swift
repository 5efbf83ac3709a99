internal import CLua
internal import CLuaShim

/// A Swift function that scripts can call.
public final class LuaFunction {
  /// The name in error messages.
  public let name: String
  /// The most arguments, the object of a method included.
  let most: Int32
  let isMethod: Bool
  /// The hint of the error for more arguments.
  let advice: String?
  /// The module of the function, if any.
  var module: String?
  /// The name in the definitions of the Lua API: `speaker.Session:pause`; nil if it is not described.
  var definition: String?
  let body: (LuaCall) throws -> LuaReturn

  /// - Parameters:
  ///   - name: the name in scripts.
  ///   - count: the most arguments; nil for any number.
  ///   - advice: the hint of the error for more arguments: `call unmute to undo it`.
  ///   - body: runs on the loop's thread; an error that it throws is raised at the caller's line.
  public convenience init(
    _ name: String, arity count: Int? = nil, advice: String? = nil,
    _ body: @escaping (LuaCall) throws -> LuaReturn
  ) {
    self.init(name, arity: count, advice: advice, isMethod: false, body)
  }

  init(
    _ name: String, arity count: Int?, advice: String?, isMethod: Bool,
    _ body: @escaping (LuaCall) throws -> LuaReturn
  ) {
    self.name = name
    most = count.map { Int32(clamping: $0 + (isMethod ? 1 : 0)) } ?? .max
    self.isMethod = isMethod
    self.advice = advice
    self.body = body
  }
}

/// The end of a call from Lua; made by `LuaCall.return` and `LuaCall.suspend`.
public struct LuaReturn: Sendable {
  let code: Int32
  /// An end without results.
  public static let none = LuaReturn(code: 0)
}

/// The shim's callbacks, the same for all states. No Lua error crosses any of these.
let shimHost = shim_host(
  call: { L, box in
    guard let L, let box else { return 0 }
    let function = Unmanaged<LuaFunction>.fromOpaque(box)
    return function._withUnsafeGuaranteedRef { function in
      let call = LuaCall(stack: Stack(L: L), function: Unmanaged.passUnretained(function))
      do {
        if lua_gettop(L) > function.most { try call.refuseSurplus() }
        return try function.body(call).code
      } catch {
        return call.fail(error)
      }
    }
  },
  release: { object in
    guard let object else { return }
    Unmanaged<AnyObject>.fromOpaque(object).release()
  },
  warn: { owner, text in
    guard let owner, let text else { return }
    Unmanaged<LuaState>.fromOpaque(owner)._withUnsafeGuaranteedRef { $0.onWarning(String(cString: text)) }
  },
  push_routine_name: { L, owner, thread in
    guard let L, let owner, let thread else { return }
    let name = Unmanaged<LuaState>.fromOpaque(owner)._withUnsafeGuaranteedRef { $0.routineName(thread) }
    Stack(L: L).push(name)
  },
  held: { owner in
    guard let owner else { return }
    Unmanaged<LuaState>.fromOpaque(owner)._withUnsafeGuaranteedRef { $0.reportHold() }
  }
)

extension LuaState {
  /// Returns the state of the Lua thread `L`.
  static func running(_ L: OpaquePointer) -> LuaState {
    // Set right after the state was opened; the object closes the state before it is released.
    Unmanaged<LuaState>.fromOpaque(shim_owner(L)).takeUnretainedValue()
  }
}
