/// The policy of a live player for sound that comes too late.
public enum CatchUp: String, Sendable, CaseIterable {
  /// Plays the sound that comes first, and is live again.
  case skip
  /// Plays all sound that still comes, later.
  case keep
}
