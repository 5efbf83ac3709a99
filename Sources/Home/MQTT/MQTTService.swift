public import EventLoop
internal import Glibc
internal import JSONText
public import MQTT

/// The connection of an engine to a broker of MQTT, shared by scripts, triggers and Home Assistant; in a simulation a
/// broker in memory. Confined to the loop.
public final class MQTTService: MessageBroker {
  /// The state of the connection.
  public enum State: Equatable, Sendable {
    /// No broker is configured.
    case notConfigured
    /// No part of the home has needed the broker.
    case idle
    /// The first connection is being opened.
    case connecting
    /// Since that moment.
    case connected(WallTime)
    /// Since that moment, with the reason in words.
    case away(WallTime, String)
  }

  /// The place of the process in the house.
  public enum Role: Sendable {
    /// The process of the house: has the last will of the house, and connects at the start.
    case house
    /// A process beside the house, which connects when it needs the broker.
    case guest
  }

  /// The journal of a simulation's messages; nil without one.
  public var journal: Journal?
  /// The settings; nil without a configured broker.
  public let options: MQTTOptions?
  /// The state of the connection.
  public private(set) var state: State {
    didSet {
      guard state != .connecting, !early.isEmpty else { return }
      let waiting = early
      early = []
      for sender in waiting { sender.resume() }
    }
  }
  /// The name of this client at the broker.
  public let clientID: String
  /// The message that is passed to its listeners now; nil otherwise.
  public private(set) var delivered: MQTTMessage?

  private enum Backend {
    case none
    case connection(MQTTConnection)
    case simulated
    case closed
  }

  let loop: EventLoop
  let role: Role
  private let network: () throws -> EventLoop
  let triggers: TriggerService
  private let log: (LogLevel, String) -> Void
  private var backend = Backend.none
  var rules: [MQTTTrigger]
  private var subscriptions: [String: (filter: MQTTFilter, listeners: Listeners<(MQTTMessage) -> Void>)] = [:]
  private var followers = Listeners<(BrokerChange) -> Void>()
  private var newFilters: (all: Set<MQTTFilter>, inOrder: [MQTTFilter]) = ([], [])
  private var sending: [Int: CheckedContinuation<Void, any Error>] = [:]
  /// The senders that wait for the result of the first attempt to connect.
  private var early: [CheckedContinuation<Void, Never>] = []
  private var lastToken = 0
  let complaints: MQTTComplaints
  private let simulation: MQTTSimulation
  private var identity = HouseIdentity()
  var listensForTriggers = false
  private var isDrained = false
  /// The rules of triggers that scripts beside the house listen for.
  var needed: [String: Need] = [:]

  /// A service that has not begun.
  /// - Parameters:
  ///   - options: nil without a configured broker.
  ///   - network: the loop of the network thread, which begins with the first use.
  ///   - planned: the messages of a simulation.
  public init(
    loop: EventLoop, options: MQTTOptions?, role: Role, triggers: TriggerService,
    planned: [PlannedMessage] = [], network: @escaping () throws -> EventLoop,
    log: @escaping (LogLevel, String) -> Void
  ) {
    (self.loop, self.options, self.role, self.triggers) = (loop, options, role, triggers)
    (self.network, self.log) = (network, log)
    rules = options?.triggers ?? []
    state = options == nil && !loop.isVirtual ? .notConfigured : .idle
    clientID =
      options?.connection(ofHouse: role == .house, process: getpid(), host: Self.hostName).clientID ?? ""
    complaints = MQTTComplaints(loop: loop, log: log)
    simulation = MQTTSimulation(planned)
    if loop.isVirtual { start() }
  }

  /// The first part of the home's own topics.
  public var base: String { options?.base ?? "roomtone" }
  /// `true` if there is a broker, also one of a simulation.
  public var isConfigured: Bool { state != .notConfigured }
  /// `true` while the broker has accepted the login.
  public var isConnected: Bool { if case .connected = state { true } else { false } }
  /// `true` in a simulation that has messages to come.
  public var isExpecting: Bool { simulation.isExpecting }
  /// The messages of a simulation that have not come.
  public var planned: [PlannedMessage] { simulation.missing }
  /// `true` in a simulation.
  public var isSimulated: Bool { loop.isVirtual }

  private static var hostName: String { Machine.hostName ?? "host" }

  // MARK: The course

  /// Connects, unless that has begun, or no broker is configured.
  public func start() {
    loop.assertOnLoop()
    guard case .none = backend, isConfigured else { return }
    if loop.isVirtual {
      backend = .simulated
      state = .connected(loop.wallNow)
      listenForTriggers()
      schedulePlanned()
      return
    }
    guard let options else { return }
    do {
      let connection = MQTTConnection(
        options.connection(ofHouse: role == .house, process: getpid(), host: Self.hostName),
        on: try network(), owner: loop, seed: UInt64(loop.wallNow.nanoseconds.magnitude),
        onReport: { [weak self] in self?.receive($0) },
        onDropped: { [weak self] in self?.complaints.addFlood($0) },
        onMessage: { [weak self] in self?.receive($0, filter: $1) })
      backend = .connection(connection)
      state = .connecting
      listenForTriggers()
      if role == .house { watchForOtherHouses(options) }
      connection.start()
    } catch { log(.error, "MQTT can't begin: \(error)") }
  }

  /// Ends the connection tidily.
  public func close() {
    if case .connection(let connection) = backend { connection.close() }
    backend = .closed
    if isConfigured { state = .away(loop.wallNow, "it is closed") }
    simulation.cancel()
    complaints.cancel()
    let waiting = sending
    sending = [:]
    for token in waiting.keys.sorted() { waiting[token]?.resume(throwing: notConnected) }
    (subscriptions, followers) = ([:], Listeners())
  }

  /// Sends the messages that wait, for two seconds at most, and logs how many are not sent. Runs the loop: not from inside
  /// it.
  public func drain() {
    guard case .connection(let connection) = backend else { return }
    let hold = loop.hold("messages are sent to a broker")
    defer { hold.release() }
    isDrained = false
    connection.drain(within: .seconds(2))
    _ = loop.run(until: { isDrained })
  }

  private func receive(_ report: MQTTReport) {
    let broker = options?.settings.address ?? ""
    switch report {
    case .connected(let failures):
      state = .connected(loop.wallNow)
      if let failures {
        let after = failures > 0 ? ", after \(failures) attempt\(failures == 1 ? "" : "s") that failed" : ""
        log(.info, "MQTT: connected to \(broker)\(after)")
      }
      if role == .house, let options { announceIdentity(options) }
      for follower in followers.all { follower(.connected) }
    case .steady(let failures):
      log(
        .info, "MQTT: the connection to \(broker) is steady again, after \(failures) that failed or were lost"
      )
    case .disconnected(let reason, let isNew):
      state = .away(loop.wallNow, reason)
      if isNew {
        log(.warn, "MQTT: the connection to \(broker) is lost: \(reason.onOneLine); it comes back by itself")
      }
      for follower in followers.all { follower(.disconnected(reason)) }
    case .unreachable(let failure):
      let reason = failure.reason.onOneLine
      state = .away(loop.wallNow, reason)
      switch failure {
      case .login:
        log(
          .error,
          "MQTT: no login at \(broker): \(reason); user and password_file in mqtt { } have to be right (tried every 30 s)"
        )
      case .library(let error):
        log(.error, "MQTT: \(error.message); \(error.hint), then start this again")
      case .network, .protocolVersion:
        log(.warn, "MQTT: \(broker) can't be reached: \(reason) (tried until it works)")
      }
    case .sent(let token): sending.removeValue(forKey: token)?.resume()
    case .unsent(let token, let kind):
      let error =
        kind == .notConnected ? notConnected : MQTTError(kind, "\(broker) does not accept the message")
      sending.removeValue(forKey: token)?.resume(throwing: error)
    case .overflow(let count):
      log(
        .warn,
        "MQTT: \(count) message\(count == 1 ? "" : "s") for \(broker) dropped: 1,000 or 1 MB wait at most")
    case .drained(let count):
      isDrained = true
      guard count > 0 else { break }
      log(
        .warn,
        "MQTT: \(count) message\(count == 1 ? "" : "s") for \(broker) dropped, as this process ends before \(count == 1 ? "it is" : "they are") sent"
      )
    case .refused(let topic):
      complaints.add(topic, "\(broker) refuses it: its rules do not allow it to this user")
    case .tooLarge(let topic, let bytes):
      complaints.add(
        topic,
        bytes > MQTTMessage.largestPayload
          ? "a message of \(bytes) bytes is dropped: \(MQTTMessage.largestPayload) are the limit"
          : "a message is dropped: its topic is not valid")
    }
  }

  private var notConnected: MQTTError {
    let broker = options?.settings.address ?? "the broker"
    return if case .away(_, let reason) = state {
      MQTTError(.notConnected, "\(broker) is away: \(reason.onOneLine)")
    } else { MQTTError(.notConnected, "\(broker) is not connected yet") }
  }

  /// Creates a hold on the loop, for a caller that waits for messages.
  public func holdLoop() -> Hold { loop.hold("messages of a broker are awaited") }

  // MARK: Messages

  /// Sends a message. While the broker is away up to 1,000 messages or 1 MB wait, of a retained topic the newest.
  public func send(_ message: MQTTMessage) {
    loop.assertOnLoop()
    start()
    switch backend {
    case .connection(let connection): connection.send(message)
    case .simulated: simulate(message)
    case .none, .closed: break
    }
  }

  /// Sends a message, and returns when it has left, or is acknowledged where `qos` asks for that.
  /// - Throws: `mqtt.not_configured`, `mqtt.not_connected`, `mqtt.refused`.
  public func publish(_ message: MQTTMessage) async throws {
    guard isConfigured else { throw MQTTError(.notConfigured, "no broker is configured") }
    start()
    guard case .connection(let connection) = backend else { return send(message) }
    let hold = loop.hold("a message is sent to a broker")
    defer { hold.release() }
    await firstAttempt()
    guard isConnected else { throw notConnected }
    lastToken += 1
    let token = lastToken
    try await withCheckedThrowingContinuation { continuation in
      sending[token] = continuation
      connection.send(message, token: token)
    }
  }

  /// Sends a message as `send`. A process other than that of the house, which may end at once, waits for the result of its
  /// first attempt to connect.
  public func queue(_ message: MQTTMessage) async {
    send(message)
    guard role != .house else { return }
    let hold = loop.hold("a message is sent to a broker")
    defer { hold.release() }
    await firstAttempt()
  }

  /// Waits for the result of the first attempt to connect: a script that has just begun need not know that its first use
  /// of the broker connects.
  private func firstAttempt() async {
    if state == .connecting { await withCheckedContinuation { early.append($0) } }
  }

  /// Calls `listener` with each message whose topic matches `filter`, also after the broker was away.
  /// - Parameter filter: a correct filter.
  /// - Returns: a function that ends that.
  public func subscribe(to filter: String, _ listener: @escaping (MQTTMessage) -> Void) -> () -> Void {
    guard let filter = try? MQTTFilter(filter) else { preconditionFailure("not a filter: \(filter)") }
    return subscribe(to: filter, listener)
  }

  /// Calls `listener` with each message whose topic matches `filter`, also after the broker was away.
  /// - Returns: a function that ends that.
  public func subscribe(to filter: MQTTFilter, _ listener: @escaping (MQTTMessage) -> Void) -> () -> Void {
    loop.assertOnLoop()
    start()
    let number = subscriptions[filter.text, default: (filter, Listeners())].listeners.add(listener)
    if newFilters.all.isEmpty { loop.next { [weak self] in self?.sendFilters() } }
    if newFilters.all.insert(filter).inserted { newFilters.inOrder.append(filter) }
    return { [weak self] in self?.unsubscribe(filter, number) }
  }

  /// Subscribes to the filters of a turn together: each time the broker sends its retained messages again.
  private func sendFilters() {
    let filters = newFilters.inOrder
    newFilters = ([], [])
    for filter in filters where subscriptions[filter.text] != nil {
      switch backend {
      case .connection(let connection): connection.subscribe(filter)
      case .simulated: for message in simulation.retained(filter) { receive(message, filter: filter.text) }
      case .none, .closed: break
      }
    }
  }

  private func unsubscribe(_ filter: MQTTFilter, _ number: Int) {
    subscriptions[filter.text]?.listeners.remove(number)
    guard let entry = subscriptions[filter.text], entry.listeners.count == 0 else { return }
    subscriptions[filter.text] = nil
    if case .connection(let connection) = backend { connection.unsubscribe(filter) }
  }

  /// Calls `listener` with each change of the connection.
  /// - Returns: a function that ends that.
  public func follow(_ listener: @escaping (BrokerChange) -> Void) -> () -> Void {
    let number = followers.add(listener)
    return { [weak self] in self?.followers.remove(number) }
  }

  /// Passes a message on.
  /// - Parameter filter: the filter that it came for; nil if the broker does not say.
  private func receive(_ message: MQTTMessage, filter: String?) {
    delivered = message
    defer { delivered = nil }
    if let filter {
      for listener in subscriptions[filter]?.listeners.all ?? [] { listener(message) }
      return
    }
    for name in subscriptions.keys.sorted() {
      guard let entry = subscriptions[name], entry.filter.matches(message.topic) else { continue }
      for listener in entry.listeners.all { listener(message) }
    }
  }

  // MARK: Other houses

  private func watchForOtherHouses(_ options: MQTTOptions) {
    _ = subscribe(to: options.identityTopic) { [weak self] message in
      guard let self, !message.isRetained else { return }
      let id = String(decoding: message.payload.prefix(64), as: UTF8.self)
      switch identity.receive(id, at: loop.now) {
      case .own: break
      case .known(let answers):
        if answers { announceIdentity(options) }
      case .other:
        log(
          .error,
          "MQTT: another house uses the base topic \(quoted(options.base)) at \(options.settings.address), and both act on each other's commands; set base = \"another\" in mqtt { } of one"
        )
        announceIdentity(options)
      }
    }
  }

  private func announceIdentity(_ options: MQTTOptions) {
    send(MQTTMessage(options.identityTopic, Array(identity.id.utf8)))
  }

  // MARK: Simulation

  private func schedulePlanned() {
    simulation.schedule(on: loop) { [weak self] message in self?.receive(message, filter: nil) }
  }

  private func simulate(_ message: MQTTMessage) {
    let text = String(validating: message.payload, as: UTF8.self)
    journal?.report(
      .message, of: .house, message.topic, to: .text(text ?? "\(message.payload.count) bytes"),
      facts: message.isRetained ? [.init("retained", true)] : [])
    simulation.keep(message)
    var delivered = message
    delivered.isRetained = false
    loop.next { [weak self] in self?.receive(delivered, filter: nil) }
  }
}
