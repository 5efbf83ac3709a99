/// The sound that must be buffered before a player starts, or resumes after running dry.
///
/// The length set by the user; otherwise 0.7 s: a live player is then stretched until more is kept
/// (`Stream.keepReserve`), which costs less silence than waiting for more.
struct PlayerWait: Sendable, Equatable {
  private static let usual = StreamTime(seconds: 0.7)

  /// The length set by the user; nil for the rule.
  var requested: StreamTime?

  /// The sound that must be buffered.
  var time: StreamTime { requested ?? Self.usual }
}
