public import EventLoop

/// A source of PCM that is read from its beginning to its end, and may be repositioned.
///
/// Confined to one thread at a time; may be moved to another between calls.
public protocol Decoder: AnyObject {
  /// The rate and channels of the frames that `read` returns. May change between two reads (a stream that
  /// changes its format).
  var format: AudioFormat { get }

  /// The length of the whole source in frames at `format.sampleRate`, nil if it can't be known.
  var frameCount: Int? { get }

  /// The error of a source that has fewer frames than its header states, if this was known when it was
  /// opened; `frameCount` counts the existing frames. Nil for a complete source, or if it can't be known.
  var shortfall: AudioError? { get }

  /// Reads the next frames.
  /// - Parameter buffer: interleaved room for a whole number of frames of `format.channels` samples.
  /// - Returns: the number of written frames, from the start of `buffer`; 0 at the end of the source.
  /// - Throws: `AudioError` (`audio.unreadable`) with the content found and its byte.
  func read(into buffer: UnsafeMutableBufferPointer<Float>) throws -> Int

  /// Moves the read position to a frame, counted from the start of the source at `format.sampleRate`.
  /// - Throws: `AudioError` if the source can't be repositioned there.
  func seek(toFrame frame: Int) throws
}

extension Decoder {
  /// Nil: the source's header states no length.
  public var shortfall: AudioError? { nil }
}

/// A decoder of a live stream, whose frames arrive over time.
public protocol LiveDecoder: Decoder {
  /// `true` if the last `read` returned fewer frames than there was room for because no more had arrived;
  /// otherwise it was the end.
  var isWaiting: Bool { get }

  /// Sets the function to be called, on any thread, when frames have arrived after a `read` that left the
  /// decoder waiting. Called once, before the first `read`.
  func onFrames(_ wake: @escaping @Sendable () -> Void)
}
