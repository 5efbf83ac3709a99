/// What a suspended routine waits for. Resumed once, on the loop's thread; later calls do nothing.
public final class LuaContinuation {
  private weak var routine: LuaRoutine?
  private var isSpent = false
  var onCancel: (() -> Void)?

  init(routine: LuaRoutine) { self.routine = routine }

  /// Lets the function that suspended return these values; the routine runs in a later turn of the loop.
  public func resume(returning values: [LuaValue]) { settle(.returning(values)) }

  /// Lets the function that suspended raise `error`.
  public func resume(throwing error: any Error) { settle(.raising(LuaError(error))) }

  /// The routine goes another way: what is resumed later is dropped.
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
