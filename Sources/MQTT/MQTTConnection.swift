public import EventLoop

// @unchecked Sendable: the stored variables are touched on the network loop only; the methods that any thread may call
// post there.
/// A connection to a broker that is kept for ever: opened again with backoff, with its subscriptions and the messages
/// that wait. Made on the owner's loop, to which it reports; works on the loop of the network thread.
public final class MQTTConnection: @unchecked Sendable {
  private let settings: MQTTSettings
  private let loop: EventLoop
  private let inbox: MQTTInbox
  private let reports: Mailbox<MQTTReport>
  private var machine: MQTTMachine
  private var random: SeededRandom
  private var link: MQTTLink?
  private var generation = 0
  private var timer: LoopTimer?
  private var checkTimer: LoopTimer?
  private var (reading, writing): (FDWatch?, FDWatch?)
  /// The machine's numbers of messages by those of the library.
  private var numbers: [Int32: Int] = [:]
  /// The numbers of filters, which stay the same for all connections. That of one that ends is not used again.
  private var filterNumbers: [String: Int] = [:]
  private var lastFilterNumber = 0
  private var filters: [Int: String] = [:]
  private var requests: [Int32: String] = [:]

  /// A connection that has not begun. The owner's loop.
  /// - Parameters:
  ///   - network: the loop of the network thread.
  ///   - seed: the seed of the jitter of delays.
  ///   - onReport: called on the owner's loop.
  ///   - onDropped: called with a number of messages that were dropped for want of room.
  ///   - onMessage: called with each message, and the filter that it came for if that is known.
  public init(
    _ settings: MQTTSettings, on network: EventLoop, owner: EventLoop, seed: UInt64,
    onReport: @escaping (MQTTReport) -> Void, onDropped: @escaping (Int) -> Void,
    onMessage: @escaping (MQTTMessage, _ filter: String?) -> Void
  ) {
    (self.settings, loop) = (settings, network)
    machine = MQTTMachine(birth: settings.birth)
    random = SeededRandom(seed: seed)
    inbox = MQTTInbox(on: owner, onDropped: onDropped) { onMessage($0.message, $0.filter) }
    // Each message that waits leads to one report at most.
    reports = Mailbox(on: owner, capacity: 16_384) { for report in $0 { onReport(report) } }
  }

  /// Begins. Any thread, as the following methods.
  public func start() { loop.post { self.perform(self.machine.start()) } }

  /// Sends a message, or keeps it while the broker is away.
  /// - Parameter token: the number by which its end is reported; such a message is not kept.
  public func send(_ message: MQTTMessage, token: Int? = nil) {
    loop.post { self.perform(self.machine.send(message, token: token)) }
  }

  /// Subscribes to a filter.
  public func subscribe(_ filter: MQTTFilter) {
    loop.post { self.perform(self.machine.subscribe(filter.text)) }
  }

  /// Ends the subscription to a filter.
  public func unsubscribe(_ filter: MQTTFilter) {
    loop.post {
      self.perform(self.machine.unsubscribe(filter.text))
      if let number = self.filterNumbers.removeValue(forKey: filter.text) { self.filters[number] = nil }
    }
  }

  /// Reports `drained` when no message waits any more, or none can be sent, and after `limit` at the latest.
  public func drain(within limit: Duration) {
    loop.post {
      self.perform(self.machine.drain())
      self.loop.after(limit, keepsAlive: false) { [weak self] in
        guard let self else { return }
        perform(machine.endDrain())
      }
    }
  }

  /// Ends the connection tidily. The owner's loop; nothing is reported after it.
  public func close() {
    inbox.close()
    reports.close()
    loop.post { self.perform(self.machine.end()) }
  }

  // MARK: On the network thread

  private var jitter: Double { Double(random.next() >> 11) / Double(1 << 53) }

  private func perform(_ actions: [MQTTMachine.Action]) {
    for action in actions {
      switch action {
      case .open(let isFive): open(isFive: isFive)
      case .close: drop { $0.close() }
      case .farewell: drop { $0.farewell() }
      case .wait(let time):
        timer?.cancel()
        timer = loop.after(time, keepsAlive: false) { [weak self] in
          guard let self else { return }
          perform(machine.timeout(jitter: jitter))
        }
      case .stopWaiting:
        timer?.cancel()
        timer = nil
      case .subscribe(let filter): subscribe(filter)
      case .unsubscribe(let filter): link?.unsubscribe(filter)
      case .publish(let number, let message):
        switch link?.publish(message) {
        case .queued(let sent): numbers[sent] = number
        case .refused: loop.next { self.perform(self.machine.sent(number, isRefused: true)) }
        // The machine keeps the message for the next connection.
        case .lost, nil: break
        }
      case .report(let report): reports.send(report)
      }
    }
    settle()
  }

  private func subscribe(_ filter: String) {
    guard let link else { return }
    if filterNumbers[filter] == nil {
      // Source: MQTT 5.0, 3.8.2.1.2.
      lastFilterNumber = lastFilterNumber % 268_435_455 + 1
      (filterNumbers[filter], filters[lastFilterNumber]) = (lastFilterNumber, filter)
    }
    guard let number = filterNumbers[filter] else { return }
    switch link.subscribe(filter, number: number) {
    case .queued(let request): requests[request] = filter
    case .refused: reports.send(.refused(filter))
    case .lost: break
    }
  }

  /// Opens a link on a thread of its own: the resolver and the system may take minutes.
  private func open(isFive: Bool) {
    generation += 1
    let (generation, settings) = (generation, settings)
    do throws(LoopError) {
      try startDetachedThread("no thread to connect to a broker") { [self] in
        do throws(MQTTFailure) {
          let link = try MQTTLink(settings, isFive: isFive)
          try link.open()
          loop.post { self.opened(link, generation) }
        } catch {
          loop.post { self.failed(error, generation) }
        }
      }
    } catch {
      loop.next { self.failed(.network(error.message), generation) }
    }
  }

  private func opened(_ link: MQTTLink, _ generation: Int) {
    guard generation == self.generation else { return link.close() }
    self.link = link
    perform(machine.opened())
    guard self.link === link, let socket = link.socket else { return }
    do throws(LoopError) {
      reading = try loop.watch(socket, for: .readable, keepsAlive: false) { [unowned self] _ in
        self.link?.read()
        settle()
      }
    } catch { return failed(.network(error.message), generation) }
    check()
    settle()
  }

  private func failed(_ failure: MQTTFailure, _ generation: Int) {
    guard generation == self.generation else { return }
    perform(machine.failed(failure, jitter: jitter))
  }

  private func check() {
    checkTimer = loop.after(.seconds(max(1, settings.keepAlive / 3)), keepsAlive: false) { [weak self] in
      guard let self, let link else { return }
      link.check()
      check()
      settle()
    }
  }

  private func drop(_ end: (MQTTLink) -> Void) {
    generation += 1
    reading?.cancel()
    writing?.cancel()
    checkTimer?.cancel()
    (reading, writing, checkTimer) = (nil, nil, nil)
    (numbers, requests) = ([:], [:])
    let last = link
    link = nil
    last.map(end)
  }

  /// Applies the events of the link, and watches its socket for writing if need be.
  private func settle() {
    guard let link else { return }
    let events = link.takeEvents()
    for event in events {
      guard self.link === link else { return }
      apply(event)
    }
    guard self.link === link else { return }
    // The events may have led to calls with events of their own.
    if !events.isEmpty { return settle() }
    guard link.wantsToWrite != (writing != nil) else { return }
    writing?.cancel()
    writing = nil
    guard link.wantsToWrite, let socket = link.socket else { return }
    writing = try? loop.watch(socket, for: .writable, keepsAlive: false) { [unowned self] _ in
      self.link?.write()
      settle()
    }
  }

  private func apply(_ event: MQTTLink.Event) {
    switch event {
    case .accepted: perform(machine.accepted())
    case .failed(let failure): perform(machine.failed(failure, jitter: jitter))
    case .message(let message, let numbers):
      if numbers.isEmpty { inbox.send(MQTTInbox.Delivery(message: message, filter: nil)) }
      for number in numbers.sorted() {
        // That of a subscription that has ended has no filter any more.
        guard let filter = filters[number] else { continue }
        inbox.send(MQTTInbox.Delivery(message: message, filter: filter))
      }
    case .dropped(let topic, let bytes): reports.send(.tooLarge(topic: topic, bytes: bytes))
    case .published(let sent, let isRefused):
      if let number = numbers.removeValue(forKey: sent) {
        perform(machine.sent(number, isRefused: isRefused))
      }
    case .answered(let request, let isRefused):
      if let filter = requests.removeValue(forKey: request), isRefused { reports.send(.refused(filter)) }
    }
  }
}
