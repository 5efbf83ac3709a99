/// A call that waits for its result, which may arrive before the call is suspended. Confined to the loop.
public final class PendingCall<Value: Sendable> {
  private enum Phase {
    case begun
    case suspended(CheckedContinuation<Value, any Error>)
    case settled(Result<Value, any Error>)
  }

  private var phase = Phase.begun
  private var onCancel: (() -> Void)?

  /// Creates a call without a result.
  public init() {}

  /// Ends the call with its first result; later ones are ignored.
  public func settle(_ result: Result<Value, any Error>) {
    onCancel = nil
    switch phase {
    case .begun: phase = .settled(result)
    case .suspended(let continuation):
      phase = .settled(result)
      continuation.resume(with: result)
    case .settled: break
    }
  }

  /// Suspends the task until there is a result. Called once.
  /// - Parameter onCancel: called on the loop if the task is cancelled before; it settles the call, sooner or
  ///   later. Nil settles it with `CancellationError`.
  public func result(on loop: EventLoop, onCancel: (() -> Void)? = nil) async throws -> Value {
    self.onCancel = onCancel
    let this = LoopReference(self)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { suspend($0) }
    } onCancel: {
      loop.post { this.object?.cancel() }
    }
  }

  private func suspend(_ continuation: CheckedContinuation<Value, any Error>) {
    if case .settled(let result) = phase { return continuation.resume(with: result) }
    phase = .suspended(continuation)
  }

  private func cancel() {
    if case .settled = phase { return }
    if let onCancel { onCancel() } else { settle(.failure(CancellationError())) }
  }
}

/// Calls that wait for one event; each may be cancelled, or end at its own time. Confined to the loop.
public final class PendingCalls<Value: Sendable> {
  private var calls = Listeners<PendingCall<Value?>>()

  /// Creates an empty set.
  public init() {}

  /// Ends all calls, in the order of their beginning.
  public func settle(_ result: Result<Value, any Error>) {
    for call in calls.removeAll() { call.settle(result.map { $0 }) }
  }

  /// Waits for the event.
  /// - Parameters:
  ///   - timeout: the longest wait; nil for no limit.
  ///   - onCancel: as in `PendingCall.result`, with the call to settle.
  /// - Returns: the value; nil after the timeout.
  /// - Throws: the error of `settle`; `CancellationError`.
  @discardableResult
  public func wait(
    on loop: EventLoop, timeout: Duration? = nil, onCancel: ((PendingCall<Value?>) -> Void)? = nil
  ) async throws -> Value? {
    let call = PendingCall<Value?>()
    let number = calls.add(call)
    let timer = timeout.map { loop.after($0) { [weak call] in call?.settle(.success(nil)) } }
    defer {
      timer?.cancel()
      calls.remove(number)
    }
    return try await call.result(
      on: loop, onCancel: onCancel.map { body in { [unowned call] in body(call) } })
  }
}
