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
    let continuation: CheckedContinuation<FinishResult, any Error>
    let timer: LoopTimer?
  }

  private var waiters: [Waiter] = []
  private var count = 0

  /// Waits on `session.finishing` until `ended`, the timeout, or the cancellation of the task.
  static func wait(on session: Session, timeout: Duration?) async throws -> FinishResult {
    session.finishing.count += 1
    let number = session.finishing.count
    let cancellation = Cancellation(session: session, number: number)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        if Task.isCancelled { return continuation.resume(throwing: CancellationError()) }
        let timer = timeout.map { timeout in
          session.loop.after(timeout) { [weak session] in
            session?.finishing.settle(number, .success(.timeout))
          }
        }
        session.finishing.waiters.append(
          Waiter(number: number, continuation: continuation, timer: timer))
      }
    } onCancel: {
      cancellation.cancel()
    }
  }

  /// The source has ended: all that wait go on.
  mutating func ended(_ reason: EndReason) {
    for waiter in waiters {
      waiter.timer?.cancel()
      waiter.continuation.resume(returning: .ended(reason))
    }
    waiters.removeAll()
  }

  private mutating func settle(_ number: Int, _ result: Result<FinishResult, any Error>) {
    guard let index = waiters.firstIndex(where: { $0.number == number }) else { return }
    let waiter = waiters.remove(at: index)
    waiter.timer?.cancel()
    waiter.continuation.resume(with: result)
  }

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
