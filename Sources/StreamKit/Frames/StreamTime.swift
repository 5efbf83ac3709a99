/// A length of audio, or a place in a stream, counted exactly whatever the sample rates are.
///
/// A tick is 1/28,224,000 s, of which a sample of every rate of MPEG audio and AAC takes a whole number: positions do
/// not drift in streams that run for months and change their rate.
public struct StreamTime: Sendable, Hashable, Comparable, AdditiveArithmetic {
  /// Ticks in a second.
  public static let ticksPerSecond = 28_224_000
  /// No time.
  public static let zero = StreamTime(ticks: 0)

  /// Number of ticks.
  public var ticks: Int

  /// So many ticks.
  public init(ticks: Int) { self.ticks = ticks }

  /// What `samples` take at `sampleRate` Hz; none when the rate is not above 0.
  public init(samples: Int, sampleRate: Int) {
    guard sampleRate > 0 else {
      ticks = 0
      return
    }
    let (seconds, rest) = samples.quotientAndRemainder(dividingBy: sampleRate)
    ticks = seconds * Self.ticksPerSecond + rest * Self.ticksPerSecond / sampleRate
  }

  /// The tick nearest to `seconds`, which may be anything: beyond three hundred years it is that, no number is none.
  public init(seconds: Double) {
    let limit = 1e10
    ticks =
      seconds.isNaN
      ? 0 : Int((min(limit, max(-limit, seconds)) * Double(Self.ticksPerSecond)).rounded())
  }

  /// The tick nearest to a duration.
  public init(_ duration: Duration) {
    self.init(seconds: Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18)
  }

  /// In seconds.
  public var seconds: Double { Double(ticks) / Double(Self.ticksPerSecond) }

  /// The earlier is less.
  public static func < (left: StreamTime, right: StreamTime) -> Bool { left.ticks < right.ticks }
  /// The sum.
  public static func + (left: StreamTime, right: StreamTime) -> StreamTime {
    StreamTime(ticks: left.ticks + right.ticks)
  }
  /// The difference.
  public static func - (left: StreamTime, right: StreamTime) -> StreamTime {
    StreamTime(ticks: left.ticks - right.ticks)
  }
}
