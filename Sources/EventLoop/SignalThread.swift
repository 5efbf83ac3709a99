internal import CLinux
internal import Glibc

/// Signals that a thread of its own receives, instead of their usual action, and forwards to a loop: they are
/// received also while the loop is busy, or blocked in a call. Confined to the thread of its loop.
public final class SignalThread {
  private let signals: [Int32]
  /// The signals that were blocked for this thread, and are unblocked at its end.
  private var blocked: sigset_t
  private let fd: Int32
  /// A pipe; the thread ends when its write end is closed.
  private let quit: (read: Int32, write: Int32)
  /// A pipe for numbers of signals on their way to the loop.
  private let passed: (read: Int32, write: Int32)
  private let loop: EventLoop
  private var thread: UInt?
  private var watch: FDWatch?

  /// Starts the thread. The signals are blocked in the calling thread, which is the loop's; a thread that was
  /// started before and does not block them can still catch one.
  /// - Parameters:
  ///   - screen: called on the thread with each signal; returns `true` to forward it to the loop.
  ///   - body: called on the loop with each forwarded signal, before pending work.
  /// - Throws: `loop.signal` if the loop already watches one of them, or for a number that is not a signal;
  ///   `loop.descriptor` and `loop.thread` if the system has none left.
  public init(
    _ signals: [Int32], on loop: EventLoop, screen: @escaping @Sendable (Int32) -> Bool,
    _ body: @escaping (Int32) -> Void
  ) throws(LoopError) {
    loop.assertOnLoop()
    (self.signals, self.loop) = (signals, loop)
    let (quit, passed) = (try Self.makePipe(), try Self.makePipe())
    (self.quit, self.passed) = (quit, passed)
    let (fd, blocked) = try loop.takeSignals(signals)
    (self.fd, self.blocked) = (fd, blocked)
    loop.signalsWatched.formUnion(signals)
    watch = try loop.watch(passed.read, for: .readable, keepsAlive: false) { _ in
      var number: UInt8 = 0
      while read(passed.read, &number, 1) == 1 { body(Int32(number)) }
    }
    thread = try startThread("no thread for signals") {
      while true {
        let signal = signal_await(fd, quit.read)
        if signal == 0 { break }
        var number = UInt8(truncatingIfNeeded: signal)
        if screen(signal) { _ = write(passed.write, &number, 1) }
      }
    }
  }

  deinit { cancel() }

  private static func makePipe() throws(LoopError) -> (read: Int32, write: Int32) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else {
      throw LoopError(.descriptor, "no pipe for signals", errno: errno)
    }
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    return (ends[0], ends[1])
  }

  /// Ends the thread and restores the signals' usual action. A second call does nothing.
  public func cancel() {
    guard let thread else { return }
    self.thread = nil
    close(quit.write)
    pthread_join(thread, nil)
    watch?.cancel()
    for end in [quit.read, passed.read, passed.write, fd] { close(end) }
    loop.signalsWatched.subtract(signals)
    pthread_sigmask(SIG_UNBLOCK, &blocked, nil)
  }
}
