internal import Glibc

/// A thread of its own that runs an event loop until it is closed.
///
/// Unchecked: `handle` is written in `init` before the object is shared, and by `close`, which is for its one owner.
public final class LoopThread: @unchecked Sendable {
  /// What the thread runs; work is posted there.
  public let loop: EventLoop
  private var handle: pthread_t?

  /// Starts the thread.
  /// - Parameter name: what the loop is called in messages.
  /// - Throws: `loop.thread` when the system has no thread left.
  public init(name: String) throws(LoopError) {
    let loop = EventLoop(name: name)
    self.loop = loop
    let hold = loop.hold("the thread waits for work")
    handle = try startThread("no thread for \(name)") {
      _ = loop.run(until: { false })
      hold.release()
      loop.close()
    }
  }

  deinit { close() }

  /// Does what was posted by now, then ends the thread; returns when it has ended. Nothing the second time. Not on the
  /// thread itself.
  public func close() {
    guard let handle else { return }
    self.handle = nil
    loop.post { [loop] in loop.stop() }
    pthread_join(handle, nil)
  }
}
