internal import CLua
internal import CLuaShim

/// A Swift function that scripts call.
public final class LuaFunction {
  /// Its name in error messages.
  public let name: String
  let body: (LuaCall) throws -> LuaReturn

  /// - Parameters:
  ///   - name: as scripts call it.
  ///   - body: runs on the loop's thread; what it throws is raised at the caller's line.
  public init(_ name: String, _ body: @escaping (LuaCall) throws -> LuaReturn) {
    self.name = name
    self.body = body
  }
}

/// What a function called from Lua ends with; made by `LuaCall.return` and `LuaCall.suspend`.
public struct LuaReturn: Sendable {
  let code: Int32
  /// No results.
  public static let none = LuaReturn(code: 0)
}

/// What the shim calls, the same for all states. No Lua error crosses any of these.
let shimHost = shim_host(
  call: { L, box in
    guard let L, let box else { return 0 }
    let function = Unmanaged<LuaFunction>.fromOpaque(box)
    return function._withUnsafeGuaranteedRef { function in
      let call = LuaCall(stack: Stack(L: L), function: Unmanaged.passUnretained(function))
      do {
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
  }
)

extension LuaState {
  /// The state that `L` belongs to.
  static func running(_ L: OpaquePointer) -> LuaState {
    // Set right after the state was opened, and the object closes the state before it ends.
    Unmanaged<LuaState>.fromOpaque(shim_owner(L)).takeUnretainedValue()
  }
}
