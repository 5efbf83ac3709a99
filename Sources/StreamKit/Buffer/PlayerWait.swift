/// The sound that is to come before a player starts, or resumes after it ran dry.
///
/// As much as the user said; else 1 s where the connection began with a burst, 2 s without one, and twice as much each
/// time the player has run dry, up to 10 s.
struct PlayerWait: Sendable, Equatable {
  private static let behindBurst = StreamTime(seconds: 1)
  private static let withoutBurst = StreamTime(seconds: 2)
  private static let longest = StreamTime(seconds: 10)

  /// The time that the user said; nil for the rule.
  var given: StreamTime?
  private var chosen = PlayerWait.withoutBurst
  private var hasRunDry = false

  init(given: StreamTime? = nil) { self.given = given }

  /// The sound that is to come.
  var time: StreamTime { given ?? chosen }

  /// True if a burst of `length` is one that a player starts behind.
  static func isBurst(_ length: StreamTime) -> Bool { length >= behindBurst }

  /// The connection has begun with a burst.
  mutating func burstCame() { if !hasRunDry { chosen = Self.behindBurst } }

  /// The player had nothing left to play.
  mutating func ranDry() {
    hasRunDry = true
    chosen = min(Self.longest, chosen + chosen)
  }
}
