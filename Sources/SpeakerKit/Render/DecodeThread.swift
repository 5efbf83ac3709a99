internal import AudioCore
internal import EventLoop
internal import Synchronization

/// Decodes a source ahead of the renderer on a thread of its own. Owned by the loop.
final class DecodeThread {
  /// The time that a read may take; longer than the opening of a file of a queue, which has a limit of its
  /// own.
  static let readLimit = Duration.seconds(12)
  /// The time that a cancelled thread has to come back.
  private static let endLimit = Duration.seconds(3)

  let ahead: DecodeAhead
  private let bell: Bell
  private let shared: Shared
  private let thread: WorkerThread
  private let watch: FileWatch

  /// Opens `ahead`, decodes its first 200 ms and calls `onOpened`, with the error if that failed; then
  /// continues until the end of the source or `cancel`, and calls `onEnd`. Both are called on the new thread; on the loop
  /// when a file system holds that for longer than `limit`.
  init(
    _ ahead: DecodeAhead, on loop: EventLoop, renderer: Waiter, limit: Duration = readLimit,
    onOpened: @escaping @Sendable ((any Error)?) -> Void, onEnd: @escaping @Sendable () -> Void
  ) throws(SpeakerError) {
    let bell = try Bell()
    let shared = Shared()
    self.ahead = ahead
    self.bell = bell
    self.shared = shared
    let thread = try WorkerThread {
      Self.run(ahead, bell, shared, renderer, onOpened)
      guard shared.end() else { return }
      ahead.complete()
      renderer.notify()
      onEnd()
    }
    self.thread = thread
    watch = FileWatch(ahead.calls, on: loop, limit: limit) {
      guard shared.end() else { return }
      thread.abandon()
      let error = ahead.giveUp()
      renderer.notify()
      if shared.opened() { onOpened(error) }
      onEnd()
    }
  }

  /// The renderer's view of the source; valid once the source is open.
  var source: RenderSource { ahead.source(bell: bell.writing) }

  /// Asks the thread to end; returns at once.
  func cancel() {
    shared.isCancelled.store(true, ordering: .relaxed)
    bell.ring()
    watch.shorten(to: Self.endLimit)
  }

  /// Waits for the end of the thread, announced by `onEnd`.
  func join() {
    watch.cancel()
    thread.join()
  }

  /// The state of both threads.
  private final class Shared: Sendable {
    let isCancelled = Atomic(false)
    private let isOpened = Atomic(false)
    private let hasEnded = Atomic(false)

    /// Returns `true` to the first that reports the opening, or its failure.
    func opened() -> Bool { !isOpened.exchange(true, ordering: .acquiringAndReleasing) }
    /// Returns `true` to the first that ends the source.
    func end() -> Bool { !hasEnded.exchange(true, ordering: .acquiringAndReleasing) }
  }

  private static func run(
    _ ahead: DecodeAhead, _ bell: Bell, _ shared: Shared, _ renderer: Waiter,
    _ onOpened: @Sendable ((any Error)?) -> Void
  ) {
    do { try ahead.calls.call { try ahead.open(isThreaded: true) } } catch {
      if shared.opened() { onOpened(error) }
      return
    }
    ahead.onFrames { bell.ring() }
    ahead.fill(toFrames: 9600)
    if shared.opened() { onOpened(nil) }
    while !shared.isCancelled.load(ordering: .relaxed) {
      if ahead.fillBlock() {
        renderer.notify()
        continue
      }
      if ahead.isComplete { return }
      ahead.setAsleep(true)
      bell.wait()
      ahead.setAsleep(false)
    }
  }
}
