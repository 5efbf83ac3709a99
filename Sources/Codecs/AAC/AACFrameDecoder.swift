/// Decodes AAC frame by frame.
///
/// The interface passes only values and bytes, so a decoder may live in a child process: libfaad has a
/// history of faults that a hostile frame can use.
protocol AACFrameDecoder: AnyObject {
  /// Restarts the decoder for frames of `configuration`.
  /// - Throws: `AACFailure` when the configuration is not supported.
  func start(_ configuration: AACConfiguration) throws(AACFailure)

  /// Decodes raw data blocks, without an ADTS header, and replaces `samples` by their interleaved samples.
  /// The channels have WAV's order. The first frame after `start` returns its samples too, which fade in.
  /// - Throws: `AACFailure`; the decoder continues with the next frame as after `start`.
  func decode(_ frame: ArraySlice<UInt8>, into samples: inout [Float]) throws(AACFailure) -> DecodedAAC

  /// Resets the position in the stream: the next frame comes from elsewhere in the same stream.
  func reset()
}

/// The format and length of a decoded frame of AAC.
struct DecodedAAC: Sendable, Equatable {
  /// Sample rate in Hz; twice the core's rate when bands are replicated (HE-AAC).
  let sampleRate: Int
  /// Channels; 2 for mono too, since parametric stereo may begin at any frame.
  let channels: Int
  /// The number of PCM frames.
  let frames: Int
  /// The number of bytes of the frame that were used.
  let length: Int
}

/// A frame that could not be decoded, in the decoder's words.
struct AACFailure: Error, Equatable {
  let words: String
}
