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
  private var planned: [PlannedMessage]
  private var retained: [String: MQTTMessage] = [:]
  private var timers: [LoopTimer] = []
  private var coming = 0

  init(_ planned: [PlannedMessage]) { self.planned = planned }

  /// `true` if messages are to come.
  var isExpecting: Bool { coming > 0 }

  /// Delivers the planned messages at their times; those before now never come.
  func schedule(on loop: EventLoop, _ deliver: @escaping (MQTTMessage) -> Void) {
    let now = loop.wallNow
    let due = planned.filter { $0.time >= now }
    planned = []
    coming = due.count
    timers = due.map { planned in
      loop.at(planned.time) { [weak self] in
        self?.coming -= 1
        deliver(planned.message)
      }
    }
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
