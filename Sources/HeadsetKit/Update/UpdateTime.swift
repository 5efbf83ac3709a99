internal import EventLoop
internal import HeadsetLink

/// The progress of an update, with the remaining time.
public struct UpdateEstimate: Equatable, Sendable {
  /// The progress: 0 to 1, never less than before.
  public let fraction: Double
  /// The time until the image is written; nil while nothing is measured, and once it is written.
  public let left: Duration?

  /// Creates an estimate.
  public init(fraction: Double, left: Duration?) { (self.fraction, self.left) = (fraction, left) }
}

/// The time that the rest of an image takes: before the first write by the time of an answer, then by the
/// pace of the writes, which includes losses of the link and the time to connect again.
struct UpdateTime {
  /// The progress of the writes of this update.
  private struct Pace {
    /// The bytes that the board has.
    var bytes: Int
    /// The bytes written in `seconds`, up to `last`.
    var gained = 0.0
    var seconds = 0.0
    var last: Instant
  }

  /// The time in seconds after which earlier writes count half.
  private static let memory = 600.0

  /// The part of the image for which the time of an answer counts.
  private static let presumed = 1.0 / 16
  /// The seconds beyond which there is no estimate: years.
  private static let longest = 1e8

  private let size: Int
  /// The bytes of a write; the maximum until the board has reported its limit.
  private var chunk = WriteTransfer.longestData
  /// The number of answers to short requests, and their total time in seconds, including lost requests.
  private var answers = (count: 0, seconds: 0.0)
  private var pace: Pace?

  /// - Parameter size: bytes of the image.
  init(of size: Int) { self.size = size }

  /// Applies the time of a short request until its answer, or until its loss.
  mutating func asked(isAnswered: Bool, in time: Duration) {
    answers.count += isAnswered ? 1 : 0
    answers.seconds += time.inSeconds
  }

  /// Notes that writing begins, or continues after a loss, from `offset` on.
  mutating func write(from offset: Int, chunk: Int, at now: Instant) {
    self.chunk = chunk
    advance(to: now)
    if pace == nil { pace = Pace(bytes: offset, last: now) }
    pace?.bytes = offset
  }

  /// Applies the number of bytes of the image that the board has.
  mutating func acknowledged(_ bytes: Int, at now: Instant) {
    advance(to: now)
    guard var pace else { return }
    pace.gained += Double(max(0, bytes - pace.bytes))
    pace.bytes = bytes
    if pace.seconds > Self.memory { (pace.gained, pace.seconds) = (pace.gained / 2, pace.seconds / 2) }
    self.pace = pace
  }

  private mutating func advance(to now: Instant) {
    guard var pace else { return }
    pace.seconds += pace.last.duration(to: now).inSeconds
    pace.last = now
    self.pace = pace
  }

  /// The time until the image is written; nil while nothing is measured, and once it is written.
  func left(at now: Instant) -> Duration? {
    let rest = size - (pace?.bytes ?? 0)
    guard rest > 0 else { return nil }
    var bytes = pace?.gained ?? 0
    var spent = pace.map { $0.seconds + $0.last.duration(to: now).inSeconds } ?? 0
    if answers.count > 0 {
      // A part of the image counts as written in single writes, so that the first loss does not weigh too
      // much: a bad link loses some of the writes that are under way at once.
      let part = max(Double(chunk), Double(size) * Self.presumed)
      (bytes, spent) = (bytes + part, spent + part / Double(chunk) * answers.seconds / Double(answers.count))
    }
    guard bytes > 0 else { return nil }
    let seconds = Double(rest) * spent / bytes
    return seconds < Self.longest ? Duration(inSeconds: seconds) : nil
  }
}
