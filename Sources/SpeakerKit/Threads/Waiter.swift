internal import Synchronization

/// Wakes a thread that waits for sources or outputs.
final class Waiter: Sendable {
  /// The bell that wakes the thread for any reason.
  let bell: Bell
  private let isWaiting = Atomic(false)

  init() throws(SpeakerError) { bell = try Bell() }

  /// Wakes the thread if it waits; to be called after the event that it may wait for. Any thread.
  func notify() {
    // Either this sees the flag, or the thread that has set it sees the event.
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    if isWaiting.load(ordering: .relaxed) { bell.ring() }
  }

  /// Waits for `notify`, 20 ms at most, unless `isReady` is `true` by then. For the one waiting thread.
  func wait(unless isReady: () -> Bool) {
    isWaiting.store(true, ordering: .relaxed)
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    if !isReady() { bell.wait(milliseconds: 20) }
    isWaiting.store(false, ordering: .relaxed)
  }
}
