/// What the bytes of a stream are.
public enum StreamCodec: UInt8, Sendable {
  /// MPEG audio, layer I.
  case layer1
  /// MPEG audio, layer II.
  case layer2
  /// MPEG audio, layer III: MP3.
  case mp3
  /// AAC in ADTS frames.
  case aac
  /// Ogg, whatever is in it.
  case ogg
  /// FLAC.
  case flac
  /// WAV.
  case wav
  /// MP4.
  case mp4
  /// Something that only the content type names.
  case other
  /// PCM of a file: frame after frame, little-endian; 1 byte a sample is without a sign, 4 are Float32.
  case pcm

  /// Whether the stream is cut into frames; else it goes through in pieces that mean nothing.
  public var hasFrames: Bool { rawValue <= Self.aac.rawValue }
}

/// What the frames of a stream have in common while nothing changes.
public struct StreamFormat: Sendable, Hashable {
  /// The codec.
  public let codec: StreamCodec
  /// In Hz, as the headers tell (AAC with band replication plays at twice as much); 0 without frames.
  public let sampleRate: Int
  /// As the headers tell (AAC with parametric stereo tells 1); 0 when they do not, and without frames.
  public let channels: Int

  /// A format.
  public init(codec: StreamCodec, sampleRate: Int = 0, channels: Int = 0) {
    self.codec = codec
    self.sampleRate = sampleRate
    self.channels = channels
  }
}

/// One whole frame of a stream, or a piece of one that has no frames. 32 bytes.
public struct StreamFrame: Sendable, Hashable {
  /// Byte of the received audio at which it starts.
  public private(set) var offset: Int
  /// `FrameHash` of its bytes; 0 without frames.
  public let hash: UInt64
  private let lengthBits: UInt32
  private let rateBits: UInt32
  private let samplesBits: UInt16
  private let beginBits: UInt16
  private let overheadBits: UInt8
  private let channelBits: UInt8
  /// What it is coded in.
  public let codec: StreamCodec

  /// A frame of `length` bytes.
  /// - Parameters:
  ///   - samples: PCM frames at the header's rate.
  ///   - mainDataBegin: bytes of main data of earlier frames that it needs, in layer III.
  ///   - overhead: bytes in front of its main data.
  public init(
    offset: Int, length: Int, hash: UInt64, format: StreamFormat, samples: Int = 0, mainDataBegin: Int = 0,
    overhead: Int = 0
  ) {
    self.offset = offset
    self.hash = hash
    codec = format.codec
    lengthBits = UInt32(clamping: length)
    rateBits = UInt32(clamping: format.sampleRate)
    samplesBits = UInt16(clamping: samples)
    beginBits = UInt16(clamping: mainDataBegin)
    overheadBits = UInt8(clamping: overhead)
    channelBits = UInt8(clamping: format.channels)
  }

  /// The same frame at another byte.
  func moved(to offset: Int) -> StreamFrame {
    var frame = self
    frame.offset = offset
    return frame
  }

  /// Bytes.
  public var length: Int { Int(lengthBits) }
  /// In Hz, as the header tells; 0 without frames.
  public var sampleRate: Int { Int(rateBits) }
  /// PCM frames at `sampleRate`; 0 without frames.
  public var samples: Int { Int(samplesBits) }
  /// As the header tells.
  public var channels: Int { Int(channelBits) }
  /// Bytes of main data of earlier frames that the sound begins in, in layer III.
  public var mainDataBegin: Int { Int(beginBits) }
  /// Bytes of main data that it holds, in layer III.
  public var mainDataLength: Int { max(0, length - Int(overheadBits)) }
  /// Codec, rate and channels.
  public var format: StreamFormat { StreamFormat(codec: codec, sampleRate: sampleRate, channels: channels) }
  /// What it takes to play; none without frames.
  public var duration: StreamTime { StreamTime(samples: samples, sampleRate: sampleRate) }
}
