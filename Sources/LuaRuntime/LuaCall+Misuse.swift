internal import CLua
internal import CLuaShim
internal import EventLoop

// Misuse that is independent of the function: too many arguments, a dot for a colon, a colon for a dot.

/// Misuse of a function, before the form of the call is known.
struct ArgumentError: Error {
  /// The argument's number, from 1, with the object of a method as 1.
  let number: Int
  /// The problem, as in `0 to 50 expected, got 51`.
  let problem: String
  let code: String
  let hint: String?

  /// Returns the error for the form of the call. As in Lua, a method's own object is not counted.
  func error(of function: LuaFunction, asMethod: Bool) -> LuaError {
    if asMethod && number == 1 {
      return LuaError(code: "argument", message: "calling '\(function.name)' on a bad self (\(problem))")
    }
    let isDotted = function.isMethod && !asMethod && number == 1
    var error = LuaError.argument(asMethod ? number - 1 : number, of: function.name, problem)
    error.code = code
    error.hint = isDotted ? "call it with a colon: object:\(function.name)(…)" : hint
    return error
  }
}

extension LuaCall {
  /// Throws for more arguments than the function accepts. Trailing nils do not count; calls by the host, as
  /// to a listener, may have more.
  func refuseSurplus() throws {
    var given = count
    while given > 0 && isNil(given) { given -= 1 }
    guard given > function.most, shim_has_caller(stack.L) else { return }
    if let error = calledWithColon { throw error }
    let own = function.isMethod ? 1 : 0
    let taken = Int(function.most) - own
    let words =
      switch taken {
      case 0: "takes no argument"
      case 1: "takes one argument, got \(given - own)"
      default: "takes at most \(taken) arguments, got \(given - own)"
      }
    throw LuaError(code: "argument", message: "'\(function.name)' \(words)", hint: function.advice)
  }

  /// The error for `module:function(…)`, nil for any other call.
  var calledWithColon: LuaError? {
    guard let module = function.module, lua_type(stack.L, 1) == LUA_TTABLE, shim_called_as_method(stack.L)
    else { return nil }
    return LuaError(
      code: "argument",
      message: "'\(function.name)' is called with a dot: \(module).\(function.name)(…)")
  }
}
