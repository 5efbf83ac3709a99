internal import EventLoop

/// Tells listeners what happens in a house. Confined to the loop.
///
/// An event reaches its listeners in order of subscription, in a turn of the loop of its own, after whatever
/// caused it has returned. Events that listeners cause come after the current one has reached all of them.
/// A listener is told of events that happen after it subscribed, never of one that is still on its way.
public final class EventHub {
  /// A listener's place in the hub. Lives until it is cancelled, whether or not anybody keeps it.
  public final class Subscription {
    fileprivate let kind: HouseEvent.Kind?
    fileprivate let isConcerned: (HouseEvent) -> Bool
    fileprivate var listener: ((HouseEvent) -> Void)?

    fileprivate init(
      _ kind: HouseEvent.Kind?, _ isConcerned: @escaping (HouseEvent) -> Bool,
      _ listener: @escaping (HouseEvent) -> Void
    ) {
      self.kind = kind
      self.isConcerned = isConcerned
      self.listener = listener
    }

    /// Whether the listener may still be called.
    public var isActive: Bool { listener != nil }

    /// The listener is not called again, not even with an event that is being told now.
    public func cancel() { listener = nil }

    fileprivate func wants(_ event: HouseEvent) -> Bool {
      isActive && (kind == nil || kind == event.kind) && isConcerned(event)
    }
  }

  private let loop: EventLoop
  private var subscriptions: [Subscription] = []
  /// How many subscriptions there may be before the cancelled ones among them are dropped.
  private var roomForSubscriptions = 16
  private var queue: [() -> Void] = []
  private var isTelling = false
  private var isClosed = false

  init(loop: EventLoop) { self.loop = loop }

  /// Whether something has happened that listeners have not been told yet.
  public var hasPending: Bool { isTelling || !queue.isEmpty }

  /// Calls `listener` with every event of `kind`, nil for all, that happens from now on.
  /// - Parameter isConcerned: whether an event is meant. Asked in the middle of what causes the event, when the house
  ///   is what it was when it happened: only looks, and touches nothing.
  @discardableResult
  public func on(
    _ kind: HouseEvent.Kind? = nil, where isConcerned: @escaping (HouseEvent) -> Bool = { _ in true },
    _ listener: @escaping (HouseEvent) -> Void
  ) -> Subscription {
    let subscription = Subscription(kind, isConcerned, listener)
    if isClosed { subscription.cancel() } else { subscriptions.append(subscription) }
    // In a house where nothing happens, somebody may wait for ever with a timeout each time.
    if subscriptions.count > roomForSubscriptions {
      subscriptions.removeAll { !$0.isActive }
      roomForSubscriptions = max(16, 2 * subscriptions.count)
    }
    return subscription
  }

  /// Puts an event in the queue, for those who listen now.
  func tell(_ event: HouseEvent) {
    guard !isClosed else { return }
    subscriptions.removeAll { !$0.isActive }
    let listeners = subscriptions.filter { $0.wants(event) }
    if listeners.isEmpty { return }
    afterEvents { for subscription in listeners { subscription.listener?(event) } }
  }

  /// Calls `body` when all that has happened by now has been told; not when the house closes before.
  public func afterEvents(_ body: @escaping () -> Void) {
    guard !isClosed else { return }
    queue.append(body)
    guard queue.count == 1, !isTelling else { return }
    scheduleTelling()
  }

  /// Drops what is queued and all listeners; nothing is told after this.
  func close() {
    isClosed = true
    queue.removeAll()
    for subscription in subscriptions { subscription.cancel() }
    subscriptions.removeAll()
  }

  private func scheduleTelling() {
    isTelling = true
    loop.next { [self] in tellQueued() }
  }

  /// One batch: what listeners cause meanwhile waits for the next turn, so that two listeners that answer
  /// each other for ever leave room for timers.
  private func tellQueued() {
    let batch = queue
    queue.removeAll(keepingCapacity: true)
    for tell in batch where !isClosed { tell() }
    isTelling = false
    if !queue.isEmpty { scheduleTelling() }
  }
}
