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

/// Routines that wait for a session's source to end. Confined to the loop.
struct FinishWaiters {
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

  /// Waits on `session.finishing` until `ended`, the timeout, or the cancellation of the task.
  static func wait(on session: Session, timeout: Duration?) async throws -> FinishResult {
    let number = session.finishing.begin()
    session.finishing.setTimer(
      number,
      timeout.map { timeout in
        session.loop.after(timeout) { [weak session] in
          session?.finishing.settle(number, .success(.timeout))
        }
      })
    let cancellation = Cancellation(session: session, number: number)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { session.finishing.suspend(number, $0) }
    } onCancel: {
      cancellation.cancel()
    }
  }

  /// The source has ended: all that wait go on.
  mutating func ended(_ reason: EndReason) {
    for number in waiters.map(\.number) { settle(number, .success(.ended(reason))) }
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
  /// Unchecked: `session` is written in `init` and read on the loop only.
  private final class Cancellation: @unchecked Sendable {
    private weak let session: Session?
    private let loop: EventLoop
    private let number: Int

    init(session: Session, number: Int) {
      self.session = session
      self.loop = session.loop
      self.number = number
    }

    func cancel() {
      loop.post { self.session?.finishing.settle(self.number, .failure(CancellationError())) }
    }
  }
}
