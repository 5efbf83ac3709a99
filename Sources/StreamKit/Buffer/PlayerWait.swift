/// The sound that must be buffered before a player starts, or resumes after it ran dry.
///
/// The length set by the user; otherwise 0.7 s, as a live player is stretched from then on until more is kept
/// (`Stream.keepReserve`): that costs less silence than to wait for more.
struct PlayerWait: Sendable, Equatable {
  private static let usual = StreamTime(seconds: 0.7)

  /// The length set by the user; nil for the rule.
  var requested: StreamTime?

  /// The sound that must be buffered.
  var time: StreamTime { requested ?? Self.usual }
}
