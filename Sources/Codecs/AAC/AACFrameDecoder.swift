/// Decodes AAC frame by frame.
///
/// All that passes are values and bytes, so a decoder may live in a child process: libfaad has a history of
/// faults that a hostile frame can use.
protocol AACFrameDecoder: AnyObject {
  /// Begins anew with frames of `configuration`.
  /// - Throws: `AACFailure` when it can't decode such.
  func start(_ configuration: AACConfiguration) throws(AACFailure)

  /// Decodes raw data blocks, without an ADTS header, and writes interleaved samples to `samples`, which is
  /// replaced. The channels have WAV's order. The first frame after `start` gives its samples too, which fade in.
  /// - Throws: `AACFailure`; the decoder goes on with the next frame as after `start`.
  func decode(_ frame: ArraySlice<UInt8>, into samples: inout [Float]) throws(AACFailure) -> DecodedAAC

  /// Forgets where in the stream it was: the next frame comes from somewhere else of the same stream.
  func reset()
}

/// What a frame of AAC turned out to be.
struct DecodedAAC: Sendable, Equatable {
  /// In Hz; twice the core's rate when bands are replicated (HE-AAC).
  let sampleRate: Int
  /// 2 for mono too, since parametric stereo may begin at any frame.
  let channels: Int
  /// PCM frames.
  let frames: Int
  /// Bytes of the frame that were used.
  let length: Int
}

/// A frame that could not be decoded, in the decoder's words.
struct AACFailure: Error, Equatable {
  let words: String
}
