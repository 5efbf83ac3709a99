internal import Glibc

/// A thread that runs an event loop of its own until it is closed.
///
/// Unchecked: `handle` is written in `init` before the object is shared, and by `close`, which is for its one
/// owner.
public final class LoopThread: @unchecked Sendable {
  /// The thread's loop; work is posted there.
  public let loop: EventLoop
  private var handle: pthread_t?

  /// Starts the thread.
  /// - Parameter name: the loop's name in messages.
  /// - Throws: `loop.thread` if the system has no thread left.
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

  /// Runs the work posted so far, then ends the thread; returns when it has ended. A second call does
  /// nothing. Not on the thread itself.
  public func close() {
    guard let handle else { return }
    self.handle = nil
    loop.post { [loop] in loop.stop() }
    pthread_join(handle, nil)
  }

  /// Lets the thread end after the work posted so far; returns at once. A second call does nothing.
  public func abandon() {
    guard let handle else { return }
    self.handle = nil
    loop.post { [loop] in loop.stop() }
    pthread_detach(handle)
  }
}
