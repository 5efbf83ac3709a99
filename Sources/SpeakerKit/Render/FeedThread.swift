internal import EventLoop
internal import Synchronization

/// Fills a feed ahead of the renderer on a thread of its own. Owned by the loop.
final class FeedThread {
  let feed: SourceFeed
  private let bell: Bell
  private let isCancelled: Cancelled
  private let thread: WorkerThread

  /// Opens `feed`, decodes its first 200 ms and calls `onOpened`, with the error if that failed; then
  /// continues until the end of the source or `cancel`, and calls `onEnd`. Both are called on the new thread.
  init(
    _ feed: SourceFeed, renderer: Waiter,
    onOpened: @escaping @Sendable ((any Error)?) -> Void, onEnd: @escaping @Sendable () -> Void
  ) throws(SpeakerError) {
    let bell = try Bell()
    let isCancelled = Cancelled()
    self.feed = feed
    self.bell = bell
    self.isCancelled = isCancelled
    thread = try WorkerThread {
      Self.run(feed, bell, isCancelled, renderer, onOpened)
      feed.complete()
      renderer.notify()
      onEnd()
    }
  }

  /// The renderer's view of the source; valid once the feed is open.
  var source: RenderSource { feed.source(bell: bell.writing) }

  /// Asks the thread to end; returns at once.
  func cancel() {
    isCancelled.flag.store(true, ordering: .relaxed)
    bell.ring()
  }

  /// Waits for the end of the thread, announced by `onEnd`.
  func join() { thread.join() }

  private final class Cancelled: Sendable { let flag = Atomic(false) }

  private static func run(
    _ feed: SourceFeed, _ bell: Bell, _ cancelled: Cancelled, _ renderer: Waiter,
    _ onOpened: @Sendable ((any Error)?) -> Void
  ) {
    do { try feed.open() } catch { return onOpened(error) }
    feed.onFrames { bell.ring() }
    feed.fill(toFrames: 9600)
    onOpened(nil)
    while !cancelled.flag.load(ordering: .relaxed) {
      if feed.fillBlock() {
        renderer.notify()
        continue
      }
      if feed.isComplete { return }
      feed.setAsleep(true)
      bell.wait()
      feed.setAsleep(false)
    }
  }
}
