internal import EventLoop
internal import HeadsetKit

/// The progress of an update where no line can be redrawn: a line at the beginning, if the update takes long,
/// and then at intervals.
struct UpdateLines {
  /// The estimated time from which on an update is reported at its beginning.
  private static let least = Duration.seconds(10)
  /// The intervals in the first minute, and after it.
  private static let (early, late) = (Duration.seconds(10), Duration.seconds(60))

  /// The name of the headset.
  private let name: String
  private let start: ContinuousClock.Instant
  private var last: ContinuousClock.Instant?

  /// Creates the lines of an update that begins now.
  init(of name: String, from start: ContinuousClock.Instant) { (self.name, self.start) = (name, start) }

  /// Returns the line that is due; nil when no line is due.
  mutating func line(for estimate: UpdateEstimate, at now: ContinuousClock.Instant) -> String? {
    if let last {
      let interval = start.duration(to: now) <= Self.late ? Self.early : Self.late
      guard last.duration(to: now) >= interval else { return nil }
    } else {
      // Before the first interval has ended, only an update that takes long has a line.
      guard estimate.left ?? .zero >= Self.least || start.duration(to: now) >= Self.early else { return nil }
    }
    last = now
    return "updating \(name): \(PercentLine.percent(estimate.fraction)) %\(Self.words(for: estimate))"
  }

  /// Returns the time that is left, as ", about 3 min left"; empty where it is unknown, or over.
  static func words(for estimate: UpdateEstimate) -> String {
    guard let left = estimate.left else { return "" }
    let seconds = left.inSeconds
    if seconds < 55 { return ", about \(max(5, Int((seconds / 5).rounded(.up)) * 5)) s left" }
    let minutes = Int((seconds / 60).rounded(.up))
    if minutes < 100 { return ", about \(minutes) min left" }
    return ", about \(minutes / 60) h \(minutes % 60) min left"
  }
}
