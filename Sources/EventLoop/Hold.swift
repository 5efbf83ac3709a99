internal import Synchronization

/// Keeps a loop from going idle, and its virtual time from moving, while work for it is done on another thread.
///
/// Taken on the loop's thread before the work is handed over; the worker first posts its result, then releases.
/// Any thread may release. A hold that is let go releases itself.
public final class Hold: Sendable {
  private let loop: EventLoop
  private let id: UInt64
  private let released = Atomic(false)

  init(loop: EventLoop, id: UInt64) {
    self.loop = loop
    self.id = id
  }

  deinit { release() }

  /// Gives the hold back. Nothing the second time.
  public func release() {
    guard !released.exchange(true, ordering: .relaxed) else { return }
    loop.releaseHold(id)
  }
}
