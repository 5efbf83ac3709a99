internal import Synchronization

/// A hold on a loop: keeps it from going idle, and its virtual time from moving, while another thread works
/// for it.
///
/// Created on the loop's thread before the work is passed on; the worker first posts its result, then
/// releases. Any thread may release. The last reference releases the hold.
public final class Hold: Sendable {
  private let loop: EventLoop
  private let id: UInt64
  private let released = Atomic(false)

  init(loop: EventLoop, id: UInt64) {
    self.loop = loop
    self.id = id
  }

  deinit { release() }

  /// Releases the hold. A second call does nothing.
  public func release() {
    guard !released.exchange(true, ordering: .relaxed) else { return }
    loop.releaseHold(id)
  }
}
