/// The state of sound that a clock plays without a consumer.
public enum SoundFlow: Sendable {
  /// Sound is played.
  case flows
  /// Stalled: no more sound has arrived.
  case waits
  /// The last frame has been played.
  case ended
}
