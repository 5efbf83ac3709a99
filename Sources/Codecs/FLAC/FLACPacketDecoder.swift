internal import AudioCore
internal import CFLAC
internal import EventLoop

/// Decodes the packets of FLAC in Ogg, each a frame of FLAC, through libFLAC.
final class FLACPacketDecoder: OggPacketDecoder {
  private let decoder: UnsafeMutablePointer<FLAC__StreamDecoder>
  private let feed = Feed()

  /// The bytes that libFLAC reads, and the samples that it decoded.
  private final class Feed {
    var bytes: [UInt8] = []
    var position = 0
    var samples: [Float] = []
    var channels = 0

    static func from(_ pointer: UnsafeMutableRawPointer) -> Feed {
      Unmanaged<Feed>.fromOpaque(pointer).takeUnretainedValue()
    }

    func append(_ planes: UnsafePointer<UnsafePointer<FLAC__int32>?>, of header: FLAC__FrameHeader) {
      guard Int(header.channels) == channels, (1...32).contains(header.bits_per_sample) else { return }
      let scale = 1 / Float(1 << (header.bits_per_sample - 1))
      for frame in 0..<Int(header.blocksize) {
        for channel in 0..<channels { samples.append(planes[channel].map { Float($0[frame]) * scale } ?? 0) }
      }
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
      nil, nil, nil, nil,
      { _, frame, planes, feed in
        guard let frame, let planes, let feed else { return FLAC__STREAM_DECODER_WRITE_STATUS_ABORT }
        Feed.from(feed).append(planes, of: frame.pointee.header)
        return FLAC__STREAM_DECODER_WRITE_STATUS_CONTINUE
      },
      nil, { _, _, _ in }, Unmanaged.passUnretained(feed).toOpaque())
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

  func decode(_ packet: [UInt8], into samples: inout [Float]) {
    (feed.bytes, feed.position, feed.samples) = (packet, 0, [])
    let isDecoded = FLAC__stream_decoder_process_single(decoder) != 0
    samples += feed.samples
    if !isDecoded || feed.position < packet.count || feed.samples.isEmpty { reset() }
  }

  func reset() { FLAC__stream_decoder_flush(decoder) }
}
