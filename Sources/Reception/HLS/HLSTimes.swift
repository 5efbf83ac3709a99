internal import StreamCore

/// The times that segments state for their sound, compared with the length of its frames: lost sound shows as
/// a time later than the end of the frame before.
///
/// Times are ticks of 90 kHz of 33 bits, which begin again after 26 hours.
struct HLSTimes: Sendable {
  static let ticksPerSecond = 90_000.0
  private static let limit = 64
  /// The tolerance in seconds: packagers round times, so a smaller difference is no loss unless a packet was
  /// lost.
  private static let tolerance = 0.25
  /// The limit in seconds beyond which a time belongs to another clock.
  private static let farthest = 60.0

  /// The times of sound bytes that have not come in frames.
  private var anchors: [(position: Int, ticks: Int)] = []
  /// The time of the next frame in ticks; nil while unknown.
  private(set) var next: Double?
  /// The sound byte before which a packet was lost, until a later time is known.
  private var damage: Int?

  /// Records the time of the sound from a byte on.
  mutating func anchor(at position: Int, ticks: Int) {
    anchors.append((position, ticks))
    // If no frames come, only the last times are kept.
    if anchors.count > Self.limit { anchors.removeFirst() }
  }

  /// Notes that a packet was lost before a sound byte.
  mutating func damage(at position: Int) { damage = damage ?? position }

  /// Ends the times: those that follow belong to another clock.
  mutating func interrupt() { self = HLSTimes() }

  /// Passes a frame: `next` is then the time of its end.
  /// - Returns: the seconds missing before it.
  mutating func advance(to frame: StreamFrame) -> Double {
    var missing = 0.0
    while let anchor = anchors.first, anchor.position <= frame.offset {
      anchors.removeFirst()
      if let next { missing += Self.ticks(from: next, to: Double(anchor.ticks)) / Self.ticksPerSecond }
      next = Double(anchor.ticks)
      let isDamaged = damage.map { $0 <= anchor.position } ?? false
      if isDamaged { damage = nil }
      let least = isDamaged ? frame.duration.seconds * 0.75 : Self.tolerance
      if !(least...Self.farthest).contains(missing) { missing = 0 }
    }
    next = next.map { $0 + frame.duration.seconds * Self.ticksPerSecond }
    return missing
  }

  /// Returns the ticks from one time to another, negative for an earlier one.
  static func ticks(from start: Double, to end: Double) -> Double {
    let period = Double(1 << 33)
    var ticks = (end - start).truncatingRemainder(dividingBy: period)
    if ticks > period / 2 { ticks -= period }
    if ticks < -period / 2 { ticks += period }
    return ticks
  }
}
