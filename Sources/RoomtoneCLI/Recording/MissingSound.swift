internal import EventLoop
internal import StreamKit

/// What a recording lacks of what was to be recorded, when that is so much that a person should be told.
struct MissingSound: Equatable, CustomStringConvertible {
  /// What was to be recorded, and what of that never came, in seconds.
  let planned: Double
  let missing: Double
  /// Whether the station was away when the time was over.
  let isCutOff: Bool

  /// So much is told of, even when it is little of the whole.
  private static let most = 60.0
  /// The same as a share of the whole.
  private static let share = 0.05

  /// - Parameters:
  ///   - late: how long there was nothing to hear before it began.
  ///   - seconds: what was recorded.
  /// - Returns: nil when nothing is missing, or little.
  init?(late: Duration, seconds: Double, gaps: [RecordingEntry.Gap]) {
    missing = gaps.reduce(max(0, Double(late.nanoseconds) / 1e9)) { $0 + max(0, min($1.seconds, 1e9)) }
    planned = seconds + missing
    isCutOff = gaps.last.map { $0.at >= seconds - 0.1 } ?? false
    guard isCutOff || missing > Self.most || missing > planned * Self.share else { return nil }
  }

  /// `1:50:00 of 2:00:00 is missing, up to the end`
  var description: String {
    "\(RecordingText.clock(missing.rounded())) of \(RecordingText.clock(planned.rounded())) is missing"
      + (isCutOff ? ", up to the end" : "")
  }
}
