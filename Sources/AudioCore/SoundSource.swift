public import EventLoop

/// A source of sound other than a file, such as a stream, that a session can play.
///
/// Sendable: the thread that decodes ahead requests a decoder.
public protocol SoundSource: AnyObject, Sendable {
  /// Creates a decoder at the position that the source plays now, for the calling thread: one that decodes
  /// ahead, or the loop under virtual time.
  /// - Throws: a `CodedError` with the reason why there is no sound.
  func makeDecoder() throws -> any Decoder
}

/// A source that can be played without a decoder if its sound is not heard: it follows a clock of its own.
public protocol ClockedSound: SoundSource {
  /// Checks that there is sound, before it is played by its clock. On the loop.
  /// - Throws: as `makeDecoder`.
  func prepareClock() throws
  /// Plays by its clock from now on; if `paused` is true, the clock is stopped until the session resumes. On
  /// the loop.
  /// - Parameter report: receives each change of the flow, on the loop; the sound flows from the first
  ///   `flows` on.
  func play(byClock report: @escaping (SoundFlow) -> Void, paused: Bool)
  /// Stops the clock with its session, or starts it again.
  func pause(_ isPaused: Bool)
}

extension ClockedSound {
  /// Does nothing: the source has sound, or waits for it.
  public func prepareClock() throws {}
}

/// A source with a time of its own, which its session shows instead of the heard time: a file that is
/// received as a stream. On the loop.
public protocol TimedSound: SoundSource {
  /// The time of the source that is heard, in seconds; nil if it has no time, as a live source.
  var time: Double? { get }
  /// The length of the whole source in seconds; nil if it is not known.
  var length: Double? { get }
  /// Seeks to a time of the source.
  /// - Throws: `CodedError`, also when it has no time.
  func seek(to seconds: Double) throws
}

/// The flow of sound that is played by a clock, without a decoder.
public enum SoundFlow: Sendable {
  /// Sound is heard.
  case flows
  /// Silence, as no more sound has come.
  case waits
  /// The last frame has been heard; `failure` is the reason why it is not the end of the source.
  case ended(failure: (any CodedError)? = nil)
}
