internal import CLinux
internal import Glibc

/// Signals that a loop receives instead of their usual action. The loop retains the watch, so the handle need
/// not be kept.
///
/// Confined to the thread of its loop.
public final class SignalWatch {
  private let signals: [Int32]
  /// The signals that this watch blocked, and unblocks at its end.
  private var blocked: sigset_t
  private let thread = pthread_self()
  private let fd: Int32
  private var watch: FDWatch?
  private weak var loop: EventLoop?

  fileprivate init(signals: [Int32], blocked: sigset_t, fd: Int32, loop: EventLoop) {
    (self.signals, self.blocked, self.fd, self.loop) = (signals, blocked, fd, loop)
  }

  deinit { cancel() }

  fileprivate func begin(_ watch: FDWatch) { self.watch = watch }

  /// Ends the watch and restores the signals' usual action. A second call does nothing.
  public func cancel() {
    guard let watch else { return }
    self.watch = nil
    watch.cancel()
    close(fd)
    loop?.signalsWatched.subtract(signals)
    // A mask belongs to a thread; the last reference to a loop may be released on another one.
    if thread == pthread_self() { pthread_sigmask(SIG_UNBLOCK, &blocked, nil) }
  }
}

extension EventLoop {
  /// Calls `body` with the number of each arriving one of `signals`. The loop's thread.
  ///
  /// The signals are blocked in the calling thread. A thread that was started before and does not block them
  /// can still catch a signal sent to the process: call this before other threads are started.
  /// - Parameter keepsAlive: `true` if `run` waits for signals when nothing else is left.
  /// - Throws: `loop.signal` if the loop already watches one of them, or for a number that is not a signal.
  @discardableResult
  public func onSignal(
    _ signals: [Int32], keepsAlive: Bool = false, _ body: @escaping (Int32) -> Void
  ) throws(LoopError) -> SignalWatch {
    assertOnLoop()
    var (fd, wanted) = try takeSignals(signals)
    let result = SignalWatch(signals: signals, blocked: wanted, fd: fd, loop: self)
    do throws(LoopError) {
      let watch = try watch(fd, for: .readable, keepsAlive: keepsAlive) { _ in
        while result.isActive {
          let signal = signal_take(fd)
          guard signal != 0 else { break }
          body(signal)
        }
      }
      result.begin(watch)
    } catch {
      pthread_sigmask(SIG_UNBLOCK, &wanted, nil)
      Glibc.close(fd)
      throw error
    }
    signalsWatched.formUnion(signals)
    return result
  }

  /// Blocks signals in the calling thread and opens a descriptor for them.
  /// - Returns: the descriptor, and the signals that were not blocked before.
  func takeSignals(_ signals: [Int32]) throws(LoopError) -> (fd: Int32, blocked: sigset_t) {
    var wanted = sigset_t()
    sigemptyset(&wanted)
    for signal in signals {
      if signalsWatched.contains(signal) {
        throw LoopError(.signal, "signal \(signal) is watched already")
      }
      guard sigaddset(&wanted, signal) == 0 else {
        throw LoopError(.signal, "\(signal) is not a signal")
      }
    }
    let fd = signalfd(-1, &wanted, Int32(LINUX_SIGNALFD_FLAGS))
    if fd < 0 { throw LoopError(.signal, "cannot watch signals", errno: errno) }
    var before = sigset_t()
    pthread_sigmask(SIG_BLOCK, &wanted, &before)
    for signal in signals where sigismember(&before, signal) == 1 { sigdelset(&wanted, signal) }
    return (fd, wanted)
  }
}

extension SignalWatch {
  /// `true` if this process ignores a signal, as SIGHUP under `nohup` from the start.
  public static func isIgnored(_ signal: Int32) -> Bool { signal_is_ignored(signal) != 0 }

  /// `true` until the watch is cancelled.
  public var isActive: Bool { watch != nil }
}
