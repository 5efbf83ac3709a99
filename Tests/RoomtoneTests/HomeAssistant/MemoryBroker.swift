import Home
import MQTT

/// A broker in memory, which keeps retained messages as a real one does, also while its clients are away.
final class MemoryBroker: MessageBroker {
  let base: String
  private(set) var isConnected = false
  /// The retained messages, by topic.
  private(set) var retained: [String: [UInt8]] = [:]
  /// All messages that were sent by this client, in order.
  private(set) var sent: [MQTTMessage] = []
  private var subscriptions: [Int: (filter: String, listener: (MQTTMessage) -> Void)] = [:]
  private var followers: [Int: (BrokerChange) -> Void] = [:]
  private var last = 0

  /// - Parameter retained: the messages that others have left.
  init(base: String = "roomtone", retained: [String: [UInt8]] = [:]) {
    (self.base, self.retained) = (base, retained)
  }

  func connect() {
    isConnected = true
    for (filter, listener) in subscriptions.sorted(by: { $0.key < $1.key }).map(\.value) {
      deliverRetained(filter, listener)
    }
    for follower in followers.sorted(by: { $0.key < $1.key }).map(\.value) { follower(.connected) }
  }

  /// Ends the connection.
  /// - Parameter forgets: `true` if the broker loses its retained messages.
  func disconnect(forgets: Bool = false) {
    isConnected = false
    if forgets { retained = [:] }
    for follower in followers.values { follower(.disconnected("the broker has closed the connection")) }
  }

  func send(_ message: MQTTMessage) {
    sent.append(message)
    if message.isRetained { retained[message.topic] = message.payload.isEmpty ? nil : message.payload }
  }

  /// Delivers a message of another client.
  func deliver(_ topic: String, _ payload: [UInt8], isRetained: Bool = false) {
    let message = MQTTMessage(topic, payload, isRetained: isRetained)
    for (filter, listener) in subscriptions.values where Self.matches(filter, topic) { listener(message) }
  }

  func deliver(_ topic: String, _ payload: String, isRetained: Bool = false) {
    deliver(topic, Array(payload.utf8), isRetained: isRetained)
  }

  func subscribe(to filter: String, _ listener: @escaping (MQTTMessage) -> Void) -> () -> Void {
    last += 1
    let number = last
    subscriptions[number] = (filter, listener)
    if isConnected { deliverRetained(filter, listener) }
    return { [weak self] in self?.subscriptions[number] = nil }
  }

  func follow(_ listener: @escaping (BrokerChange) -> Void) -> () -> Void {
    last += 1
    let number = last
    followers[number] = listener
    return { [weak self] in self?.followers[number] = nil }
  }

  /// Forgets what was sent.
  func forgetSent() { sent = [] }

  private func deliverRetained(_ filter: String, _ listener: (MQTTMessage) -> Void) {
    for (topic, payload) in retained.sorted(by: { $0.key < $1.key }) where Self.matches(filter, topic) {
      listener(MQTTMessage(topic, payload, isRetained: true))
    }
  }

  static func matches(_ filter: String, _ topic: String) -> Bool {
    let (filter, topic) = (
      filter.split(separator: "/", omittingEmptySubsequences: false),
      topic.split(separator: "/", omittingEmptySubsequences: false)
    )
    for (index, level) in filter.enumerated() {
      if level == "#" { return true }
      guard index < topic.count, level == "+" || level == topic[index] else { return false }
    }
    return filter.count == topic.count
  }
}
