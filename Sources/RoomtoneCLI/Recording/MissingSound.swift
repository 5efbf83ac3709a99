internal import EventLoop
internal import RecordingKit

/// The part that a recording lacks, when it is large enough to be reported to a person.
struct MissingSound: Equatable, CustomStringConvertible {
  /// Planned length, and the missing part of it, in seconds.
  let planned: Double
  let missing: Double
  /// `true` if the station was unavailable at the end.
  let isCutOff: Bool

  /// Missing seconds above which a report is made, also for a small share.
  private static let most = 60.0
  /// Missing share of the planned length above which a report is made.
  private static let share = 0.05

  /// Sums up the missing sound.
  /// - Parameters:
  ///   - late: time without sound before the recording began.
  ///   - seconds: recorded length.
  ///   - gaps: gaps in the recording.
  /// - Returns: nil when little or nothing is missing.
  init?(late: Duration, seconds: Double, gaps: [RecordingEntry.Gap]) {
    missing = gaps.reduce(max(0, late.inSeconds)) { $0 + max(0, min($1.seconds, 1e9)) }
    planned = seconds + missing
    isCutOff = gaps.last.map { $0.at >= seconds - 0.1 } ?? false
    guard isCutOff || missing > Self.most || missing > planned * Self.share else { return nil }
  }

  /// Text of the report: `1:50:00 of 2:00:00 is missing, up to the end`.
  var description: String {
    "\(RecordingText.clock(missing.rounded())) of \(RecordingText.clock(planned.rounded())) is missing"
      + (isCutOff ? ", up to the end" : "")
  }
}
