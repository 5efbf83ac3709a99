internal import Glibc
internal import Synchronization

/// The limit of the time in which a file system answers.
public enum FileDeadline {
  /// The time after which a call of a file system counts as unanswered.
  public static let limit = Duration.seconds(10)

  /// Returns the end of a sentence about a file that has not answered, and the remedy.
  public static func silence(
    of path: String, within limit: Duration = limit
  ) -> (cause: String, hint: String?) {
    let seconds = limit.inSeconds.rounded()
    let time = "no answer within \(Int(seconds)) s"
    guard let mount = RemoteMount.of(path) else { return (time + " from its disk", nil) }
    return (
      "\(time) from the mount \(mount.folder) (\(mount.type), \(mount.source))",
      "check the server of the mount; 'umount -l \(mount.folder)' gives it up"
    )
  }
}

/// A call of a file system on a thread of its own, whose caller waits only up to a limit. An abandoned call
/// keeps its thread until the file system answers; its result is released there.
///
/// Unchecked: `result` is written and read under `mutex`.
public final class FileCall<Value>: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let arrival: UnsafeMutablePointer<pthread_cond_t>
  private var result: Result<Value, any Error>?

  /// Begins the call.
  /// - Parameter body: runs on the new thread; its value is used by one thread at a time.
  /// - Throws: `loop.thread` if the system has no thread left.
  public init(_ body: @escaping @Sendable () throws -> Value) throws(LoopError) {
    mutex = .allocate(capacity: 1)  // freed in deinit, with the condition
    arrival = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    arrival.initialize(to: pthread_cond_t())
    pthread_mutex_init(mutex, nil)
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(arrival, &attributes)
    pthread_condattr_destroy(&attributes)
    try startDetachedThread("no thread for a file") { [self] in accept(Result { try body() }) }
  }

  deinit {
    pthread_cond_destroy(arrival)
    pthread_mutex_destroy(mutex)
    arrival.deallocate()
    mutex.deallocate()
  }

  private func accept(_ result: Result<Value, any Error>) {
    pthread_mutex_lock(mutex)
    self.result = result
    pthread_cond_signal(arrival)
    pthread_mutex_unlock(mutex)
  }

  /// Waits for the value, on a thread that may block, never on a loop. Called once.
  /// - Returns: the value; nil if the limit has passed without it.
  /// - Throws: the error of the call.
  public func wait(atMost limit: Duration = FileDeadline.limit) throws -> Value? {
    var due = timespec()
    clock_gettime(CLOCK_MONOTONIC, &due)
    let nanoseconds = due.tv_nsec + Int(limit.nanoseconds)
    due.tv_sec += nanoseconds / 1_000_000_000
    due.tv_nsec = nanoseconds % 1_000_000_000
    pthread_mutex_lock(mutex)
    while result == nil, pthread_cond_timedwait(arrival, mutex, &due) == 0 {}
    let result = result
    self.result = nil
    pthread_mutex_unlock(mutex)
    return try result?.get()
  }
}

extension EventLoop {
  /// Calls a file system on a thread of its own. The loop's thread.
  /// - Returns: the value; nil if the limit has passed without it.
  /// - Throws: the error of the call; `loop.thread` if the system has no thread left.
  public func callFiles<Value: Sendable>(
    atMost limit: Duration = FileDeadline.limit, _ body: @escaping @Sendable () throws -> Value
  ) async throws -> Value? {
    assertOnLoop()
    let hold = hold("a file system is called")
    defer { hold.release() }
    return try await withCheckedThrowingContinuation { continuation in
      let keeper = FileAnswer(continuation)
      let answer = LoopReference(keeper)
      keeper.timer = after(limit) { keeper.resume(returning: .success(nil)) }
      do {
        try startDetachedThread("no thread for a file") { [self] in
          let result = Result<Value?, any Error> { try body() }
          post { answer.object?.resume(returning: result) }
        }
      } catch { keeper.resume(returning: .failure(error)) }
    }
  }
}

/// The answer to a call: the first result counts. Kept by its timer; confined to the loop.
private final class FileAnswer<Value: Sendable> {
  var timer: LoopTimer?
  private var continuation: CheckedContinuation<Value?, any Error>?

  init(_ continuation: CheckedContinuation<Value?, any Error>) { self.continuation = continuation }

  func resume(returning result: Result<Value?, any Error>) {
    timer?.cancel()
    timer = nil
    continuation?.resume(with: result)
    continuation = nil
  }
}

/// The times of the file system calls of a thread, for the loop that watches them.
public final class FileCalls: Sendable {
  private let began = Atomic<Int64>(0)

  /// Creates the times of a thread that makes no call yet.
  public init() {}

  /// Makes a call.
  public func call<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
    began.store(Self.now, ordering: .relaxed)
    defer { began.store(0, ordering: .relaxed) }
    return try body()
  }

  /// The time since the beginning of the current call; zero between calls.
  fileprivate var age: Duration {
    let began = began.load(ordering: .relaxed)
    return began == 0 ? .zero : .nanoseconds(Self.now - began)
  }

  private static var now: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}

/// A watch over the file system calls of another thread. Confined to the loop.
public final class FileWatch {
  private let loop: EventLoop
  private let calls: FileCalls
  private var limit: Duration
  private var onSilence: (() -> Void)?
  private var timer: LoopTimer?

  /// Begins to watch.
  /// - Parameter onSilence: called once, on the loop, when a call has lasted for `limit`.
  public init(
    _ calls: FileCalls, on loop: EventLoop, limit: Duration = FileDeadline.limit,
    onSilence: @escaping () -> Void
  ) {
    (self.loop, self.calls, self.limit, self.onSilence) = (loop, calls, limit, onSilence)
    check(after: limit)
  }

  deinit { timer?.cancel() }

  /// Shortens the limit, also for the current call.
  public func shorten(to limit: Duration) {
    guard onSilence != nil, limit < self.limit else { return }
    self.limit = limit
    timer?.cancel()
    check(after: max(.zero, limit - calls.age))
  }

  /// Ends the watch.
  public func cancel() {
    timer?.cancel()
    (timer, onSilence) = (nil, nil)
  }

  private func check(after time: Duration) {
    timer = loop.after(time, keepsAlive: false) { [weak self] in
      guard let self else { return }
      let age = calls.age
      // A call that begins after this check reaches its limit after the next one.
      guard age >= limit else { return check(after: limit - age) }
      let report = onSilence
      cancel()
      report?()
    }
  }
}
