internal import Synchronization

/// A thread that waits for sources or outputs: whoever has what it waits for wakes it.
final class Waiter: Sendable {
  /// Rings for whatever the thread should look at.
  let bell: Bell
  private let isWaiting = Atomic(false)

  init() throws(SpeakerError) { bell = try Bell() }

  /// Something that the thread may be waiting for is there. Any thread.
  func notify() {
    // Either this sees the flag, or the thread that has set it sees what is there.
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    if isWaiting.load(ordering: .relaxed) { bell.ring() }
  }

  /// Waits until somebody notifies, 20 ms at most, unless `isReady` by then. The one thread that waits.
  func wait(unless isReady: () -> Bool) {
    isWaiting.store(true, ordering: .relaxed)
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    if !isReady() { bell.wait(milliseconds: 20) }
    isWaiting.store(false, ordering: .relaxed)
  }
}
