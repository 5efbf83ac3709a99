internal import EventLoop

/// Tells listeners what happens in a house. Confined to the loop.
///
/// An event reaches its listeners in order of subscription, in a turn of the loop of its own, after whatever
/// caused it has returned. Events that listeners cause come after the current one has reached all of them.
/// A listener is told of events that happen after it subscribed, never of one that is still on its way.
public final class EventHub {
  /// A listener's place in the hub. Lives until it is cancelled, whether or not anybody keeps it.
  public final class Subscription {
    fileprivate let since: UInt64
    fileprivate var listener: ((Told) -> Void)?

    fileprivate init(since: UInt64, listener: @escaping (Told) -> Void) {
      self.since = since
      self.listener = listener
    }

    /// Whether the listener may still be called.
    public var isActive: Bool { listener != nil }

    /// The listener is not called again, not even with an event that is being told now.
    public func cancel() { listener = nil }
  }

  /// What stands in the one queue.
  fileprivate enum Told {
    case event(HouseEvent)
    case suspension(SuspensionEvent)
  }

  private let loop: EventLoop
  private var subscriptions: [Subscription] = []
  private var queue: [(number: UInt64, told: Told)] = []
  private var count: UInt64 = 0
  private var isTelling = false
  private var isClosed = false

  init(loop: EventLoop) { self.loop = loop }

  /// Whether something has happened that listeners have not been told yet.
  public var hasPending: Bool { isTelling || !queue.isEmpty }

  /// Calls `listener` with every event of `kind`, nil for all, that happens from now on.
  @discardableResult
  public func on(
    _ kind: HouseEvent.Kind? = nil, _ listener: @escaping (HouseEvent) -> Void
  ) -> Subscription {
    subscribe { told in
      if case .event(let event) = told, kind == nil || kind == event.kind { listener(event) }
    }
  }

  /// Calls `listener` with every suspension that happens from now on, in its place among the events.
  @discardableResult
  public func onSuspension(_ listener: @escaping (SuspensionEvent) -> Void) -> Subscription {
    subscribe { told in if case .suspension(let event) = told { listener(event) } }
  }

  private func subscribe(_ listener: @escaping (Told) -> Void) -> Subscription {
    let subscription = Subscription(since: count, listener: listener)
    if isClosed { subscription.cancel() } else { subscriptions.append(subscription) }
    return subscription
  }

  /// Puts an event in the queue.
  func tell(_ event: HouseEvent) { tell(.event(event)) }

  /// Puts a suspension in the queue.
  func tell(_ event: SuspensionEvent) { tell(.suspension(event)) }

  private func tell(_ told: Told) {
    guard !isClosed else { return }
    count += 1
    // Who subscribes later is not told of it.
    if subscriptions.isEmpty { return }
    queue.append((count, told))
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
    for (number, told) in batch {
      for subscription in subscriptions where subscription.since < number { subscription.listener?(told) }
    }
    subscriptions.removeAll { !$0.isActive }
    isTelling = false
    if !queue.isEmpty { scheduleTelling() }
  }
}
