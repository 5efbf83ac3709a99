internal import EventLoop
internal import StreamCore

/// The lead of a recording's sound over the clock, from which the gap at the end is measured if the station
/// fails.
///
/// A burst raises the lead, and sound in large pieces raises it for a moment, so the minimum at the arrivals
/// counts. Clocks drift, and connections hold back, so only the last one or two minutes count.
struct SoundReserve {
  private static let window = Duration.seconds(60)
  /// The longest piece of sound of unknown length: a cluster of WebM.
  private static let longestPiece = StreamTime(seconds: 6)
  /// The tolerance for sound that comes in pieces, and may be in transit.
  private static let slack = StreamTime(seconds: 2)

  /// The time of the first sound; nil before.
  private(set) var first: Instant?
  private var last: Instant?
  /// The minimum lead in this window, and in the previous one; nil while unknown.
  private var (least, leastBefore) = (StreamTime?.none, StreamTime?.none)
  private var windowStart = Instant.start

  /// Notes that sound has come.
  /// - Parameter before: the length of all sound before it, gaps included.
  mutating func came(at now: Instant, before: StreamTime) {
    defer { last = now }
    guard let first else {
      (first, windowStart) = (now, now)
      return
    }
    if windowStart.duration(to: now) >= Self.window { (leastBefore, least, windowStart) = (least, nil, now) }
    let ahead = before - StreamTime(first.duration(to: now))
    least = min(least ?? ahead, ahead)
  }

  /// Returns the length of the gap at the end; nil without a gap.
  /// - Parameters:
  ///   - sound: the length of all received sound, gaps included; nil if unknown.
  ///   - planned: the planned length of the sound; nil without an end.
  func missing(at now: Instant, behind sound: StreamTime?, of planned: StreamTime?) -> StreamTime? {
    guard let first, let last else { return nil }
    let elapsed = StreamTime(first.duration(to: now))
    guard let sound else {
      let before = StreamTime(first.duration(to: last))
      let rest = min(elapsed, planned ?? elapsed) - before
      return rest > Self.longestPiece ? rest : nil
    }
    let reserve = [least, leastBefore].compactMap { $0 }.min() ?? .zero
    let due = elapsed + reserve
    let rest = min(due, planned ?? due) - sound
    return rest > Self.slack ? rest : nil
  }
}
