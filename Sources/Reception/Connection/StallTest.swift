public import EventLoop

/// Judges the silence of an open connection.
///
/// A server sends its stored sound as a burst, and then in real time. A silence of 0.4 of the burst (1.5 s at
/// least, 3 s at most), or of twice the longest pause of the last minute if that is more, is a stall: a
/// connection opened beside it by then still finds the missed sound within its burst. In the first ten
/// seconds, while the pace is not known, a stall takes 5 s. Sound without a pace or of no known length does
/// not stall. After `limit` the connection counts as dead in any case.
public struct StallTest: Sendable {
  /// The time for which the pace must have held.
  private static let proof = Duration.seconds(10)
  /// The silence that is a stall before the pace is known.
  private static let unproven = Duration.seconds(5)
  /// The longest silence of a steady pace: half of the shortest stall.
  private static let longestPause = Duration.milliseconds(750)
  /// The window of the longest pause: a pause counts for one to two windows.
  private static let window = Duration.seconds(60)
  /// The least `limit` with which bytes are read at intervals: reading and connecting take their time.
  private static let leastLimit = Duration.seconds(3)
  /// The time after the first byte in which the burst comes: the sound beyond real time by then.
  private static let burstTime = Duration.milliseconds(500)

  /// The longest time without bytes.
  public var limit: Duration
  private let isPaced: Bool
  private let connected: Instant
  private var first: Instant?
  private var last: Instant?
  /// The time since which the pace has held.
  private var steadySince: Instant?
  private var audio = Duration.zero
  private var burst = Duration.zero
  /// The longest pause of this window, and of the one before.
  private var (pause, pauseBefore) = (Duration.zero, Duration.zero)
  private var windowStart: Instant?

  /// A connection that was requested at `now`.
  /// - Parameter limit: the longest time without bytes.
  /// - Parameter isPaced: `true` if sound comes in real time; else only `limit` counts.
  public init(at now: Instant, limit: Duration, isPaced: Bool = true) {
    connected = now
    self.isPaced = isPaced
    self.limit = limit
  }

  /// Receives bytes that hold `audio` of sound, as far as it is known by now.
  /// - Parameter look: the longest time that the bytes may have waited to be read.
  public mutating func received(_ audio: Duration, at now: Instant, look: Duration = .zero) {
    if first == nil { first = now }
    let silence = last.map { max(.zero, $0.duration(to: now) - look) }
    if silence.map({ $0 > Self.longestPause }) ?? true { steadySince = now }
    if windowStart.map({ $0.duration(to: now) >= Self.window }) ?? true {
      (pauseBefore, pause, windowStart) = (pause, .zero, now)
    }
    pause = max(pause, silence ?? .zero)
    last = now
    self.audio += audio
    if let first, first.duration(to: now) <= Self.burstTime, self.audio > burst {
      burst = self.audio
    }
  }

  /// The time after which only the length of a steady pace matters: pauses of two windows.
  static let memory = window * 2

  /// Passes windows of time in which sound has come as evenly as in the last two.
  /// - Returns: the time passed, a multiple of the window; the last bytes count as later by it.
  mutating func passWindows(_ time: Duration) -> Duration {
    let passed = Self.window * (time.nanoseconds / Self.window.nanoseconds)
    audio += passed
    last = last?.advanced(by: passed)
    windowStart = windowStart?.advanced(by: passed)
    return passed
  }

  /// The moment at which the last byte came, or the connection was requested.
  public var lastReceived: Instant { last ?? connected }

  /// The moment at which the connection counts as dead, unless bytes come earlier.
  public var timeout: Instant { lastReceived.advanced(by: limit) }

  /// The moment at which the connection stalls, or counts as dead, unless bytes come earlier.
  public var deadline: Instant { lastReceived.advanced(by: stallTime ?? limit) }

  /// `true` if sound has come at a steady pace for long enough.
  @inline(__always) private var isSteady: Bool {
    guard isPaced, audio > .zero, let steadySince, let last else { return false }
    return steadySince.duration(to: last) >= Self.proof
  }

  /// The longest interval of reading while no player waits; nil if bytes must be read as they come. A silence
  /// is noticed later by this interval, so a burst must be long enough to hold the missed sound.
  @inline(__always) public var longestLook: Duration? {
    guard isSteady, limit >= Self.leastLimit else { return nil }
    // A stall after a burst of 3.5 s is noticed at most 2.4 s after the last sound: a second remains to
    // connect.
    if burst >= .milliseconds(3500) { return .milliseconds(900) }
    return .milliseconds(burst >= .milliseconds(2500) ? 500 : 250)
  }

  /// The silence that is a stall; nil if only `limit` counts.
  public var stallTime: Duration? {
    guard isPaced, audio > .zero, let first, let last else { return nil }
    let isProven = first.duration(to: last) >= Self.proof
    let own = isProven ? max(.milliseconds(1500), min(.seconds(3), burst * 2 / 5)) : Self.unproven
    let time = max(own, max(pause, pauseBefore) * 2)
    return time < limit ? time : nil
  }
}
