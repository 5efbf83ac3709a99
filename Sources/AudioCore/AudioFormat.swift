/// The layout of PCM: rate and channels. Samples are 32-bit float, interleaved, full scale ±1.
public struct AudioFormat: Sendable, Hashable {
  /// The frames per second, in Hz.
  public let sampleRate: Int
  /// The samples per frame; 1 = mono, 2 = left, right.
  public let channels: Int

  /// Creates a format of `sampleRate` Hz and `channels` channels.
  public init(sampleRate: Int, channels: Int) {
    self.sampleRate = sampleRate
    self.channels = channels
  }

  /// The format inside sessions: 48 kHz, stereo.
  public static let session = AudioFormat(sampleRate: 48_000, channels: 2)

  /// The format of a session for a source of more channels than two: 48 kHz, the source in stereo, then its
  /// channels for the roles of a 5.1 layout (`ChannelRole.channel`).
  public static let surround = AudioFormat(sampleRate: 48_000, channels: 8)

  /// The number of frames in one block of 20 ms.
  public var framesPerBlock: Int { sampleRate / 50 }
}
