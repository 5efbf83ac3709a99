public import EventLoop
internal import Glibc
internal import Synchronization

/// A thread that runs HTTP transfers, and sleeps while it has no work. Several can live in one process.
///
/// Its methods may be called on any thread.
public final class NetworkThread: Sendable {
  /// The thread's loop, for other work on the same thread, such as timers of receivers. Ends with the thread.
  public var loop: EventLoop { core.loop }

  private let core: CurlLoop
  private let thread: Lock<pthread_t?>

  /// Starts the thread.
  /// - Throws: `.system` if the system has no thread left, or libcurl does not start.
  public init() throws(HTTPError) {
    let core = try CurlLoop()
    self.core = core
    do throws(LoopError) {
      thread = Lock(try startThread("no thread for the network") { core.run() })
    } catch { throw HTTPError(.system, host: nil, error.message) }
  }

  deinit {
    guard isOwnThread else { return close() }
    // Released by a receiver, at its end: a thread can't wait for itself.
    core.stop()
    if let handle = takeThread() { pthread_detach(handle) }
  }

  /// Starts a transfer, or queues it: no more than 32 connect at a time.
  /// - Parameter receiver: retained until the transfer has ended or was cancelled. After `close` its end is
  ///   delivered at once, on the calling thread.
  public func start(_ request: HTTPRequest, on receiver: any HTTPReceiver) -> HTTPTransfer {
    let transfer = HTTPTransfer(core)
    let isAccepted = core.perform { $0.start(request, handle: transfer, receiver: receiver) }
    if !isAccepted, transfer.end() { receiver.receiveEnd(HTTPError(.cancelled, host: request.host)) }
    return transfer
  }

  /// Opens a connection for a protocol of the caller's, encrypted by TLS for `https`. Proxies of the
  /// environment are not used. On the network thread.
  /// - Parameters:
  ///   - request: a request whose URL states scheme, host and port, with its timeout and its certificates.
  ///   - receiver: not retained; called on the network thread, never from within this call.
  package func connect(
    _ request: HTTPRequest, for receiver: any ConnectionReceiver
  ) -> NetworkConnection {
    core.loop.assertOnLoop()
    let connection = NetworkConnection(request, core, receiver)
    // libcurl may be calling, and then accepts no new handle.
    core.loop.next { [core] in connection.begin(core) }
    return connection
  }

  /// Ends all transfers and connections, each with the failure `.cancelled`, and waits until the thread has
  /// ended. A second call does nothing. Not on the network thread.
  public func close() {
    precondition(!isOwnThread, "the network thread cannot wait for its own end")
    core.stop()
    if let handle = takeThread() { pthread_join(handle, nil) }
  }

  /// `true` if the calling thread is this one. Its loop is not bound to the thread before it runs, which may
  /// be after `close`.
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

/// A running transfer, which continues without a reference to it. Its methods may be called on any thread,
/// except `handOver`.
public final class HTTPTransfer: Sendable {
  private weak let core: CurlLoop?
  private let hasEnded = Atomic(false)

  init(_ core: CurlLoop) { self.core = core }

  /// Ends the transfer. The receiver is not called any more, not even with the end, once its current call has
  /// returned; after a call on the network thread, not at all.
  public func cancel() {
    if end() { _ = core?.perform { $0.drop(self) } }
  }

  /// Resumes after the receiver has returned `.pause`. A call before that has no effect.
  public func resume() { _ = core?.perform { $0.resume(self) } }

  /// Sets an interval for reading bytes without an urgent consumer, which is less work than reading them as
  /// they arrive; nil to read them as they arrive. The end of the connection, and a flood, are still noticed
  /// at once. Has no effect before the head of the response.
  public func setPace(_ pace: Duration?) { _ = core?.perform { $0.setPace(pace, of: self) } }

  /// Delivers all further events to another receiver. On the network thread; effective at once.
  public func handOver(to receiver: any HTTPReceiver) {
    core?.loop.assertOnLoop()
    // A transfer that was started in this turn is not known yet.
    if core?.setReceiver(receiver, of: self) == false {
      _ = core?.perform { _ = $0.setReceiver(receiver, of: self) }
    }
  }

  var isEnded: Bool { hasEnded.load(ordering: .acquiring) }

  /// Marks the end. Returns `true` for the first call.
  func end() -> Bool { !hasEnded.exchange(true, ordering: .acquiringAndReleasing) }
}
