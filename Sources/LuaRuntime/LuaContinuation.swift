/// The handle of a suspended routine. Resumed once, on the loop's thread; later calls do nothing.
public final class LuaContinuation {
  private weak var routine: LuaRoutine?
  /// The function that suspended, and its state.
  private let function: LuaFunction
  private weak var state: LuaState?
  private var isSpent = false
  var onCancel: (() -> Void)?
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
    if !isSpent, let name = function.definition { state?.onRaise?(name, failure.code) }
    if !isSpent { state?.onRefusal(function.name, failure) }
    settle(.raising(failure))
  }

  /// Detaches the continuation, whose routine continues elsewhere: a later resume has no effect. Calls
  /// `onCancel`.
  func abandon() {
    guard !isSpent else { return }
    isSpent = true
    let onCancel = onCancel
    self.onCancel = nil
    onCancel?()
  }

  private func settle(_ outcome: LuaRoutine.Resumption) {
    guard !isSpent else { return }
    isSpent = true
    onCancel = nil
    if let context { routine?.leadOn(with: context) }
    routine?.continued(with: outcome)
  }
}
