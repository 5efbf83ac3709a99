// @unchecked Sendable: `drain` and `onFull` are called and released on the loop's thread only.
/// A bounded queue of values from other threads to a loop, in the order in which they were sent.
///
/// Any number of threads send; the loop receives all waiting values in one call, so that many sends wake it
/// once.
public final class Mailbox<Element: Sendable>: @unchecked Sendable {
  private struct State: Sendable {
    var elements: [Element] = []
    var refused = 0
    var isScheduled = false
    var isClosed = false
  }

  private let loop: EventLoop
  private let capacity: Int
  private let state = Lock(State())
  private var drain: (([Element]) -> Void)?
  private var onFull: ((Int) -> Void)?

  /// Creates a mailbox for `loop`. The loop's thread.
  /// - Parameter capacity: the limit of waiting elements; at least 1.
  /// - Parameter onFull: called on the loop, before `drain`, with the number of sends refused since its last
  ///   call.
  /// - Parameter drain: called on the loop with the elements that have arrived, oldest first.
  public init(
    on loop: EventLoop, capacity: Int, onFull: ((_ refused: Int) -> Void)? = nil,
    _ drain: @escaping ([Element]) -> Void
  ) {
    loop.assertOnLoop()
    precondition(capacity > 0, "a mailbox has room for one element at least")
    (self.loop, self.capacity, self.onFull, self.drain) = (loop, capacity, onFull, drain)
  }

  deinit {
    // The closures' contents are confined to the loop, and the last sender may hold the last reference to the
    // mailbox.
    nonisolated(unsafe) let closures = (drain, onFull)
    if closures.0 != nil, !loop.isOnLoop { loop.post { _ = closures } }
  }

  /// Sends `element`. Any thread.
  /// - Returns: `true` if `element` was accepted; `false` if the mailbox is full or closed.
  @discardableResult
  public func send(_ element: Element) -> Bool {
    let (isAccepted, mustPost) = state.withLock { state in
      guard !state.isClosed else { return (false, false) }
      let isAccepted = state.elements.count < capacity
      if isAccepted { state.elements.append(element) } else { state.refused += 1 }
      defer { state.isScheduled = true }
      return (isAccepted, !state.isScheduled)
    }
    if mustPost { loop.post { self.deliver() } }
    return isAccepted
  }

  /// Refuses all further sends, drops waiting elements and releases the closures. The loop's thread.
  public func close() {
    loop.assertOnLoop()
    // The elements leave the lock before they are released: their deinitializers may send to this mailbox.
    _ = state.withLock { state in
      defer { state = State(isScheduled: state.isScheduled, isClosed: true) }
      return state.elements
    }
    withExtendedLifetime((drain, onFull)) { (drain, onFull) = (nil, nil) }
  }

  private func deliver() {
    let (elements, refused) = state.withLock { state in
      defer {
        state.elements = []
        state.refused = 0
        state.isScheduled = false
      }
      return (state.elements, state.refused)
    }
    if refused > 0 { onFull?(refused) }
    if !elements.isEmpty { drain?(elements) }
  }
}
