internal import EventLoop
internal import Scheduling

/// The lines of the log about a script that held the loop, and with it all others, for long: for each of its lines one a
/// minute, unless it holds still longer.
struct HoldLog {
  private static let interval = Duration.seconds(60)
  /// The most lines of a script that are remembered.
  private static let mostPlaces = 100
  private var reported: [String: (at: Instant, time: Duration)] = [:]

  /// Returns the line for a hold; nil when one is reported already.
  mutating func line(_ time: Duration, at location: String?, now: Instant) -> String? {
    let place = location ?? ""
    if let last = reported[place], last.at.duration(to: now) < Self.interval, time < last.time * 2 {
      return nil
    }
    if reported.count >= Self.mostPlaces { reported = [:] }
    reported[place] = (now, time)
    let milliseconds = Duration.milliseconds(time.inMilliseconds)
    return
      "\(location.map { "\($0): " } ?? "")it held all other scripts for \(DurationText.describe(milliseconds)); "
      + "let long work suspend: task.sleep(0) between its steps"
  }
}
