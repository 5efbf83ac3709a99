public import EventLoop
internal import Glibc

/// The civil time of a place: the offset of its clocks at each moment.
public protocol LocalZone: Sendable {
  /// The zone's name in messages.
  var name: String { get }
  /// Returns the offset of the zone's clocks ahead of UTC, in seconds, at a moment in seconds since the
  /// epoch.
  func offset(at seconds: Int) -> Int
}

/// The moments at which a clock shows a time.
public enum LocalMatch: Sendable, Equatable {
  /// A single moment.
  case once(WallTime)
  /// Two moments: the clocks were put back in between.
  case twice(WallTime, WallTime)
  /// A skipped time: the clocks were put forward over it, at this moment.
  case skipped(WallTime)

  /// The moment for an action that is to run once: the first of two, or right after a gap, as Debian's cron
  /// does.
  public var moment: WallTime {
    switch self {
    case .once(let moment), .twice(let moment, _), .skipped(let moment): moment
    }
  }
}

extension LocalZone {
  /// Returns the date and time of the zone at a moment.
  public func local(_ time: WallTime) -> LocalDateTime {
    let seconds = Int(time.seconds)
    return LocalDateTime(clockSeconds: seconds + offset(at: seconds))
  }

  /// Returns the moments at which the zone's clocks show `local`.
  ///
  /// Uses only the offset, at three moments 27 hours apart, and no flag for daylight-saving time. Two changes
  /// within 27 hours count as one; in the zones of the tz database (2025b) no two are less than 95 hours
  /// apart.
  public func match(_ local: LocalDateTime) -> LocalMatch {
    let shown = local.clockSeconds
    var moments: [Int] = []
    var gap: Int?
    // A clock is at most 26 hours away from UTC, so the moment lies within.
    let step = 27 * 3600
    let (first, last) = (shown - step, shown + step)
    var (begin, offset) = (first, offset(at: first))
    func endSpan(at end: Int) {
      if (begin..<end).contains(shown - offset) { moments.append(shown - offset) }
    }
    for time in [shown, last] {
      let next = self.offset(at: time)
      if next == offset { continue }
      let end = change(after: time - step, until: time)
      endSpan(at: end)
      if next > offset, (end + offset..<end + next).contains(shown) { gap = end }
      (begin, offset) = (end, next)
    }
    endSpan(at: last)
    switch (moments.first, moments.last) {
    case (let first?, let last?) where first != last: return .twice(wall(first), wall(last))
    case (let first?, _): return .once(wall(first))
    default: return .skipped(wall(gap ?? shown - offset))
    }
  }

  /// Returns the first second after `from` at which the offset differs from that at `from`, up to `to`, where
  /// it differs.
  public func change(after from: Int, until to: Int) -> Int {
    let before = offset(at: from)
    var (low, high) = (from, to)
    while high - low > 1 {
      let middle = low + (high - low) / 2
      if offset(at: middle) == before { low = middle } else { high = middle }
    }
    return high
  }

  private func wall(_ seconds: Int) -> WallTime { WallTime(seconds: Int64(seconds)) }
}

/// The zone of this process, from `TZ` or `/etc/localtime`, as the C library reads it.
public struct ProcessZone: LocalZone {
  /// The constant `local time`.
  public let name = "local time"

  /// Reads the current zone.
  public init() { tzset() }

  /// Returns the offset of the C library's zone. Any thread.
  public func offset(at seconds: Int) -> Int {
    var (time, fields) = (time_t(seconds), tm())
    return localtime_r(&time, &fields) == nil ? 0 : fields.tm_gmtoff
  }
}
