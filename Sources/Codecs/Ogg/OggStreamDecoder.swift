public import AudioCore
internal import EventLoop

/// Decodes the pages of one logical stream of Ogg as they arrive: Vorbis, Opus or FLAC.
///
/// A packet that can't be decoded becomes silence of its length. The padding at the beginning and the end of a stream is
/// left out, by its granule positions. Channels come in WAV's order.
public final class OggStreamDecoder: Decoder {
  /// The rate and channels; constant.
  public let format: AudioFormat
  /// Nil: a stream has no known length.
  public let frameCount: Int? = nil

  private let source: any FrameSource
  private let decoder: any OggPacketDecoder
  private var clock: OggClock
  private var packets = OggPacketParts()
  private var samples: [Float] = []
  private var start = 0
  /// The granule position of the first frame that is delivered; nil before a page has one.
  private(set) var begin: Int?
  /// The number of frames that were delivered.
  private(set) var delivered = 0
  /// The number of frames that the first page with sound gives: in the midst of a stream a packet less than it has.
  public private(set) var lead: Int?

  /// The number of bytes of the packet that continues in the next page.
  var heldBytes: Int { packets.heldBytes }

  /// A decoder of the pages of `source`, the first of which is requested by the first `read`.
  /// - Parameter headers: the headers of the stream, as whole pages.
  /// - Throws: `audio.unreadable`, `audio.unsupported`.
  public init(_ source: any FrameSource, headers: [UInt8]) throws {
    guard let headers = OggHeaders(pages: headers) else {
      throw AudioError.unreadable("the stream", found: "Ogg without its headers", atByte: 0)
    }
    self.source = source
    format = AudioFormat(sampleRate: headers.sampleRate, channels: headers.channels)
    guard (1_000...768_000).contains(headers.sampleRate), headers.channels <= 32 else {
      throw AudioError(
        .unsupported, "cannot decode the stream: \(headers.channels) channels at \(headers.sampleRate) Hz")
    }
    decoder = try headers.mapping.decoder(headers)
    clock = OggClock(headers)
  }

  /// Reads the next frames; returns 0 when the source has none now.
  public func read(into buffer: UnsafeMutableBufferPointer<Float>) throws -> Int {
    while start == samples.count {
      guard let page = source.nextFrame() else { return 0 }
      samples.removeAll(keepingCapacity: true)
      start = 0
      page.withUnsafeBytes { decode($0) }
    }
    let room = buffer.count / format.channels * format.channels
    let count = min(room, samples.count - start)
    _ = buffer.update(fromContentsOf: samples[start..<(start + count)])
    start += count
    delivered += count / format.channels
    return count / format.channels
  }

  /// Throws `audio.unsupported`: a stream can't be repositioned by its decoder.
  public func seek(toFrame frame: Int) throws {
    throw AudioError(.unsupported, "a stream is not repositioned by its decoder")
  }

  private func decode(_ bytes: UnsafeRawBufferPointer) {
    guard let page = OggPage(bytes), bytes.count >= page.length else { return }
    let isFirst = clock.position == 0
    let effect = clock.advance(page, bytes)
    if effect.isBroken {
      packets.reset()
      if !isFirst { decoder.reset() }
    }
    var (number, expected) = (0, 0)
    for part in page.parts {
      guard let packet = packets.add(part, of: bytes) else { continue }
      let count = number < effect.packets.count ? effect.packets[number] : 0
      number += 1
      expected += count
      if !packet.isEmpty { decoder.decode(packet, into: &samples) }
      // A damaged packet is as long as its header states.
      let (length, wanted) = (samples.count, expected * format.channels)
      if length < wanted { samples += [Float](repeating: 0, count: wanted - length) }
      if length > wanted { samples.removeLast(length - wanted) }
    }
    let extra = (expected - effect.decoded) * format.channels
    if extra > 0, isFirst, !page.isLast {
      samples.removeFirst(extra)
    } else if extra > 0 {
      samples.removeLast(extra)
    }
    let skipped = effect.decoded - effect.heard
    samples.removeFirst(skipped * format.channels)
    guard begin == nil, effect.heard > 0 else { return }
    lead = effect.heard
    if page.granule >= 0 { begin = page.granule - effect.heard }
  }
}

/// Decodes the packets of a logical stream.
protocol OggPacketDecoder: AnyObject {
  /// Appends the samples of a packet, interleaved in WAV's order; none when it can't be decoded.
  func decode(_ packet: [UInt8], into samples: inout [Float])
  /// Forgets the packets so far: some are missing.
  func reset()
}

/// The order of channels in Vorbis and Opus. Sources: Vorbis I §4.3.9; RFC 7845 §5.1.1.2.
enum VorbisChannels {
  /// Returns the index of each channel of WAV's order among those of the stream; nil where they are the same.
  static func order(_ channels: Int) -> [Int]? {
    switch channels {
    case 3: [0, 2, 1]
    case 5: [0, 2, 1, 3, 4]
    case 6: [0, 2, 1, 5, 3, 4]
    case 8: [0, 2, 1, 7, 5, 6, 3, 4]
    default: nil
    }
  }
}
