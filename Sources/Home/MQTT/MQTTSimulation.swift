public import EventLoop
public import MQTT

/// A message of a simulation with its time.
public struct PlannedMessage: Sendable {
  /// The moment at which it comes.
  public let time: WallTime
  /// The message.
  public let message: MQTTMessage

  /// A message that comes at `time`.
  public init(at time: WallTime, _ message: MQTTMessage) { (self.time, self.message) = (time, message) }
}

/// The broker of a simulation: its planned messages and its retained ones. Confined to the loop.
final class MQTTSimulation {
  private static let mostRetained = 1000
  private let planned: [PlannedMessage]
  private var come: Set<Int> = []
  private var coming = 0
  private var retained: [String: MQTTMessage] = [:]
  private var timers: [LoopTimer] = []

  init(_ planned: [PlannedMessage]) { self.planned = planned }

  /// `true` if messages are to come.
  var isExpecting: Bool { coming > 0 }

  /// Delivers the planned messages at their times; those before now never come.
  func schedule(on loop: EventLoop, _ deliver: @escaping (MQTTMessage) -> Void) {
    let now = loop.wallNow
    for (index, next) in planned.enumerated() where next.time >= now {
      coming += 1
      timers.append(
        loop.at(next.time) { [weak self] in
          self?.hasCome(index)
          deliver(next.message)
        })
    }
  }

  private func hasCome(_ index: Int) {
    coming -= 1
    come.insert(index)
  }

  /// The messages that have not come.
  var missing: [PlannedMessage] {
    planned.enumerated().filter { !come.contains($0.offset) }.map(\.element)
  }

  /// Keeps a retained message; an empty one ends that.
  func keep(_ message: MQTTMessage) {
    guard message.isRetained else { return }
    if message.payload.isEmpty {
      retained[message.topic] = nil
    } else if retained.count < Self.mostRetained || retained[message.topic] != nil {
      retained[message.topic] = message
    }
  }

  /// Returns the retained messages of a filter, sorted by topic.
  func retained(_ filter: MQTTFilter) -> [MQTTMessage] {
    retained.values.filter { filter.matches($0.topic) }.sorted { $0.topic < $1.topic }
  }

  func cancel() { for timer in timers { timer.cancel() } }
}
