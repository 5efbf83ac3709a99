/// A track of AAC in an MP4 file that comes piece by piece: where its frames lie, and how one is told as ADTS.
public struct MP4Track: Sendable {
  /// Where a frame lies in the file.
  public struct Place: Sendable, Equatable {
    /// First byte.
    public let offset: Int
    /// Bytes.
    public let size: Int
  }

  /// Frames.
  public var count: Int { demuxer.table.count }
  /// PCM frames in one of them, at `sampleRate`.
  public let samplesPerFrame = 1024
  /// In Hz, of the core: with replicated bands twice as many are heard.
  public var sampleRate: Int { demuxer.configuration.sampleRate }
  /// As ADTS tells them.
  public var channels: Int {
    demuxer.configuration.channelConfiguration == 7 ? 8 : demuxer.configuration.channelConfiguration
  }
  /// Which part of the sound is heard, in seconds from the start of the first frame.
  public let heard: Range<Double>

  private let demuxer: MP4Demuxer

  /// Reads the content of `moov`, which stands at byte `offset` of a file.
  /// - Parameter fileSize: a file of this size can't hold more frames than it has bytes.
  public init(moov: [UInt8], offset: Int, fileSize: Int) throws(MP4Obstacle) {
    demuxer = try MP4Demuxer(MP4Bytes(bytes: moov[...], offset: offset), fileSize: fileSize)
    let configuration = demuxer.configuration
    if let obstacle = configuration.obstacle {
      throw MP4Obstacle(found: "\(obstacle) in MP4", byte: offset, isUnsupported: true)
    }
    guard configuration.samplesPerFrame == samplesPerFrame else {
      throw MP4Obstacle(found: "AAC in frames of 960 samples in MP4", byte: offset, isUnsupported: true)
    }
    // The rate that is heard is not known before a frame was decoded; a track counts its time in it.
    let rate = demuxer.timescale
    let all =
      Double(demuxer.table.count) * Double(samplesPerFrame) * Double(rate) / Double(configuration.sampleRate)
    guard all < 1e15 else { throw MP4Obstacle(found: "a track of a length that can't be", byte: offset) }
    let frames = demuxer.heard(of: Int(all), rate: rate)
    heard = Double(frames.lowerBound) / Double(rate)..<Double(frames.upperBound) / Double(rate)
  }

  /// Where a frame lies; nil when there is none.
  /// - Parameter previous: where the frame before it lies, if that is known: then it need not be looked for.
  public func place(of frame: Int, after previous: Place? = nil) -> Place? {
    let place = previous.map {
      demuxer.table.place(after: frame - 1, at: MP4SampleTable.Place(offset: $0.offset, size: $0.size))
    }
    return (place ?? demuxer.table.place(of: frame)).map { Place(offset: $0.offset, size: $0.size) }
  }

  /// The longest frame that ADTS can tell.
  public static let longestFrame = 8191 - 7

  /// A frame with an ADTS header in front. Source: ISO/IEC 14496-3 §1.A.2.2.
  /// - Parameter frame: at most `longestFrame` bytes.
  public func adts(_ frame: some Collection<UInt8>) -> [UInt8] {
    let configuration = demuxer.configuration
    // A frame of nothing is told as one that ends at once.
    let frame = frame.isEmpty ? [0xE0] : [UInt8](frame.prefix(Self.longestFrame))
    let length = frame.count + 7
    let channels = configuration.channelConfiguration
    let fields = [
      0xFF, 0xF1, (configuration.objectType - 1) << 6 | configuration.rateIndex << 2 | channels >> 2,
      (channels & 3) << 6 | length >> 11, length >> 3 & 0xFF, (length & 7) << 5 | 0x1F, 0xFC,
    ]
    return fields.map { UInt8(truncatingIfNeeded: $0) } + frame
  }
}
