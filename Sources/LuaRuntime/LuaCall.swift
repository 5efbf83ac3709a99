internal import CLua
internal import CLuaShim
internal import EventLoop

/// A call from Lua, valid while the function's body runs: arguments in, results out.
public struct LuaCall {
  let stack: Stack
  // Unretained: the state keeps its functions, and a call ends before its state.
  private let calledFunction: Unmanaged<LuaFunction>

  init(stack: Stack, function: Unmanaged<LuaFunction>) {
    self.stack = stack
    calledFunction = function
  }

  /// The calling state.
  public var state: LuaState { LuaState.running(stack.L) }
  var function: LuaFunction { calledFunction.takeUnretainedValue() }

  /// The name of the called function in the definitions of the Lua API; nil if it is not described.
  public var definition: String? { function.definition }

  /// The number of arguments, including nils between them.
  public var count: Int { Int(stack.top) }

  /// `true` if argument `number` is missing or nil.
  public func isNil(_ number: Int) -> Bool { lua_type(stack.L, Int32(number)) <= LUA_TNIL }

  /// Ends the call with these results.
  public func `return`(_ values: LuaValue...) -> LuaReturn { results(values) }

  /// Ends the call with these results.
  public func results(_ values: [LuaValue]) -> LuaReturn {
    // Lua guarantees twenty slots to every function; the script's stack may have no room for more.
    guard values.count <= 16 || stack.reserve(values.count) else {
      return LuaReturn(code: fail(Self.stackOverflow(values.count)))
    }
    for value in values { stack.push(value, in: state) }
    return LuaReturn(code: Int32(values.count))
  }

  static func stackOverflow(_ count: Int) -> LuaError {
    LuaError(code: "script.stack", message: "no room for \(count) values on the script's stack")
  }

  /// Ends the call with a number, in the fastest way.
  public func `return`(_ value: Int) -> LuaReturn {
    lua_pushinteger(stack.L, lua_Integer(value))
    return LuaReturn(code: 1)
  }

  /// Ends the call with a boolean, in the fastest way.
  public func `return`(_ value: Bool) -> LuaReturn {
    lua_pushboolean(stack.L, value ? 1 : 0)
    return LuaReturn(code: 1)
  }

  /// `true` if the calling routine could suspend here.
  public var canSuspend: Bool { shim_can_suspend(stack.L) }

  /// Suspends the calling routine until the continuation is resumed.
  /// - Parameter start: begins the work, and returns the action that cancels it with the routine.
  /// - Throws: `task.cannot_suspend` inside a function that Lua's C code calls, and in a routine that may not
  ///   suspend.
  public func suspend(_ start: (LuaContinuation) throws -> (() -> Void)?) throws -> LuaReturn {
    guard canSuspend, let routine = state.running else {
      throw LuaError(
        code: "task.cannot_suspend",
        message: "'\(function.name)' takes time and can't be called from inside a function of Lua's own",
        hint: "call it outside of sort and gsub functions, __tostring and coroutine.close")
    }
    guard routine.maySuspend else {
      throw LuaError(
        code: "task.cannot_suspend",
        message: "'\(function.name)' takes time and can't be called in \(routine.name), which is waited for",
        hint: "start it with task.spawn")
    }
    let continuation = LuaContinuation(routine: routine, of: self)
    continuation.cancelWork = try start(continuation)
    state.pendingContinuation = continuation
    return LuaReturn(code: Int32(SHIM_SUSPEND))
  }

  /// Suspends the calling routine until `operation`, which runs on the loop, has ended; a cancel of the
  /// routine cancels it.
  public func suspend(_ operation: @escaping () async throws -> [LuaValue]) throws -> LuaReturn {
    let loop = state.loop
    return try suspend { continuation in
      let task = loop.start {
        do {
          continuation.resume(returning: try await operation())
        } catch {
          continuation.resume(throwing: error)
        }
      }
      return { task.cancel() }
    }
  }

  /// Suspends the calling routine until `operation` has ended, then runs the function's body again with
  /// the same arguments: for a resource that must be ready before a function can begin.
  public func suspendThenAgain(_ operation: @escaping () async throws -> Void) throws -> LuaReturn {
    _ = try suspend {
      try await operation()
      return []
    }
    return LuaReturn(code: Int32(SHIM_SUSPEND_THEN_AGAIN))
  }

  /// Pushes the error that the body threw, and returns the code for a raise.
  func fail(_ error: any Error) -> Int32 {
    if state.pendingContinuation != nil { state.pendingContinuation = nil }
    var failure: LuaError
    if let misuse = error as? ArgumentError {
      failure =
        calledWithColon ?? misuse.error(of: function, asMethod: shim_called_as_method(stack.L))
    } else {
      failure = LuaError(error)
    }
    state.raises(failure, in: function)
    if failure.code == "script.exit" { state.beginUnwinding() }
    if failure.value == nil { failure.traceback = nil }
    stack.push(.error(failure), in: state)
    return Int32(SHIM_RAISE)
  }
}
