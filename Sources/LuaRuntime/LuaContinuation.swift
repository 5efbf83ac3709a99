/// The handle of a suspended routine. Resumed once, on the loop's thread; later calls do nothing.
public final class LuaContinuation {
  private weak var routine: LuaRoutine?
  /// The function that suspended, and its state.
  private let function: LuaFunction
  private weak var state: LuaState?
  private var isSpent = false
  /// Cancels the work that the routine waits for; nil before it has begun and after its end.
  var cancelWork: (() -> Void)?
  /// The context of the routine from its resumption on; nil for the one that it has.
  public var context: (any Sendable)?

  init(routine: LuaRoutine, of call: LuaCall) {
    self.routine = routine
    (function, state) = (call.function, call.state)
  }

  /// Resumes the function that suspended with these results; the routine runs in a later turn of the loop.
  public func resume(returning values: [LuaValue]) { settle(.returning(values)) }

  /// Resumes the function that suspended with a raise of `error`.
  public func resume(throwing error: any Error) {
    let failure = LuaError(error)
    if !isSpent { state?.raises(failure, in: function) }
    settle(.raising(failure))
  }

  /// Detaches the continuation, whose routine continues elsewhere: a later resume has no effect. Calls
  /// `cancelWork`.
  func abandon() {
    guard !isSpent else { return }
    isSpent = true
    let cancelWork = cancelWork
    self.cancelWork = nil
    cancelWork?()
  }

  private func settle(_ outcome: LuaRoutine.Resumption) {
    guard !isSpent else { return }
    isSpent = true
    cancelWork = nil
    if let context { routine?.leadOn(with: context) }
    routine?.continued(with: outcome)
  }
}
