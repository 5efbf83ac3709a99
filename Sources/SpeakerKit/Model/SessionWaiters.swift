internal import EventLoop

/// Result of waiting for the end of a source.
public enum FinishResult: Sendable, Equatable {
  /// No source was playing or paused.
  case idle
  /// The source has ended.
  case ended(EndReason)
  /// The timeout passed before the end.
  case timeout
}

/// Tasks that wait for the end of a session's source, or for a change that concerns a fade. Confined to the
/// loop.
struct SessionWaiters {
  /// Path to one of a session's sets of waiters.
  typealias Place = ReferenceWritableKeyPath<Session, SessionWaiters>

  private struct Waiter {
    let number: Int
    /// Continuation of the task; nil until it is suspended, some turns of the loop after the wait began.
    var continuation: CheckedContinuation<FinishResult, any Error>?
    /// Result that arrived before the continuation.
    var result: Result<FinishResult, any Error>?
    var timer: LoopTimer?
  }

  private var waiters: [Waiter] = []
  private var count = 0

  /// Waits in one of the sets of `session` until `wake`, the timeout, or the cancellation of the task.
  @discardableResult
  static func wait(on session: Session, _ place: Place, timeout: Duration?) async throws -> FinishResult {
    let number = session[keyPath: place].begin()
    session[keyPath: place].setTimer(
      number,
      timeout.map { timeout in
        session.loop.after(timeout) { [weak session] in
          session?[keyPath: place].settle(number, .success(.timeout))
        }
      })
    let cancellation = Cancellation(session, place, number)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { session[keyPath: place].suspend(number, $0) }
    } onCancel: {
      cancellation.cancel()
    }
  }

  /// Resumes all waiting tasks with `result`.
  mutating func wake(_ result: FinishResult) {
    for number in waiters.map(\.number) { settle(number, .success(result)) }
  }

  private mutating func begin() -> Int {
    count += 1
    waiters.append(Waiter(number: count))
    return count
  }

  private mutating func setTimer(_ number: Int, _ timer: LoopTimer?) {
    guard let index = index(of: number) else { return }
    waiters[index].timer = timer
  }

  private mutating func suspend(
    _ number: Int, _ continuation: CheckedContinuation<FinishResult, any Error>
  ) {
    guard let index = index(of: number) else { return }
    guard let result = waiters[index].result else {
      waiters[index].continuation = continuation
      return
    }
    waiters.remove(at: index)
    continuation.resume(with: result)
  }

  /// Resumes a waiter with its first result; ignores later ones.
  private mutating func settle(_ number: Int, _ result: Result<FinishResult, any Error>) {
    guard let index = index(of: number), waiters[index].result == nil else { return }
    waiters[index].timer?.cancel()
    guard let continuation = waiters[index].continuation else {
      waiters[index].result = result
      return
    }
    waiters.remove(at: index)
    continuation.resume(with: result)
  }

  private func index(of number: Int) -> Int? { waiters.firstIndex { $0.number == number } }

  /// Carries a cancellation, which may come on any thread, to the loop.
  ///
  /// Unchecked: `session` is written in `init` and read on the loop only, `place` is only read.
  private final class Cancellation: @unchecked Sendable {
    private weak let session: Session?
    private let loop: EventLoop
    private let place: Place
    private let number: Int

    init(_ session: Session, _ place: Place, _ number: Int) {
      self.session = session
      self.place = place
      self.loop = session.loop
      self.number = number
    }

    func cancel() {
      loop.post { self.session?[keyPath: self.place].settle(self.number, .failure(CancellationError())) }
    }
  }
}
