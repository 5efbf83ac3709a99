/// Where PCM ends: a file, a sound card, nothing.
///
/// The blocking end: each sink is driven by a writer thread of its own, never by the audio thread or the loop.
/// Confined to one thread at a time; may be moved to another between calls.
public protocol PCMSink: AnyObject {
  /// Rate and channels of what `write` takes.
  var format: AudioFormat { get }

  /// Takes the next frames; returns when the sink has them, which may be as late as it needs them.
  /// - Parameter samples: interleaved, a whole number of frames of `format.channels` samples, full scale ±1.
  /// - Throws: `AudioError` (`audio.no_output`) with the system's words when the medium is full or gone.
  func write(_ samples: UnsafeBufferPointer<Float>) throws

  /// Ends the output: everything written has been handed over, what can be closed is closed. A second call does
  /// nothing; `write` after it throws.
  func finish() throws
}
