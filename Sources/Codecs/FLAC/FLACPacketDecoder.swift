internal import AudioCore
internal import CFLAC
internal import EventLoop

/// Decodes the packets of FLAC in Ogg, each a frame of FLAC.
final class FLACPacketDecoder: OggPacketDecoder {
  private let decoder: FLACFrameDecoder

  /// - Throws: `audio.unreadable` when libFLAC refuses the headers, `audio.unsupported` when it can't start.
  init(_ headers: OggHeaders) throws(AudioError) { decoder = try FLACFrameDecoder(headers) }

  func decode(_ packet: [UInt8], into samples: inout [Float]) {
    decoder.decode(packet) { planes, header in
      let scale = 1 / Float(1 << (header.bits_per_sample - 1))
      for frame in 0..<Int(header.blocksize) {
        for channel in 0..<Int(header.channels) {
          samples.append(planes[channel].map { Float($0[frame]) * scale } ?? 0)
        }
      }
    }
  }

  func reset() { decoder.reset() }
}

/// The samples of FLAC in Ogg in the form of the MD5 in its headers: interleaved, signed, little-endian, each of as few
/// whole bytes as hold it. Source: RFC 9639 §8.2.
public final class FLACSamples {
  private let decoder: FLACFrameDecoder
  private let channels: Int
  private let bits: Int
  private var bytes: [UInt8] = []
  /// The number of the first sample of the next frame; nil before the first frame.
  private var next: UInt64?
  private var parts = OggPacketParts()

  /// Creates a decoder of packets after these headers; nil unless they are of FLAC.
  public init?(_ headers: OggHeaders) {
    guard headers.codec == .oggflac, let decoder = try? FLACFrameDecoder(headers) else { return nil }
    (self.decoder, channels) = (decoder, headers.channels)
    let block = headers.identification
    bits = (Int(block[29] & 1) << 4 | Int(block[30]) >> 4) + 1
  }

  /// Calls `body` with the samples of a packet.
  /// - Returns: `false` if the packet is not exactly one frame without damage, in the format of the headers,
  ///   that continues the one before: where frames are missing, decoders differ in the silence that they
  ///   count.
  public func decode(_ packet: [UInt8], _ body: (UnsafeRawBufferPointer) -> Void) -> Bool {
    bytes.removeAll(keepingCapacity: true)
    var isSuitable = true
    let isWhole = decoder.decode(packet) { planes, header in
      let start = header.number.sample_number
      guard Int(header.bits_per_sample) == bits, next.map({ $0 == start }) ?? true else {
        return isSuitable = false
      }
      next = start &+ UInt64(header.blocksize)
      append(planes, frames: Int(header.blocksize))
    }
    guard isWhole, isSuitable, !bytes.isEmpty else { return false }
    bytes.withUnsafeBytes(body)
    return true
  }

  /// Calls `body` with the samples of each packet that ends in a page, where no page before it is missing.
  /// - Returns: `false` if a packet is not suitable, by the rules of `decode`.
  public func decode(page bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void) -> Bool {
    guard let page = OggPage(bytes), page.length <= bytes.count else { return false }
    return page.parts.allSatisfy { part in
      guard let packet = parts.add(part, of: bytes) else { return !part.ends }
      return decode(packet, body)
    }
  }

  private func append(_ planes: FLACFrameDecoder.Planes, frames: Int) {
    let (width, channels) = ((bits + 7) / 8, channels)
    bytes.append(contentsOf: repeatElement(0, count: frames * channels * width))
    bytes.withUnsafeMutableBytes { target in
      for channel in 0..<channels {
        guard let plane = planes[channel] else { continue }
        for frame in 0..<frames {
          let sample = UInt32(bitPattern: plane[frame])
          let start = (frame * channels + channel) * width
          for byte in 0..<width {
            target[start + byte] = UInt8(truncatingIfNeeded: sample >> (8 * UInt32(byte)))
          }
        }
      }
    }
  }
}

/// Decodes frames of FLAC through libFLAC.
private final class FLACFrameDecoder {
  /// The samples of a frame, a plane for each channel.
  typealias Planes = UnsafePointer<UnsafePointer<FLAC__int32>?>

  private let decoder: UnsafeMutablePointer<FLAC__StreamDecoder>
  private let feed = Feed()

  /// The bytes that libFLAC reads, and the receiver of the samples.
  private final class Feed {
    var bytes: [UInt8] = []
    var position = 0
    /// The number of bytes of the packets before.
    var earlier = 0
    var channels = 0
    /// The blocks that the packet gave so far.
    var blocks = 0
    var isDamaged = false
    var onBlock: ((Planes, FLAC__FrameHeader) -> Void)?

    static func from(_ pointer: UnsafeMutableRawPointer) -> Feed {
      Unmanaged<Feed>.fromOpaque(pointer).takeUnretainedValue()
    }

    func receive(_ planes: Planes, of header: FLAC__FrameHeader) {
      guard Int(header.channels) == channels, (1...32).contains(header.bits_per_sample) else {
        return isDamaged = true
      }
      blocks += 1
      onBlock?(planes, header)
    }
  }

  /// - Throws: `audio.unreadable` when libFLAC refuses the headers, `audio.unsupported` when it can't start.
  init(_ headers: OggHeaders) throws(AudioError) {
    guard let decoder = FLAC__stream_decoder_new() else {
      throw AudioError(.unsupported, "cannot start libFLAC: no memory")
    }
    self.decoder = decoder
    feed.channels = headers.channels
    // Unretained: the decoder is deleted before this object releases the feed.
    let status = FLAC__stream_decoder_init_stream(
      decoder,
      { _, bytes, count, source in
        guard let bytes, let count, let source else { return FLAC__STREAM_DECODER_READ_STATUS_ABORT }
        let feed = Feed.from(source)
        let part = feed.bytes[feed.position...].prefix(count.pointee)
        // Nothing follows a whole frame: it is damaged.
        guard !part.isEmpty else { return FLAC__STREAM_DECODER_READ_STATUS_ABORT }
        UnsafeMutableRawBufferPointer(start: bytes, count: part.count).copyBytes(from: part)
        feed.position += part.count
        count.pointee = part.count
        return FLAC__STREAM_DECODER_READ_STATUS_CONTINUE
      },
      nil,
      { _, offset, source in
        guard let source else { return FLAC__STREAM_DECODER_TELL_STATUS_ERROR }
        let feed = Feed.from(source)
        offset?.pointee = FLAC__uint64(feed.earlier + feed.position)
        return FLAC__STREAM_DECODER_TELL_STATUS_OK
      },
      nil, nil,
      { _, frame, planes, feed in
        guard let frame, let planes, let feed else { return FLAC__STREAM_DECODER_WRITE_STATUS_ABORT }
        Feed.from(feed).receive(planes, of: frame.pointee.header)
        return FLAC__STREAM_DECODER_WRITE_STATUS_CONTINUE
      },
      nil, { _, _, feed in feed.map { Feed.from($0).isDamaged = true } },
      Unmanaged.passUnretained(feed).toOpaque())
    guard status == FLAC__STREAM_DECODER_INIT_STATUS_OK else {
      throw AudioError(.unsupported, "cannot start libFLAC's decoder")
    }
    // The magic number, and the block with rate and channels as the last of the headers.
    feed.bytes = Array(headers.identification[9..<51])
    feed.bytes[4] |= 0x80
    guard FLAC__stream_decoder_process_until_end_of_metadata(decoder) != 0 else {
      throw AudioError.unreadable("the stream", found: "FLAC in Ogg without a header", atByte: 0)
    }
  }

  deinit { FLAC__stream_decoder_delete(decoder) }

  /// Decodes a packet.
  /// - Parameter body: receives the samples of a frame, whose channels are those of the headers.
  /// - Returns: `true` if the packet is exactly one frame, and has no damage.
  @discardableResult
  func decode(_ packet: [UInt8], _ body: (Planes, FLAC__FrameHeader) -> Void) -> Bool {
    feed.earlier += feed.position
    (feed.bytes, feed.position, feed.blocks, feed.isDamaged) = (packet, 0, 0, false)
    let isDecoded = withoutActuallyEscaping(body) { body in
      feed.onBlock = body
      defer { feed.onBlock = nil }
      return FLAC__stream_decoder_process_single(decoder) != 0
    }
    var end: FLAC__uint64 = 0
    let isConsumed =
      FLAC__stream_decoder_get_decode_position(decoder, &end) != 0
      && end == FLAC__uint64(feed.earlier + packet.count)
    if !isDecoded || feed.position < packet.count || feed.blocks == 0 { reset() }
    return isDecoded && isConsumed && feed.blocks == 1 && !feed.isDamaged
  }

  func reset() { FLAC__stream_decoder_flush(decoder) }
}
