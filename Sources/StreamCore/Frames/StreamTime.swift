internal import EventLoop

/// A length of audio, or a position in a stream, counted exactly whatever the sample rates are.
///
/// A tick is 1/28,224,000 s, of which a sample of every rate of MPEG audio and AAC has a whole number:
/// positions do not drift in streams that run for months and change their rate.
public struct StreamTime: Sendable, Hashable, Comparable, AdditiveArithmetic {
  /// The number of ticks in a second.
  public static let ticksPerSecond = 28_224_000
  /// The length of no audio.
  public static let zero = StreamTime(ticks: 0)

  /// The number of ticks.
  public var ticks: Int

  /// Creates a length of `ticks`.
  @inlinable public init(ticks: Int) { self.ticks = ticks }

  /// Creates the length of `samples` at `sampleRate` Hz; zero when the rate is not above 0.
  public init(samples: Int, sampleRate: Int) {
    guard sampleRate > 0 else {
      ticks = 0
      return
    }
    let (seconds, rest) = samples.quotientAndRemainder(dividingBy: sampleRate)
    ticks = seconds * Self.ticksPerSecond + rest * Self.ticksPerSecond / sampleRate
  }

  /// Creates the length nearest to `seconds`, at most 1e10 s in either direction, some three hundred years;
  /// zero for NaN.
  public init(seconds: Double) {
    let limit = 1e10
    ticks =
      seconds.isNaN
      ? 0 : Int((min(limit, max(-limit, seconds)) * Double(Self.ticksPerSecond)).rounded())
  }

  /// Creates the length nearest to a duration.
  public init(_ duration: Duration) {
    self.init(seconds: duration.inSeconds)
  }

  /// The length in seconds.
  public var seconds: Double { Double(ticks) / Double(Self.ticksPerSecond) }

  /// Returns the number of whole samples in it.
  package func samples(at sampleRate: Int) -> Int {
    let (seconds, rest) = ticks.quotientAndRemainder(dividingBy: Self.ticksPerSecond)
    return seconds * sampleRate + rest * sampleRate / Self.ticksPerSecond
  }

  /// Returns `true` if the left length is less.
  @inlinable public static func < (left: StreamTime, right: StreamTime) -> Bool { left.ticks < right.ticks }
  /// Returns the sum.
  @inlinable public static func + (left: StreamTime, right: StreamTime) -> StreamTime {
    StreamTime(ticks: left.ticks + right.ticks)
  }
  /// Returns the difference.
  @inlinable public static func - (left: StreamTime, right: StreamTime) -> StreamTime {
    StreamTime(ticks: left.ticks - right.ticks)
  }
}
