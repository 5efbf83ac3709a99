/// A moment on a loop's own monotonic time line: the time since the loop was created.
public struct Instant: InstantProtocol, Sendable, Hashable {
  /// The nanoseconds since the loop was created.
  public let nanoseconds: Int64

  /// Creates the moment `nanoseconds` after the loop was created.
  public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// The moment at which the loop was created.
  public static let start = Instant(nanoseconds: 0)

  /// Returns this moment moved by `duration`.
  public func advanced(by duration: Duration) -> Instant {
    Instant(nanoseconds: nanoseconds.addingHeld(duration.nanoseconds))
  }
  /// Returns the time from this moment to `other`.
  public func duration(to other: Instant) -> Duration {
    .nanoseconds(other.nanoseconds.subtractingHeld(nanoseconds))
  }
  /// Returns the last multiple of `grain`, which is above zero, that is not after this moment: events that
  /// tolerate delay can then happen together.
  public func roundedDown(to grain: Duration) -> Instant {
    Instant(nanoseconds: nanoseconds / grain.nanoseconds * grain.nanoseconds)
  }
  /// `true` if `a` is earlier than `b`.
  public static func < (a: Instant, b: Instant) -> Bool { a.nanoseconds < b.nanoseconds }
}

/// A moment of civil time: nanoseconds since 1970-01-01T00:00:00Z, leap seconds not counted (POSIX).
public struct WallTime: Sendable, Hashable, Comparable {
  /// The nanoseconds since the epoch.
  public let nanoseconds: Int64

  /// Creates the moment `nanoseconds` after the epoch.
  public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
  /// Creates the moment `seconds` after the epoch, clamped to the range of `Int64` nanoseconds (years 1677 to
  /// 2262).
  public init(seconds: Int64) {
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    self.nanoseconds = overflow ? (seconds > 0 ? .max : .min) : product
  }
  /// Creates the moment a number of seconds after the epoch, truncated to nanoseconds; `inSeconds` is within
  /// ±292 years.
  public init(inSeconds: Double) { nanoseconds = Int64(inSeconds * 1e9) }

  /// The whole seconds since the epoch, rounded down.
  public var seconds: Int64 {
    let (whole, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    return rest < 0 ? whole - 1 : whole
  }
  /// The seconds since the epoch, with their fraction.
  public var inSeconds: Double { Double(nanoseconds) / 1e9 }
  /// Returns this moment moved by `duration`.
  public func advanced(by duration: Duration) -> WallTime {
    WallTime(nanoseconds: nanoseconds.addingHeld(duration.nanoseconds))
  }
  /// Returns the time from this moment to `other`.
  public func duration(to other: WallTime) -> Duration {
    .nanoseconds(other.nanoseconds.subtractingHeld(nanoseconds))
  }
  /// `true` if `a` is earlier than `b`.
  public static func < (a: WallTime, b: WallTime) -> Bool { a.nanoseconds < b.nanoseconds }
}

extension Duration {
  /// The duration in whole nanoseconds, truncated, and clamped to the range of `Int64` (±292 years).
  public var nanoseconds: Int64 {
    Int64(clamping: attoseconds / 1_000_000_000)
  }

  /// The duration in whole milliseconds, truncated.
  public var inMilliseconds: Int64 { nanoseconds / 1_000_000 }

  /// The duration in seconds, with their fraction, from its whole nanoseconds.
  public var inSeconds: Double { Double(nanoseconds) / 1e9 }

  /// Creates the duration of a number of seconds, truncated to nanoseconds; within ±292 years.
  public init(inSeconds: Double) { self = .nanoseconds(Int64(inSeconds * 1e9)) }
}

extension Int64 {
  /// Returns the nanoseconds of a clock, clamped to the range of the type: a clock that is set beyond April
  /// 2262 stays there, and nothing later becomes due.
  static func nanoseconds(seconds: Int64, rest: Int64) -> Int64 {
    WallTime(seconds: seconds).nanoseconds.addingHeld(rest)
  }
  /// Returns the sum, clamped to the range of the type: a time beyond it is "never", not a crash.
  func addingHeld(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other > 0 ? .max : .min) : sum
  }
  /// Returns the difference, clamped to the range of the type.
  func subtractingHeld(_ other: Int64) -> Int64 {
    let (difference, overflow) = subtractingReportingOverflow(other)
    return overflow ? (other < 0 ? .max : .min) : difference
  }
}
