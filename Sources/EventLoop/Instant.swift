/// A moment on a loop's own time line: the time since the loop was made. Never goes back.
public struct Instant: InstantProtocol, Sendable, Hashable {
  /// Nanoseconds since the loop was made.
  public let nanoseconds: Int64

  /// The moment `nanoseconds` after the loop was made.
  public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// The moment at which the loop was made.
  public static let start = Instant(nanoseconds: 0)

  /// This moment moved by `duration`.
  public func advanced(by duration: Duration) -> Instant {
    Instant(nanoseconds: nanoseconds.addingHeld(duration.nanoseconds))
  }
  /// The time from this moment to `other`.
  public func duration(to other: Instant) -> Duration {
    .nanoseconds(other.nanoseconds.subtractingHeld(nanoseconds))
  }
  /// The last moment not after this one that is a multiple of `grain`, which is above zero: what need not happen on time
  /// can happen together.
  public func roundedDown(to grain: Duration) -> Instant {
    Instant(nanoseconds: nanoseconds / grain.nanoseconds * grain.nanoseconds)
  }
  /// Earlier moments first.
  public static func < (a: Instant, b: Instant) -> Bool { a.nanoseconds < b.nanoseconds }
}

/// A moment of civil time: nanoseconds since 1970-01-01T00:00:00Z, leap seconds not counted (POSIX).
public struct WallTime: Sendable, Hashable, Comparable {
  /// Nanoseconds since the epoch.
  public let nanoseconds: Int64

  /// The moment `nanoseconds` after the epoch.
  public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
  /// The moment `seconds` after the epoch, held at the ends of `Int64` nanoseconds (years 1677 and 2262).
  public init(seconds: Int64) {
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    self.nanoseconds = overflow ? (seconds > 0 ? .max : .min) : product
  }

  /// Whole seconds since the epoch, rounded down.
  public var seconds: Int64 {
    let (whole, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    return rest < 0 ? whole - 1 : whole
  }
  /// This moment moved by `duration`.
  public func advanced(by duration: Duration) -> WallTime {
    WallTime(nanoseconds: nanoseconds.addingHeld(duration.nanoseconds))
  }
  /// The time from this moment to `other`.
  public func duration(to other: WallTime) -> Duration {
    .nanoseconds(other.nanoseconds.subtractingHeld(nanoseconds))
  }
  /// Earlier moments first.
  public static func < (a: WallTime, b: WallTime) -> Bool { a.nanoseconds < b.nanoseconds }
}

extension Duration {
  /// The duration in whole nanoseconds, cut, and held at the ends of `Int64` (±292 years).
  public var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    if overflow { return seconds > 0 ? .max : .min }
    return scaled.addingHeld(attoseconds / 1_000_000_000)
  }
}

extension Int64 {
  /// The sum, held at the ends of the type: a time beyond them is "never", not a crash.
  func addingHeld(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other > 0 ? .max : .min) : sum
  }
  /// The difference, held at the ends of the type.
  func subtractingHeld(_ other: Int64) -> Int64 {
    let (difference, overflow) = subtractingReportingOverflow(other)
    return overflow ? (other < 0 ? .max : .min) : difference
  }
}
