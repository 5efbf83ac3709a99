extension EventLoop {
  /// Enqueues a job of Swift's concurrency. Any thread.
  public func enqueue(_ job: consuming ExecutorJob) { append(.job(UnownedJob(job))) }

  /// Ends the process if the calling thread is not the loop's; called by `assumeIsolated`.
  public func checkIsolated() {
    precondition(isOnLoop, "this belongs to the thread of the event loop \"\(name)\"")
  }

  /// `true` if the calling thread is the loop's.
  public func isIsolatingCurrentContext() -> Bool? { isOnLoop }

  /// Starts asynchronous work on the loop: at once, up to its first suspension. The loop's thread.
  ///
  /// The only function that creates a task. The loop is its executor preference, so its nonisolated async
  /// functions, its `async let` and the children of its task groups run on the loop's thread too.
  @discardableResult
  public func start(_ operation: @escaping () async -> Void) -> Task<Void, Never> {
    assertOnLoop()
    // Not Sendable, and it need not be: this thread passes it on, and the task runs on this thread only.
    nonisolated(unsafe) let operation = operation
    return Task.immediate(executorPreference: self) { await operation() }
  }

  /// Suspends the calling task for `duration` of the loop's time. The loop's thread.
  /// - Throws: `CancellationError` as soon as the task is cancelled.
  public func sleep(for duration: Duration) async throws {
    try await sleep(until: now.advanced(by: duration))
  }

  /// Suspends the calling task until `deadline`. The loop's thread.
  /// - Throws: `CancellationError` as soon as the task is cancelled.
  public func sleep(until deadline: Instant) async throws {
    assertOnLoop()
    let sleeper = Sleeper()
    try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { continuation in
        sleeper.begin(continuation, until: deadline, on: self)
      }
    } onCancel: {
      post { sleeper.end(.failure(CancellationError())) }
    }
  }
}

// @unchecked Sendable: touched on the loop's thread only; the handler of a cancel, which may run on any
// thread, only passes it to a post.
/// A sleep: its timer or its cancelling, whichever is first, resumes the task, and the other has no effect.
private final class Sleeper: @unchecked Sendable {
  private var continuation: UnsafeContinuation<Void, any Error>?
  private var timer: LoopTimer?

  func begin(
    _ continuation: UnsafeContinuation<Void, any Error>, until deadline: Instant, on loop: EventLoop
  ) {
    if Task.isCancelled { return continuation.resume(throwing: CancellationError()) }
    self.continuation = continuation
    timer = loop.at(deadline) { self.end(.success(())) }
  }

  func end(_ result: Result<Void, any Error>) {
    guard let continuation else { return }
    self.continuation = nil
    timer?.cancel()
    timer = nil
    continuation.resume(with: result)
  }
}

/// A loop's time as a clock, for code with a `some Clock<Duration>`. Used on the loop's thread.
public struct LoopClock: Clock {
  private let loop: EventLoop

  /// Creates the clock of `loop`.
  public init(_ loop: EventLoop) { self.loop = loop }

  /// The loop's time.
  public var now: Instant { loop.now }
  /// The resolution: one nanosecond.
  public var minimumResolution: Duration { .nanoseconds(1) }

  /// Suspends the calling task until `deadline`; `tolerance` is not used.
  /// - Throws: `CancellationError`.
  public func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    try await loop.sleep(until: deadline)
  }
}

extension EventLoop {
  /// The loop's time as a clock.
  public var clock: LoopClock { LoopClock(self) }
}
