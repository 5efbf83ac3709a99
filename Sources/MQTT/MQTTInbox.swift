internal import EventLoop

// @unchecked Sendable: `drain` is called and released on the loop's thread only.
/// Received messages on their way to a loop: a bounded number and bounded bytes, in order. The loop receives a few at a
/// time, so that a flood leaves it time for other work.
final class MQTTInbox: @unchecked Sendable {
  struct Delivery: Sendable {
    let message: MQTTMessage
    let filter: String?
  }

  static let mostMessages = 16_384
  static let mostBytes = 16 << 20
  private static let (perTurn, bytesPerTurn) = (64, 256 << 10)

  private struct State: Sendable {
    var waiting: [Delivery] = []
    var next = 0
    var bytes = 0
    var dropped = 0
    var isScheduled = false
    var isClosed = false
  }

  private let loop: EventLoop
  private let state = Lock(State())
  private var drain: ((Delivery) -> Void)?
  private var onDropped: ((Int) -> Void)?

  init(on loop: EventLoop, onDropped: @escaping (Int) -> Void, _ drain: @escaping (Delivery) -> Void) {
    (self.loop, self.onDropped, self.drain) = (loop, onDropped, drain)
  }

  deinit {
    nonisolated(unsafe) let closures = (drain, onDropped)
    if closures.0 != nil, !loop.isOnLoop { loop.post { _ = closures } }
  }

  /// Sends a message; it is dropped and counted if there is no room. Any thread.
  func send(_ delivery: Delivery) {
    let mustPost = state.withLock { state in
      guard !state.isClosed else { return false }
      if state.waiting.count - state.next < Self.mostMessages, state.bytes < Self.mostBytes {
        state.waiting.append(delivery)
        state.bytes += delivery.message.size
      } else {
        state.dropped += 1
      }
      defer { state.isScheduled = true }
      return !state.isScheduled
    }
    if mustPost { loop.post { self.deliver() } }
  }

  /// Drops all messages and releases the closures. The loop's thread.
  func close() {
    loop.assertOnLoop()
    let waiting = state.withLock { state in
      defer { state = State(isScheduled: state.isScheduled, isClosed: true) }
      return state.waiting
    }
    withExtendedLifetime((waiting, drain, onDropped)) { (drain, onDropped) = (nil, nil) }
  }

  private func deliver() {
    let (part, dropped, isMore) = state.withLock { state -> ([Delivery], Int, Bool) in
      let most = min(state.next + Self.perTurn, state.waiting.count)
      var (end, bytes) = (state.next, 0)
      while end < most, bytes < Self.bytesPerTurn {
        bytes += state.waiting[end].message.size
        end += 1
      }
      let part = Array(state.waiting[state.next..<end])
      state.next = end
      for delivery in part { state.bytes -= delivery.message.size }
      if end == state.waiting.count { (state.waiting, state.next) = ([], 0) }
      if state.next >= 4096 {
        state.waiting.removeFirst(state.next)
        state.next = 0
      }
      defer { state.dropped = 0 }
      let isMore = !state.waiting.isEmpty
      state.isScheduled = isMore
      return (part, state.dropped, isMore)
    }
    if isMore { loop.post { self.deliver() } }
    if dropped > 0 { onDropped?(dropped) }
    for delivery in part { drain?(delivery) }
  }
}
