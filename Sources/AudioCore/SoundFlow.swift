/// What becomes of sound that is played by a clock, without anybody who asks for it.
public enum SoundFlow: Sendable {
  /// It goes on.
  case flows
  /// It stands, as no more has come.
  case waits
  /// Its last frame has been heard.
  case ended
}
