public import EventLoop

/// Whether a connection that is open has gone silent.
///
/// A server sends what it has as a burst, and from then on as fast as it is heard. Once it has paused for no longer than
/// 0.75 s for 10 s, a silence of 0.4 of the burst (1.5 s at least, 3 s at most) is a stall: whoever connects again by then still finds what
/// was missed within the new burst. Before, and for what comes at no pace or is sound of no known length, only the time
/// limit counts.
public struct StallTest: Sendable {
  /// For how long the pace must have held.
  private static let proof = Duration.seconds(10)
  /// The longest silence of a steady pace: half of the least that counts as a stall.
  private static let longestPause = Duration.milliseconds(750)
  /// Below it nothing waits to be looked at: that alone may take as long.
  private static let leastLimit = Duration.seconds(3)
  /// What came within this time of the first byte, and is more than was to be heard by then, is the burst.
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

  /// A connection that was asked for at `now`.
  /// - Parameter limit: the longest that nothing may come.
  /// - Parameter isPaced: whether there may be a pace at all; else only `limit` counts.
  public init(at now: Instant, limit: Duration, isPaced: Bool = true) {
    connected = now
    self.isPaced = isPaced
    self.limit = limit
  }

  /// Bytes were read, which hold `audio` of sound, as far as that is known by now.
  /// - Parameter look: how long they may have waited to be read.
  public mutating func received(_ audio: Duration, at now: Instant, look: Duration = .zero) {
    if first == nil { first = now }
    if last.map({ $0.duration(to: now) > Self.longestPause + look }) ?? true { steadySince = now }
    last = now
    self.audio += audio
    if let first, first.duration(to: now) <= Self.burstTime { burst = self.audio }
  }

  /// Sound that the server sent at once when it was connected to.
  public var burstLength: Duration { burst }

  /// When the connection counts as lost if nothing comes before.
  public var deadline: Instant { (last ?? connected).advanced(by: patience) }

  /// Whether it has come at a pace for long enough.
  @inline(__always) private var isSteady: Bool {
    guard isPaced, audio > .zero, let steadySince, let last else { return false }
    return steadySince.duration(to: last) >= Self.proof
  }

  /// How seldom what comes may be looked at when nobody waits for it; nil while it has to be looked at as it comes. A
  /// silence is noticed later by that, so a burst must be long enough to hold what is missed.
  @inline(__always) public var longestLook: Duration? {
    guard isSteady, limit >= Self.leastLimit else { return nil }
    return .milliseconds(burst >= .milliseconds(2500) ? 500 : 250)
  }

  /// How long nothing may come.
  public var patience: Duration {
    guard isSteady else { return limit }
    return min(limit, max(.milliseconds(1500), min(.seconds(3), burst * 2 / 5)))
  }
}
