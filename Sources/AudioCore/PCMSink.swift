/// A destination of PCM: a file, a sound card, or none.
///
/// The blocking end: each sink is driven by a writer thread of its own, never by the audio thread or the
/// loop. Confined to one thread at a time; may be moved to another between calls.
public protocol PCMSink: AnyObject {
  /// The rate and channels of the samples that `write` accepts.
  var format: AudioFormat { get }

  /// Writes the next frames; may block until the sink accepts them.
  /// - Parameter samples: interleaved, a whole number of frames of `format.channels` samples, full scale ±1.
  /// - Throws: `AudioError` (`audio.no_output`) with the system's words if the medium is full or gone.
  func write(_ samples: UnsafeBufferPointer<Float>) throws

  /// Ends the output: completes everything written and closes the medium. A second call does nothing; `write`
  /// after it throws.
  func finish() throws
}
