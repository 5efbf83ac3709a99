/// The sound that must be buffered before a player starts, or resumes after it ran dry.
///
/// The length set by the user; otherwise 1 s where the connection began with a burst, 2 s without one, and
/// twice as much each time the player has run dry, up to 10 s.
struct PlayerWait: Sendable, Equatable {
  private static let behindBurst = StreamTime(seconds: 1)
  private static let withoutBurst = StreamTime(seconds: 2)
  private static let longest = StreamTime(seconds: 10)

  /// The length set by the user; nil for the rule.
  var requested: StreamTime?
  private var chosen = PlayerWait.withoutBurst
  private var hasRunDry = false

  init(requested: StreamTime? = nil) { self.requested = requested }

  /// The sound that must be buffered.
  var time: StreamTime { requested ?? chosen }

  /// Returns `true` if a burst of `length` is long enough for a player to start behind it.
  static func isBurst(_ length: StreamTime) -> Bool { length >= behindBurst }

  /// Notes that the connection has begun with a burst.
  mutating func burstCame() { if !hasRunDry { chosen = Self.behindBurst } }

  /// Notes that the player had nothing left to play.
  mutating func ranDry() {
    hasRunDry = true
    chosen = min(Self.longest, chosen + chosen)
  }
}
