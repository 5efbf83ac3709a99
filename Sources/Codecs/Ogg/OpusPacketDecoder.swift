internal import AudioCore
internal import COpus
internal import EventLoop

/// Decodes the packets of Opus, through libopus, at 48 kHz and with the gain that the headers state.
final class OpusPacketDecoder: OggPacketDecoder {
  static var libraryVersion: String? { opus_get_version_string().map { String(cString: $0) } }

  /// The length in PCM frames of the longest packet.
  private static let longest = 5760

  private let decoder: OpusHandle
  private let channels: Int
  private let order: [Int]?
  private var block: [Float]

  /// - Throws: `audio.unsupported` for channels that are not speakers.
  init(_ headers: OggHeaders) throws(AudioError) {
    let head = headers.identification
    channels = headers.channels
    var (streams, coupled) = (1, channels - 1)
    var mapping: [UInt8] = [0, 1]
    let family = head[18]
    if family != 0 {
      guard family == 1 || family == 255, head.count >= 21 + channels else {
        throw AudioError(.unsupported, "cannot decode the stream: Opus with channels of family \(family)")
      }
      (streams, coupled, mapping) = (Int(head[19]), Int(head[20]), Array(head[21..<(21 + channels)]))
    } else if channels > 2 {
      throw AudioError.unreadable("the stream", found: "Opus with damaged headers", atByte: 0)
    }
    guard let decoder = OpusHandle(channels: channels, streams: streams, coupled: coupled, mapping: mapping)
    else {
      throw AudioError.unreadable("the stream", found: "Opus with damaged headers", atByte: 0)
    }
    let gain = Int16(truncatingIfNeeded: Int(head[16]) | Int(head[17]) << 8)
    _ = opus_set_output_gain(decoder.raw, opus_int32(gain))
    self.decoder = decoder
    order = VorbisChannels.order(channels)
    block = [Float](repeating: 0, count: Self.longest * channels)
  }

  func decode(_ packet: [UInt8], into samples: inout [Float]) {
    let count = Int(
      opus_multistream_decode_float(
        decoder.raw, packet, opus_int32(packet.count), &block, CInt(Self.longest), 0))
    guard count > 0 else { return }
    guard let order else {
      samples += block[..<(count * channels)]
      return
    }
    for frame in 0..<count { for channel in order { samples.append(block[frame * channels + channel]) } }
  }

  func reset() { opus_reset(decoder.raw) }
}

/// A decoder of libopus.
private struct OpusHandle: ~Copyable {
  let raw: OpaquePointer

  /// Nil when libopus refuses the channels.
  init?(channels: Int, streams: Int, coupled: Int, mapping: [UInt8]) {
    guard
      let raw = opus_multistream_decoder_create(
        48_000, CInt(channels), CInt(streams), CInt(coupled), mapping, nil)
    else { return nil }
    self.raw = raw
  }

  deinit { opus_multistream_decoder_destroy(raw) }
}
