internal import AudioCore

/// The mapping of a codec to Ogg: its headers, the length of its packets, and its decoder. `Codec.Row` names the one of a
/// codec.
protocol OggMapping: Sendable {
  /// The bytes with which the first packet of a logical stream begins.
  static var magic: [UInt8] { get }
  /// Reads the first packet, 1 KiB of it at most; nil when it is damaged.
  static func format(_ first: [UInt8]) -> (channels: Int, sampleRate: Int, preSkip: Int)?
  /// Returns the number of bytes before the comments in a further header packet with this first byte; nil for
  /// one without comments.
  static func commentStart(_ first: UInt8?) -> Int?
  /// The limit in bytes of a further header packet without comments that is read as a whole; nil where 8 bytes suffice.
  static var longestSetup: Int? { get }
  /// Reads a further header packet: the first 8 bytes of one with comments.
  /// - Parameter number: 1 for the packet after the first.
  /// - Returns: `complete` if it is the last one.
  static func read(_ packet: [UInt8], number: Int, into headers: inout OggHeaders) -> OggHeaderReader.State
  /// Returns the header packets for the start of a file.
  static func packets(of headers: OggHeaders, preSkip: Int) -> [[UInt8]]
  /// Returns the number of PCM frames that a packet decodes to, from its first 16 bytes.
  /// - Parameter blockSize: the block size of the packet before, in codecs that overlap blocks; 0 after a
  ///   gap.
  static func samples(of packet: [UInt8], _ headers: OggHeaders, blockSize: inout Int) -> Int
  /// Creates a decoder of the packets.
  /// - Throws: `audio.unreadable`, `audio.unsupported`.
  static func decoder(_ headers: OggHeaders) throws(AudioError) -> any OggPacketDecoder
}

/// Vorbis in Ogg. Source: Vorbis I §4.2, §A.
enum VorbisMapping: OggMapping {
  static let magic = [1] + Array("vorbis".utf8)
  private static let commentMagic = [3] + Array("vorbis".utf8)
  /// libvorbis makes setup headers of 3 to 8 KiB.
  static let longestSetup: Int? = 64 * 1024

  static func format(_ first: [UInt8]) -> (channels: Int, sampleRate: Int, preSkip: Int)? {
    first.count >= 30 ? (Int(first[11]), first.little(12, 4), 0) : nil
  }

  static func commentStart(_ first: UInt8?) -> Int? { first == 3 ? commentMagic.count : nil }

  static func read(
    _ packet: [UInt8], number: Int, into headers: inout OggHeaders
  ) -> OggHeaderReader.State {
    guard number > 1 else {
      return packet.starts(with: commentMagic) ? .reading : .failed("Vorbis without its comments")
    }
    headers.setup = packet
    headers.blockSizes = VorbisSetup.blockSizes(headers)
    return headers.blockSizes.isEmpty ? .failed("Vorbis with a damaged setup") : .complete
  }

  static func packets(of headers: OggHeaders, preSkip: Int) -> [[UInt8]] {
    [headers.identification, commentMagic + headers.comments.bytes + [1], headers.setup]
  }

  static func samples(of packet: [UInt8], _ headers: OggHeaders, blockSize: inout Int) -> Int {
    guard let first = packet.first, first & 1 == 0 else { return 0 }
    let size = Int(headers.blockSizes[Int(first)])
    guard size > 0 else { return 0 }
    defer { blockSize = size }
    return blockSize > 0 ? (blockSize + size) / 4 : 0
  }

  static func decoder(_ headers: OggHeaders) throws(AudioError) -> any OggPacketDecoder {
    try VorbisPacketDecoder(headers)
  }
}

/// Opus in Ogg. Source: RFC 7845 §5.
enum OpusMapping: OggMapping {
  static let magic = Array("OpusHead".utf8)
  private static let commentMagic = Array("OpusTags".utf8)
  static let longestSetup: Int? = nil

  static func format(_ first: [UInt8]) -> (channels: Int, sampleRate: Int, preSkip: Int)? {
    first.count >= 19 && first[8] < 16 ? (Int(first[9]), 48_000, first.little(10, 2)) : nil
  }

  static func commentStart(_ first: UInt8?) -> Int? { commentMagic.count }

  static func read(
    _ packet: [UInt8], number: Int, into headers: inout OggHeaders
  ) -> OggHeaderReader.State {
    packet.starts(with: commentMagic) ? .complete : .failed("Opus in Ogg without its tags")
  }

  static func packets(of headers: OggHeaders, preSkip: Int) -> [[UInt8]] {
    var first = headers.identification
    first.replaceSubrange(10..<12, with: [UInt8(preSkip & 0xFF), UInt8(preSkip >> 8 & 0xFF)])
    return [first, commentMagic + headers.comments.bytes]
  }

  /// Source: RFC 6716 §3.1, §3.2.
  static func samples(of packet: [UInt8], _ headers: OggHeaders, blockSize: inout Int) -> Int {
    samples(of: packet)
  }

  /// Returns the number of PCM frames of a packet, from its first bytes.
  static func samples(of packet: [UInt8]) -> Int {
    guard let first = packet.first else { return 0 }
    let configuration = Int(first >> 3)
    let frame =
      switch configuration {
      case 0..<12: [480, 960, 1920, 2880][configuration & 3]
      case 12..<16: [480, 960][configuration & 1]
      default: [120, 240, 480, 960][configuration & 3]
      }
    switch first & 3 {
    case 0: return frame
    case 1, 2: return 2 * frame
    // No packet is longer than 120 ms.
    default: return packet.count > 1 ? min(5760, Int(packet[1] & 0x3F) * frame) : 0
    }
  }

  static func decoder(_ headers: OggHeaders) throws(AudioError) -> any OggPacketDecoder {
    try OpusPacketDecoder(headers)
  }
}

/// FLAC in Ogg. Source: "Ogg FLAC Mapping 1.0", Xiph.Org.
enum FLACMapping: OggMapping {
  static let magic = [0x7F] + Array("FLAC".utf8)
  static let longestSetup: Int? = nil

  static func format(_ first: [UInt8]) -> (channels: Int, sampleRate: Int, preSkip: Int)? {
    guard first.count >= 51 else { return nil }
    let rate = Int(first[27]) << 12 | Int(first[28]) << 4 | Int(first[29]) >> 4
    return (Int(first[29]) >> 1 & 7 + 1, rate, 0)
  }

  static func commentStart(_ first: UInt8?) -> Int? { first.flatMap { $0 & 0x7F == 4 ? 4 : nil } }

  static func read(
    _ packet: [UInt8], number: Int, into headers: inout OggHeaders
  ) -> OggHeaderReader.State {
    let stated = Int(headers.identification[7]) << 8 | Int(headers.identification[8])
    let isLast = stated > 0 ? number == stated : packet.first.map { $0 & 0x80 != 0 } ?? false
    return isLast ? .complete : .reading
  }

  static func packets(of headers: OggHeaders, preSkip: Int) -> [[UInt8]] {
    let (body, length) = (headers.comments.bytes, headers.comments.bytes.count)
    // One further header packet; the length and the checksum of the sound are not known.
    var first = headers.identification
    first.replaceSubrange(7..<9, with: [0, 1])
    first[30] &= 0xF0
    first.replaceSubrange(31..<51, with: [UInt8](repeating: 0, count: 20))
    return [
      first, [0x84, UInt8(length >> 16 & 0xFF), UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF)] + body,
    ]
  }

  static func samples(of packet: [UInt8], _ headers: OggHeaders, blockSize: inout Int) -> Int {
    samples(of: packet)
  }

  /// Returns the number of PCM frames of a frame of FLAC, from its first bytes. Source: RFC 9639 §9.1.
  static func samples(of packet: [UInt8]) -> Int {
    guard packet.count > 5, packet[0] == 0xFF, packet[1] & 0xFC == 0xF8 else { return 0 }
    let code = Int(packet[2] >> 4)
    // The number of the frame has the length of a UTF-8 character with the same first bits, up to seven
    // bytes.
    let ones = (~packet[4]).leadingZeroBitCount
    let behind = 4 + max(1, ones)
    switch code {
    case 1: return 192
    case 2...5: return 576 << (code - 2)
    case 6: return packet.count > behind ? Int(packet[behind]) + 1 : 0
    case 7: return packet.count > behind + 1 ? Int(packet[behind]) << 8 + Int(packet[behind + 1]) + 1 : 0
    case 8...15: return 256 << (code - 8)
    default: return 0
    }
  }

  static func decoder(_ headers: OggHeaders) throws(AudioError) -> any OggPacketDecoder {
    try FLACPacketDecoder(headers)
  }
}

extension [UInt8] {
  /// Returns the number in `count` bytes from `index` on, little-endian.
  fileprivate func little(_ index: Int, _ count: Int) -> Int {
    self[index..<(index + count)].reversed().reduce(0) { $0 << 8 | Int($1) }
  }
}
