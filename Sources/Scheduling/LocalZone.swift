public import EventLoop
internal import Glibc

/// The civil time of a place: what its clocks show at a moment.
public protocol LocalZone: Sendable {
  /// What the zone is called in messages.
  var name: String { get }
  /// How far the zone's clocks are ahead of UTC, in seconds, at a moment in seconds since the epoch.
  func offset(at seconds: Int) -> Int
}

/// When a clock shows a time.
public enum LocalMatch: Sendable, Equatable {
  /// At one moment.
  case once(WallTime)
  /// At two moments: the clocks were put back in between.
  case twice(WallTime, WallTime)
  /// Never: the clocks were put forward over it, at this moment.
  case skipped(WallTime)

  /// The moment for something that is to happen once: the first of two, and right after a gap. This is what
  /// Debian's cron does.
  public var moment: WallTime {
    switch self {
    case .once(let moment), .twice(let moment, _), .skipped(let moment): moment
    }
  }
}

extension LocalZone {
  /// What calendar and clock of the zone show at a moment.
  public func local(_ time: WallTime) -> LocalDateTime {
    let seconds = Int(time.seconds)
    return LocalDateTime(clockSeconds: seconds + offset(at: seconds))
  }

  /// When the zone's clocks show `local`.
  ///
  /// Asks for the offset alone, hour by hour around the moment, and trusts no flag for daylight-saving time. Two
  /// changes within one hour are taken for one.
  public func match(_ local: LocalDateTime) -> LocalMatch {
    let shown = local.clockSeconds
    var moments: [Int] = []
    var gap: Int?
    // A clock is at most 26 hours away from UTC, so the moment lies within.
    let (first, last) = (shown - 27 * 3600, shown + 27 * 3600)
    var (begin, offset) = (first, offset(at: first))
    for hour in stride(from: first + 3600, through: last, by: 3600) {
      let next = self.offset(at: hour)
      if next == offset && hour < last { continue }
      let end = next == offset ? last : change(after: hour - 3600, until: hour)
      if (begin..<end).contains(shown - offset) { moments.append(shown - offset) }
      if next > offset, (end + offset..<end + next).contains(shown) { gap = end }
      (begin, offset) = (end, next)
    }
    switch (moments.first, moments.last) {
    case (let first?, let last?) where first != last: return .twice(wall(first), wall(last))
    case (let first?, _): return .once(wall(first))
    default: return .skipped(wall(gap ?? shown - offset))
    }
  }

  /// The first second after `from` at which the offset is not the one at `from`, up to `to`, where it is not.
  func change(after from: Int, until to: Int) -> Int {
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
  /// `local time`.
  public let name = "local time"

  /// The zone as it is now.
  public init() { tzset() }

  /// Any thread.
  public func offset(at seconds: Int) -> Int {
    var (time, fields) = (time_t(seconds), tm())
    return localtime_r(&time, &fields) == nil ? 0 : fields.tm_gmtoff
  }
}
