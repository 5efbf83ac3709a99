internal import CVorbis

/// The block sizes that the setup of a Vorbis stream defines, read by libvorbis.
enum VorbisSetup {
  /// Returns the number of PCM frames of a block for each first byte of a packet, 0 for bytes that begin no packet of
  /// sound; empty when libvorbis refuses the headers.
  static func blockSizes(_ headers: OggHeaders) -> [UInt16] {
    guard let info = VorbisInfo(headers) else { return [] }
    return (0..<256).map { byte in
      guard byte & 1 == 0 else { return 0 }
      let size = info.blockSize(of: [UInt8(byte), 0])
      return UInt16(clamping: max(0, size))
    }
  }
}

/// The headers of Vorbis as libvorbis has read them.
struct VorbisInfo: ~Copyable {
  let raw: UnsafeMutablePointer<vorbis_info>

  /// Reads the headers; nil when they are damaged.
  init?(_ headers: OggHeaders) {
    let comment = UnsafeMutablePointer<vorbis_comment>.allocate(capacity: 1)  // deallocated below
    raw = .allocate(capacity: 1)  // deallocated by deinit
    vorbis_info_init(raw)
    vorbis_comment_init(comment)
    defer {
      vorbis_comment_clear(comment)
      comment.deallocate()
    }
    let packets = [
      headers.identification, [3] + Array("vorbis".utf8) + OggComments().bytes + [1], headers.setup,
    ]
    for (index, packet) in packets.enumerated() {
      let isRead = Self.withPacket(packet, number: index) { vorbis_synthesis_headerin(raw, comment, $0) == 0 }
      guard isRead else { return nil }
    }
  }

  deinit {
    vorbis_info_clear(raw)
    raw.deallocate()
  }

  func blockSize(of packet: [UInt8]) -> Int {
    Self.withPacket(packet, number: 3) { Int(vorbis_packet_blocksize(raw, $0)) }
  }

  static func withPacket<Result>(
    _ bytes: [UInt8], number: Int, _ body: (UnsafeMutablePointer<ogg_packet>) -> Result
  ) -> Result {
    var bytes = bytes
    return bytes.withUnsafeMutableBufferPointer { bytes in
      var packet = ogg_packet()
      packet.packet = bytes.baseAddress
      packet.bytes = bytes.count
      packet.b_o_s = number == 0 ? 1 : 0
      packet.granulepos = -1
      packet.packetno = ogg_int64_t(number)
      return withUnsafeMutablePointer(to: &packet) { body($0) }
    }
  }
}
