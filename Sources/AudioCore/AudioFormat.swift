/// How PCM is laid out: rate and channels. Samples are 32-bit float, interleaved, full scale ±1.
public struct AudioFormat: Sendable, Hashable {
  /// Frames per second, in Hz.
  public let sampleRate: Int
  /// Samples per frame; 1 = mono, 2 = left, right.
  public let channels: Int

  /// A format of `sampleRate` Hz and `channels` channels.
  public init(sampleRate: Int, channels: Int) {
    self.sampleRate = sampleRate
    self.channels = channels
  }

  /// What sessions use inside: 48 kHz, stereo.
  public static let session = AudioFormat(sampleRate: 48_000, channels: 2)

  /// Frames in one block of 20 ms.
  public var framesPerBlock: Int { sampleRate / 50 }
}
