internal import EventLoop

/// How far the sound of a recording was ahead of the clock while it came, so that what is missing is known when it comes
/// no more.
///
/// A burst puts it ahead, and what comes in large pieces puts it ahead for a moment: the least counts that it was ahead by
/// when more came. Clocks drift, and connections hold back: only the last one or two minutes count.
struct SoundReserve {
  private static let window = Duration.seconds(60)
  /// Sound without a length comes in pieces of so much, at most: that of a cluster of WebM.
  private static let longestPiece = StreamTime(seconds: 6)
  /// Sound comes in pieces, and may be on its way.
  private static let slack = StreamTime(seconds: 2)

  /// When the first sound came; nil before.
  private(set) var first: Instant?
  private var last: Instant?
  /// In this window, and in the one before; nil while it is not known.
  private var (least, leastBefore) = (StreamTime?.none, StreamTime?.none)
  private var windowStart = Instant.start

  /// More has come.
  /// - Parameter before: all sound up to it, with what was missing in it.
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

  /// What is missing at the end.
  /// - Parameters:
  ///   - sound: all that came, with what was missing in it; nil when its length is not known.
  ///   - planned: all that was to come; nil without an end.
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
