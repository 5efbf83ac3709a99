public import Codecs

/// The common format of a stream's frames while nothing changes.
public struct StreamFormat: Sendable, Hashable {
  /// The codec.
  public let codec: Codec
  /// The sample rate in Hz, as in the headers (AAC with band replication plays at twice the rate); 0 without
  /// frames.
  public let sampleRate: Int
  /// The number of channels, as in the headers (AAC with parametric stereo has 1 there); 0 when unknown, and
  /// without frames.
  public let channels: Int

  /// Creates a format.
  public init(codec: Codec, sampleRate: Int = 0, channels: Int = 0) {
    self.codec = codec
    self.sampleRate = sampleRate
    self.channels = channels
  }
}

/// A whole frame of a stream, or a piece of a stream without frames. 32 bytes.
public struct StreamFrame: Sendable, Hashable {
  /// The offset in bytes of the received audio at which it starts.
  public private(set) var offset: Int
  /// The `FrameHash` of its bytes; 0 without frames.
  public let hash: UInt64
  private let lengthBits: UInt32
  private let rateBits: UInt32
  private let samplesBits: UInt16
  private let beginBits: UInt16
  private let overheadBits: UInt8
  private let channelBits: UInt8
  /// The codec.
  public let codec: Codec

  /// Creates a frame of `length` bytes.
  /// - Parameters:
  ///   - samples: PCM frames at the header's rate.
  ///   - mainDataBegin: bytes of main data of earlier frames that it needs, in layer III.
  ///   - overhead: the number of bytes before its main data.
  public init(
    offset: Int, length: Int, hash: UInt64, format: StreamFormat, samples: Int = 0, mainDataBegin: Int = 0,
    overhead: Int = 0
  ) {
    self.offset = offset
    self.hash = hash
    codec = format.codec
    lengthBits = UInt32(clamping: length)
    rateBits = UInt32(clamping: format.sampleRate)
    if codec.isOgg {
      // A page is longer than a frame, and refers to no bytes of those before it.
      let samples = UInt32(clamping: samples)
      (samplesBits, beginBits) = (UInt16(truncatingIfNeeded: samples), UInt16(samples >> 16))
    } else {
      (samplesBits, beginBits) = (UInt16(clamping: samples), UInt16(clamping: mainDataBegin))
    }
    overheadBits = UInt8(clamping: overhead)
    channelBits = UInt8(clamping: format.channels)
  }

  /// Creates the frame of the headers of a logical stream of Ogg, which has no duration.
  package init(headersAt offset: Int, length: Int, hash: UInt64, format: StreamFormat) {
    self.init(offset: offset, length: length, hash: hash, format: format, overhead: 1)
  }

  /// `true` if it is not sound, but the headers of the pages of Ogg that follow.
  public var isHeaders: Bool { codec.isOgg && overheadBits > 0 }

  /// Returns the same frame at another offset.
  func moved(to offset: Int) -> StreamFrame {
    var frame = self
    frame.offset = offset
    return frame
  }

  /// The length in bytes.
  public var length: Int { Int(lengthBits) }
  /// The sample rate in Hz, as in the header; 0 without frames.
  public var sampleRate: Int { Int(rateBits) }
  /// The length in PCM frames at `sampleRate`; 0 without frames.
  public var samples: Int { codec.isOgg ? Int(beginBits) << 16 | Int(samplesBits) : Int(samplesBits) }
  /// The number of channels, as in the header.
  public var channels: Int { Int(channelBits) }
  /// The number of bytes of main data of earlier frames in which the sound begins, in layer III.
  public var mainDataBegin: Int { codec.isOgg ? 0 : Int(beginBits) }
  /// The number of bytes of main data in the frame, in layer III.
  public var mainDataLength: Int { max(0, length - Int(overheadBits)) }
  /// The codec, rate and channels.
  public var format: StreamFormat { StreamFormat(codec: codec, sampleRate: sampleRate, channels: channels) }
  /// The duration; zero without frames.
  public var duration: StreamTime { StreamTime(samples: samples, sampleRate: sampleRate) }
}
