internal import EventLoop

/// How waiting for the end of a source ended.
public enum FinishResult: Sendable, Equatable {
  /// Nothing played.
  case idle
  /// The source no longer plays.
  case ended(EndReason)
  /// It still plays.
  case timeout
}

/// Routines that wait for something of a session: the end of its source, or what concerns a fade. Confined to the loop.
struct SessionWaiters {
  /// Where a session keeps them.
  typealias Place = ReferenceWritableKeyPath<Session, SessionWaiters>

  private struct Waiter {
    let number: Int
    /// Nil until the routine is suspended, which it is some turns of the loop after it began to wait.
    var continuation: CheckedContinuation<FinishResult, any Error>?
    /// What came before that.
    var result: Result<FinishResult, any Error>?
    var timer: LoopTimer?
  }

  private var waiters: [Waiter] = []
  private var count = 0

  /// Waits at a place of `session` until `wake`, the timeout, or the cancellation of the task.
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

  /// All that wait go on.
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

  /// The first result counts.
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
