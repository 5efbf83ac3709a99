/// A track of AAC in an MP4 file that arrives piece by piece: the positions of its frames, and their form in
/// ADTS.
public struct MP4Track: Sendable {
  /// The position of a frame in the file.
  public struct Location: Sendable, Equatable {
    /// The offset of the first byte.
    public let offset: Int
    /// The length in bytes.
    public let size: Int
  }

  /// The number of frames.
  public var count: Int { demuxer.table.count }
  /// The number of PCM frames per frame, at `sampleRate`.
  public let samplesPerFrame = 1024
  /// The sample rate of the core in Hz; with replicated bands the output has twice that rate.
  public var sampleRate: Int { demuxer.configuration.sampleRate }
  /// The number of channels according to an ADTS header.
  public var channels: Int {
    demuxer.configuration.channelConfiguration == 7 ? 8 : demuxer.configuration.channelConfiguration
  }
  /// The audible part of the sound, in seconds from the start of the first frame.
  public let heard: Range<Double>

  private let demuxer: MP4Demuxer

  /// Reads the content of `moov`, which is at byte `offset` of a file.
  /// - Parameter fileSize: bytes of the file; the upper bound of the number of frames.
  public init(moov: [UInt8], offset: Int, fileSize: Int) throws(MP4Obstacle) {
    demuxer = try MP4Demuxer(MP4Bytes(bytes: moov[...], offset: offset), fileSize: fileSize)
    let configuration = demuxer.configuration
    if let obstacle = configuration.obstacle {
      throw MP4Obstacle(found: "\(obstacle) in MP4", byte: offset, isUnsupported: true)
    }
    guard configuration.samplesPerFrame == samplesPerFrame else {
      throw MP4Obstacle(found: "AAC in frames of 960 samples in MP4", byte: offset, isUnsupported: true)
    }
    // The output's rate is not known before a frame was decoded; a track counts its time in it.
    let rate = demuxer.timescale
    let all =
      Double(demuxer.table.count) * Double(samplesPerFrame) * Double(rate) / Double(configuration.sampleRate)
    guard all < 1e15 else { throw MP4Obstacle(found: "a track of an impossible length", byte: offset) }
    let frames = demuxer.heard(of: Int(all), rate: rate)
    heard = Double(frames.lowerBound) / Double(rate)..<Double(frames.upperBound) / Double(rate)
  }

  /// Returns the position of a frame; nil when there is no such frame.
  /// - Parameter previous: the position of the frame before it, if known; saves a search in the tables.
  public func location(of frame: Int, after previous: Location? = nil) -> Location? {
    let location = previous.map {
      demuxer.table.location(after: frame - 1, at: MP4SampleTable.Location(offset: $0.offset, size: $0.size))
    }
    return (location ?? demuxer.table.location(of: frame)).map { Location(offset: $0.offset, size: $0.size) }
  }

  /// The length in bytes of the longest frame that an ADTS header can state.
  public static let longestFrame = 8191 - 7

  /// Returns a frame with an ADTS header in front. Source: ISO/IEC 14496-3 §1.A.2.2.
  /// - Parameter frame: at most `longestFrame` bytes.
  public func adts(_ frame: some Collection<UInt8>) -> [UInt8] {
    demuxer.configuration.adts(frame.prefix(Self.longestFrame))
  }
}

extension AACConfiguration {
  /// Returns a frame with an ADTS header in front. Source: ISO/IEC 14496-3 §1.A.2.2.
  /// - Parameter frame: at most `MP4Track.longestFrame` bytes.
  func adts(_ frame: some Collection<UInt8>) -> [UInt8] {
    // An empty frame is sent as one that ends at once.
    let frame = frame.isEmpty ? [0xE0] : [UInt8](frame)
    let length = frame.count + 7
    let fields = [
      0xFF, 0xF1, (objectType - 1) << 6 | rateIndex << 2 | channelConfiguration >> 2,
      (channelConfiguration & 3) << 6 | length >> 11, length >> 3 & 0xFF, (length & 7) << 5 | 0x1F, 0xFC,
    ]
    return fields.map { UInt8(truncatingIfNeeded: $0) } + frame
  }
}
