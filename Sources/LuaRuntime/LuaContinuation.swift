/// The handle of a suspended routine. Resumed once, on the loop's thread; later calls do nothing.
public final class LuaContinuation {
  private weak var routine: LuaRoutine?
  private var isSpent = false
  var onCancel: (() -> Void)?

  init(routine: LuaRoutine) { self.routine = routine }

  /// Resumes the function that suspended with these results; the routine runs in a later turn of the loop.
  public func resume(returning values: [LuaValue]) { settle(.returning(values)) }

  /// Resumes the function that suspended with a raise of `error`.
  public func resume(throwing error: any Error) { settle(.raising(LuaError(error))) }

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
    routine?.continued(with: outcome)
  }
}
