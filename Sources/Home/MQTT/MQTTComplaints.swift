internal import EventLoop

/// Lines of the log about messages that are not delivered: one for each topic, and for floods one a minute with a count.
/// Confined to the loop.
final class MQTTComplaints {
  private static let mostTopics = 100
  private static let interval = Duration.seconds(60)

  private let loop: EventLoop
  private let log: (LogLevel, String) -> Void
  private var topics: Set<String> = []
  private var flood = 0
  private var timer: LoopTimer?

  init(loop: EventLoop, log: @escaping (LogLevel, String) -> Void) { (self.loop, self.log) = (loop, log) }

  /// Logs a fault of a topic, once.
  func add(_ topic: String, _ problem: String) {
    guard topics.count < Self.mostTopics, topics.insert(topic.excerpt).inserted else { return }
    let last = topics.count == Self.mostTopics ? " (further topics are not named)" : ""
    log(.warn, "MQTT: topic \(quoted(topic.excerpt, atMost: 100)): \(problem.onOneLine)\(last)")
  }

  /// Counts messages that were dropped, as they arrive faster than they are read.
  func addFlood(_ count: Int) {
    flood += count
    guard timer == nil else { return }
    say()
  }

  private func say() {
    timer = nil
    guard flood > 0 else { return }
    log(
      .warn,
      "MQTT: \(flood) message\(flood == 1 ? "" : "s") dropped, as they arrive faster than scripts read them")
    flood = 0
    timer = loop.after(Self.interval, keepsAlive: false) { [weak self] in self?.say() }
  }

  func cancel() {
    timer?.cancel()
    timer = nil
  }
}
