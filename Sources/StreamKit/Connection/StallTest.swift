public import EventLoop

/// Judges the silence of a connection that is open.
///
/// A server sends what it has as a burst, and from then on as fast as it is heard. A silence of 0.4 of the burst (1.5
/// s at least, 3 s at most), or of twice the longest pause of the last minute where that is more, is a stall: who
/// connects beside it by then still finds what was missed within the new burst. In the first ten seconds, while the
/// pace is not known, it takes 5 s. What comes at no pace, or is sound of no known length, does not stall. After
/// `limit` the connection counts as dead in any case.
public struct StallTest: Sendable {
  /// The time for which the pace must have held.
  private static let proof = Duration.seconds(10)
  /// A silence that is a stall before the pace is known.
  private static let unproven = Duration.seconds(5)
  /// The longest silence of a steady pace: half of the least that counts as a stall.
  private static let longestPause = Duration.milliseconds(750)
  /// Pauses count for one to two of these.
  private static let window = Duration.seconds(60)
  /// The shortest wait: reading alone may take as long.
  private static let leastLimit = Duration.seconds(3)
  /// The time behind the first byte in which the burst comes: sound beyond what is heard by then.
  private static let burstTime = Duration.milliseconds(500)

  /// The longest that nothing may come.
  public var limit: Duration
  private let isPaced: Bool
  private let connected: Instant
  private var first: Instant?
  private var last: Instant?
  /// Since when the pace has held.
  private var steadySince: Instant?
  private var audio = Duration.zero
  private var burst = Duration.zero
  /// The longest pause of this window, and of the one before.
  private var (pause, pauseBefore) = (Duration.zero, Duration.zero)
  private var windowStart: Instant?

  /// A connection that was asked for at `now`.
  /// - Parameter limit: the longest that nothing may come.
  /// - Parameter isPaced: `true` if sound comes at the pace of hearing; else only `limit` counts.
  public init(at now: Instant, limit: Duration, isPaced: Bool = true) {
    connected = now
    self.isPaced = isPaced
    self.limit = limit
  }

  /// Bytes were read, which hold `audio` of sound, as far as that is known by now.
  /// - Parameter look: the longest time that they may have waited to be read.
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

  /// The time after which a steady pace leaves no trace but its length: pauses of two windows.
  static let memory = window * 2

  /// Passes windows of time in which sound has come as evenly as in the last two.
  /// - Returns: the time passed, some windows; the last bytes came so much later.
  mutating func passWindows(_ time: Duration) -> Duration {
    let passed = Self.window * (time.nanoseconds / Self.window.nanoseconds)
    audio += passed
    last = last?.advanced(by: passed)
    windowStart = windowStart?.advanced(by: passed)
    return passed
  }

  /// The moment at which the last byte came, or the connection was requested.
  public var lastReceived: Instant { last ?? connected }

  /// The moment at which the connection counts as dead, unless bytes come before.
  public var timeout: Instant { lastReceived.advanced(by: limit) }

  /// The moment at which the connection has stalled, or counts as dead, unless bytes come before.
  public var deadline: Instant { lastReceived.advanced(by: stallTime ?? limit) }

  /// True if sound has come at a pace for long enough.
  @inline(__always) private var isSteady: Bool {
    guard isPaced, audio > .zero, let steadySince, let last else { return false }
    return steadySince.duration(to: last) >= Self.proof
  }

  /// The longest interval of reading while no player waits; nil while bytes must be read as they come. A
  /// silence is noticed later by that, so a burst must be long enough to hold what is missed.
  @inline(__always) public var longestLook: Duration? {
    guard isSteady, limit >= Self.leastLimit else { return nil }
    // A stall of a burst of 3.5 s is noticed 2.4 s after the last sound at the latest, which leaves a second to connect.
    if burst >= .milliseconds(3500) { return .milliseconds(900) }
    return .milliseconds(burst >= .milliseconds(2500) ? 500 : 250)
  }

  /// The silence that is a stall; nil where there is none before `limit`.
  public var stallTime: Duration? {
    guard isPaced, audio > .zero, let first, let last else { return nil }
    let isProven = first.duration(to: last) >= Self.proof
    let own = isProven ? max(.milliseconds(1500), min(.seconds(3), burst * 2 / 5)) : Self.unproven
    let time = max(own, max(pause, pauseBefore) * 2)
    return time < limit ? time : nil
  }
}
