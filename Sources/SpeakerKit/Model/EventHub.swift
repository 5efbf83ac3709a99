internal import EventLoop

/// Delivers the events of a house to listeners. Confined to the loop.
///
/// An event reaches its listeners in order of subscription, in a turn of the loop of its own, after its cause
/// has returned. Events that listeners cause come after the current one has reached all of them. A listener
/// receives events that occur after it subscribed, never one that was queued before.
public final class EventHub {
  /// A registered listener. Lives until it is cancelled, whether or not the caller keeps it.
  public final class Subscription {
    fileprivate let kind: HouseEvent.Kind?
    /// `true` if events of kind `time` are among all kinds.
    fileprivate let wantsSeconds: Bool
    fileprivate let isConcerned: (HouseEvent) -> Bool
    fileprivate var listener: ((HouseEvent) -> Void)?
    fileprivate weak var hub: EventHub?

    fileprivate init(
      _ kind: HouseEvent.Kind?, _ wantsSeconds: Bool, _ isConcerned: @escaping (HouseEvent) -> Bool,
      _ listener: @escaping (HouseEvent) -> Void
    ) {
      self.kind = kind
      self.wantsSeconds = wantsSeconds
      self.isConcerned = isConcerned
      self.listener = listener
    }

    /// `true` if the listener may still be called.
    public var isActive: Bool { listener != nil }

    /// Cancels the subscription: the listener is not called again, not even with an event that is being
    /// delivered.
    public func cancel() {
      if isForSeconds { hub?.secondsCount -= 1 }
      listener = nil
    }

    /// `true` if it is for events of kind `time`.
    fileprivate var isForSeconds: Bool { isActive && (kind == nil ? wantsSeconds : kind == .time) }

    fileprivate func wants(_ event: HouseEvent) -> Bool {
      isActive && (kind == nil || kind == event.kind) && isConcerned(event)
    }
  }

  /// An event for those that were its listeners when it occurred, or a call after the events before it.
  private enum Delivery {
    case event(HouseEvent, to: [Subscription], isByController: Bool)
    case call(() -> Void)
  }

  private let loop: EventLoop
  private var subscriptions: [Subscription] = []
  /// The number of active listeners for events of kind `time`.
  private var secondsCount = 0
  /// The number of subscriptions above which cancelled ones are dropped.
  private var roomForSubscriptions = 16
  private var queue: [Delivery] = []
  private var isDelivering = false
  private var isClosed = false
  /// Called when all listeners have received an event.
  public var onDelivered: () -> Void = {}
  /// `true` while changes by another controller are reported.
  private(set) var isReportedByController = false
  /// `true` while an event is delivered that another controller has caused.
  public private(set) var isByController = false
  /// Called when the first listener for events of kind `time` has subscribed.
  var onSecondsWanted: () -> Void = {}

  init(loop: EventLoop) { self.loop = loop }

  /// `true` if a listener is for events of kind `time`, which cost a timer a second.
  var wantsSeconds: Bool { secondsCount > 0 }

  /// `true` if events wait to be delivered, or are being delivered.
  public var hasPending: Bool { isDelivering || !queue.isEmpty }

  /// Calls `listener` with every event of `kind`, nil for all, that occurs from now on.
  /// - Parameters:
  ///   - wantsSeconds: `false` for a listener to all kinds that needs none of kind `time`: sessions need not wake every
  ///     second for it.
  ///   - isConcerned: `true` if the listener receives the event. Called in the middle of the event's cause, when the
  ///     house has the state of that moment: may only read, and change nothing.
  @discardableResult
  public func on(
    _ kind: HouseEvent.Kind? = nil, wantsSeconds: Bool = true,
    where isConcerned: @escaping (HouseEvent) -> Bool = { _ in true },
    _ listener: @escaping (HouseEvent) -> Void
  ) -> Subscription {
    let subscription = Subscription(kind, wantsSeconds, isConcerned, listener)
    if isClosed {
      subscription.cancel()
    } else {
      subscription.hub = self
      subscriptions.append(subscription)
      if subscription.isForSeconds {
        secondsCount += 1
        if secondsCount == 1 { onSecondsWanted() }
      }
    }
    // In a house without events, repeated waits with a timeout would add cancelled subscriptions for ever.
    if subscriptions.count > roomForSubscriptions {
      subscriptions.removeAll { !$0.isActive }
      roomForSubscriptions = max(16, 2 * subscriptions.count)
    }
    return subscription
  }

  /// Queues an event for the current listeners.
  func emit(_ event: HouseEvent) {
    guard !isClosed else { return }
    if !subscriptions.allSatisfy(\.isActive) { subscriptions.removeAll { !$0.isActive } }
    let listeners = subscriptions.selected { $0.wants(event) }
    if listeners.isEmpty { return }
    append(.event(event, to: listeners, isByController: isReportedByController))
  }

  /// Calls `body`, whose events are those of changes by another controller.
  func byController(_ body: () -> Void) {
    isReportedByController = true
    body()
    isReportedByController = false
  }

  /// Calls `body`, whose events are those of this house's own changes, also among those by another controller.
  func byItself(_ body: () -> Void) {
    let wasByController = isReportedByController
    isReportedByController = false
    body()
    isReportedByController = wasByController
  }

  /// Calls `body` when all events so far have been delivered; never when the house closes before.
  public func afterEvents(_ body: @escaping () -> Void) {
    guard !isClosed else { return }
    append(.call(body))
  }

  private func append(_ delivery: consuming Delivery) {
    queue.append(delivery)
    guard queue.count == 1, !isDelivering else { return }
    scheduleDelivery()
  }

  /// Drops queued events and all listeners; delivers nothing from then on.
  func close() {
    isClosed = true
    queue.removeAll()
    for subscription in subscriptions { subscription.cancel() }
    subscriptions.removeAll()
    onDelivered = {}
  }

  private func scheduleDelivery() {
    isDelivering = true
    loop.next { [self] in deliverQueued() }
  }

  /// Delivers one batch: events that listeners cause meanwhile wait for the next turn, so that two listeners
  /// that answer each other for ever leave room for timers.
  private func deliverQueued() {
    let batch = queue
    queue.removeAll(keepingCapacity: true)
    for delivery in batch where !isClosed {
      perform(delivery)
      onDelivered()
    }
    isDelivering = false
    if !queue.isEmpty { scheduleDelivery() }
  }

  private func perform(_ delivery: Delivery) {
    switch delivery {
    case .event(let event, let listeners, let isByController):
      self.isByController = isByController
      for subscription in listeners { subscription.listener?(event) }
      self.isByController = false
    case .call(let body): body()
    }
  }
}

extension Array {
  /// Returns the elements that satisfy a condition, which is evaluated once for each: the array itself, not a copy, where
  /// all of them do.
  func selected(_ isSelected: (Element) -> Bool) -> [Element] {
    guard let first = firstIndex(where: { !isSelected($0) }) else { return self }
    return self[..<first] + self[(first + 1)...].filter(isSelected)
  }
}
