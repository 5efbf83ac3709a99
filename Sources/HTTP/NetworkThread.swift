public import EventLoop
internal import Glibc
internal import Synchronization

/// One thread that runs every HTTP transfer given to it, asleep when nothing happens. Several can live in one process.
///
/// Its methods may be called on any thread.
public final class NetworkThread: Sendable {
  /// The loop that the thread runs, for what belongs to transfers and is to happen beside them: timers of receivers. It
  /// ends with the thread.
  public var loop: EventLoop { core.loop }

  private let core: CurlLoop
  private let thread: Lock<pthread_t?>

  /// Starts the thread.
  /// - Throws: `.system` when the system has no thread left, or libcurl does not start.
  public init() throws(HTTPError) {
    let core = try CurlLoop()
    self.core = core
    do throws(LoopError) {
      thread = Lock(try startThread("no thread for the network") { core.run() })
    } catch { throw HTTPError(.system, error.message) }
  }

  deinit {
    guard isOwnThread else { return close() }
    // Let go by a receiver, at its end: a thread cannot wait for itself.
    core.stop()
    if let handle = takeThread() { pthread_detach(handle) }
  }

  /// Starts a transfer, or puts it in line: no more than 32 connect at a time.
  /// - Parameter receiver: kept until the transfer has ended or was cancelled. After `close` its end is told at once,
  ///   on the calling thread.
  public func start(_ request: HTTPRequest, on receiver: any HTTPReceiver) -> HTTPTransfer {
    let transfer = HTTPTransfer(core)
    let isTaken = core.perform { $0.start(request, handle: transfer, receiver: receiver) }
    if !isTaken, transfer.end() { receiver.receiveEnd(HTTPError(.cancelled, host: request.host)) }
    return transfer
  }

  /// Ends all transfers, each with the end `.cancelled`, and waits until the thread has ended. Nothing the second
  /// time. Not on the network thread.
  public func close() {
    precondition(!isOwnThread, "the network thread cannot wait for its own end")
    core.stop()
    if let handle = takeThread() { pthread_join(handle, nil) }
  }

  /// Whether the calling thread is this one. Its loop can't tell before it runs, which may be later than `close`.
  private var isOwnThread: Bool {
    thread.withLock { thread in thread.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
  }

  private func takeThread() -> pthread_t? {
    thread.withLock { thread in
      defer { thread = nil }
      return thread
    }
  }
}

/// A transfer under way. May be let go; the transfer goes on. Its methods may be called on any thread.
public final class HTTPTransfer: Sendable {
  private weak let core: CurlLoop?
  private let hasEnded = Atomic(false)

  init(_ core: CurlLoop) { self.core = core }

  /// Ends the transfer. The receiver hears nothing any more, not even of the end, once the call that it may be in
  /// has returned; called on the network thread, nothing from here on.
  public func cancel() {
    if end() { _ = core?.perform { $0.drop(self) } }
  }

  /// Goes on after the receiver has returned `.pause`. A call from before that is forgotten.
  public func resume() { _ = core?.perform { $0.resume(self) } }

  /// Has bytes that nobody waits for read every so often, which is less work than as they come; nil to have them read as
  /// they come. The end of the connection, and a flood, are noticed at once all the same. Nothing before the head of the
  /// answer.
  public func setPace(_ pace: Duration?) { _ = core?.perform { $0.setPace(pace, of: self) } }

  var isEnded: Bool { hasEnded.load(ordering: .acquiring) }

  /// Notes the end; true for whoever is first.
  func end() -> Bool { !hasEnded.exchange(true, ordering: .acquiringAndReleasing) }
}
