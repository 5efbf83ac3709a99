public import EventLoop

/// The clock of a station, in its own time zone.
public struct StationClock: Sendable {
  /// Returns the lead over UTC in seconds, at a moment in seconds since the epoch.
  private let offset: @Sendable (Int) -> Int

  /// Creates a clock from its lead over UTC in seconds, at a moment in seconds since the epoch.
  public init(offset: @escaping @Sendable (Int) -> Int) { self.offset = offset }

  private static let day = 86_400

  /// Returns the moment nearest to `now`, yesterday, today or tomorrow, at which `sinceMidnight` has passed
  /// on the clock.
  ///
  /// When the clock is set back a time comes twice, and the nearer one counts. When it is set forward a time
  /// is skipped, and counts as if the clock had not been set.
  public func moment(_ sinceMidnight: Duration, near now: WallTime) -> WallTime {
    let seconds = Int(now.seconds)
    let today = (seconds + offset(seconds)).dividedDown(by: Self.day)
    let offsets = [0, -Self.day, Self.day].map { offset(seconds + $0) }
    var best: WallTime?
    for day in (today - 1)...(today + 1) {
      let midnights = offsets.map { WallTime(seconds: Int64(day * Self.day - $0)) }
      let moments = midnights.map { $0.advanced(by: sinceMidnight) }
      let real = zip(moments, offsets).filter { offset(Int($0.0.seconds)) == $0.1 }.map(\.0)
      for moment in real.isEmpty ? Array(moments.prefix(1)) : real {
        if best.map({ distance(moment, now) < distance($0, now) }) ?? true { best = moment }
      }
    }
    return best ?? now
  }

  private func distance(_ a: WallTime, _ b: WallTime) -> Duration {
    a < b ? a.duration(to: b) : b.duration(to: a)
  }
}

extension Int {
  /// Returns the quotient, rounded down.
  fileprivate func dividedDown(by divisor: Int) -> Int {
    let (quotient, rest) = quotientAndRemainder(dividingBy: divisor)
    return rest < 0 ? quotient - 1 : quotient
  }
}
