internal import EventLoop

/// Lines of the log about messages that are not delivered: one for each topic, and for floods one a minute with a count.
/// Confined to the loop.
final class MQTTComplaints {
  private static let mostTopics = 100
  private static let interval = Duration.seconds(60)

  private let loop: EventLoop
  private let log: (LogLevel, String) -> Void
  private var topics: Set<String> = []
  private var counts: [Subject: (count: Int, timer: LoopTimer?)] = [:]

  /// Something whose messages are counted.
  private enum Subject: Hashable {
    case flood
    /// The rule of a trigger.
    case rule(String)

    func words(_ count: Int) -> String {
      let messages = "\(count) message\(count == 1 ? "" : "s")"
      return switch self {
      case .flood: "\(messages) dropped, as they arrive faster than scripts read them"
      case .rule(let name):
        "\(messages) did not fire the trigger \(quoted(name)), as \(MQTTTrigger.mostPerSecond) a second do; name a field, or a value by equals"
      }
    }
  }

  init(loop: EventLoop, log: @escaping (LogLevel, String) -> Void) { (self.loop, self.log) = (loop, log) }

  /// Logs a fault of a topic, once.
  func add(_ topic: String, _ problem: String) {
    guard topics.count < Self.mostTopics, topics.insert(topic.excerpt).inserted else { return }
    let last = topics.count == Self.mostTopics ? " (further topics are not named)" : ""
    log(.warn, "MQTT: topic \(quoted(topic.excerpt, atMost: 100)): \(problem.onOneLine)\(last)")
  }

  /// Counts messages that were dropped, as they arrive faster than they are read.
  func addFlood(_ count: Int) { add(count, to: .flood) }

  /// Counts a message that came too soon for the rule of a trigger.
  func addExcess(of rule: String) { add(1, to: .rule(rule)) }

  private func add(_ count: Int, to subject: Subject) {
    counts[subject, default: (0, nil)].count += count
    if counts[subject]?.timer == nil { say(subject) }
  }

  private func say(_ subject: Subject) {
    guard let count = counts.removeValue(forKey: subject)?.count, count > 0 else { return }
    log(.warn, "MQTT: \(subject.words(count))")
    counts[subject] = (
      0, loop.after(Self.interval, keepsAlive: false) { [weak self] in self?.say(subject) }
    )
  }

  func cancel() {
    for (_, timer) in counts.values { timer?.cancel() }
    counts = [:]
  }
}
