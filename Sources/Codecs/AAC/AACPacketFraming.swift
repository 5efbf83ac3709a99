/// Puts ADTS headers before the frames of a stream that states its configuration once. Source: ISO/IEC
/// 14496-3 §1.6.2.1, §1.A.2.2.
public struct AACPacketFraming: Sendable, Equatable {
  private let configuration: AACConfiguration

  /// The length in bytes of the longest frame that an ADTS header can state.
  public static let longestFrame = MP4Track.longestFrame
  /// The number of PCM frames of a frame at `sampleRate`.
  public static let samplesPerFrame = 1024

  /// Reads an AudioSpecificConfig.
  /// - Returns: the framing; a failure names the kind of AAC that no ADTS header can state, in words.
  public static func reading(_ bytes: [UInt8]) -> Result<AACPacketFraming, AACObstacle> {
    guard let configuration = AACConfiguration(audioSpecificConfig: bytes[...]) else {
      return .failure(AACObstacle(words: "AAC whose configuration can't be read"))
    }
    if let obstacle = configuration.obstacle { return .failure(AACObstacle(words: obstacle)) }
    guard configuration.samplesPerFrame == samplesPerFrame else {
      return .failure(AACObstacle(words: "AAC with frames of \(configuration.samplesPerFrame) samples"))
    }
    return .success(AACPacketFraming(configuration: configuration))
  }

  /// The core's rate in Hz.
  public var sampleRate: Int { configuration.sampleRate }
  /// The number of channels of the core.
  public var channels: Int {
    configuration.channelConfiguration == 7 ? 8 : configuration.channelConfiguration
  }

  /// Returns a frame with its header.
  /// - Parameter frame: at most `longestFrame` bytes.
  public func adts(_ frame: some Collection<UInt8>) -> [UInt8] {
    configuration.adts(frame.prefix(Self.longestFrame))
  }
}

/// A kind of AAC that is not received, in words.
public struct AACObstacle: Error, Equatable {
  /// The kind, as `AAC-SSR`.
  public let words: String
}
