internal import EventLoop

/// Registry slots of released references, from any thread; the state frees them when it next runs.
final class ReferencePool: Sendable {
  private let released = Lock<[Int32]>([])

  func release(_ slot: Int32) { released.withLock { $0.append(slot) } }

  /// Removes and returns the slots released since the last call.
  func take() -> [Int32] {
    released.withLock { slots in
      guard !slots.isEmpty else { return [] }
      defer { slots.removeAll(keepingCapacity: true) }
      return slots
    }
  }
}
