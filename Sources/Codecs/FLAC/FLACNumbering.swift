/// The numbers of the frames of FLAC in a file: after a gap each frame gets the number that follows the one
/// before.
///
/// Where numbers jump, decoders disagree: libFLAC counts silence, of which its MD5 is made, and others do not. The sound
/// of a frame stays as it is, bit for bit; its header and its checksums are written anew. The first frame of a file
/// keeps the number that it has, and so does every other one while none is missing.
///
/// Sources: RFC 9639 §9.1.5 (coded number), §9.1.8 (CRC-8), §9.3 (CRC-16).
struct FLACNumbering: Sendable {
  /// `true` if the headers state different sizes of blocks, by which libFLAC knows that numbers count
  /// samples.
  private let hasSizes: Bool
  /// The number of the next frame; nil before the first.
  private var next: UInt64?

  /// Creates the numbering of the frames after `headers`.
  init(_ headers: OggHeaders) {
    let block = headers.identification.dropFirst(17).prefix(4)
    hasSizes = !block.prefix(2).elementsEqual(block.suffix(2))
  }

  /// Returns a packet with the number that follows; the same one if it has that, or is damaged.
  mutating func number(_ packet: [UInt8]) -> [UInt8] {
    guard let header = FLACFrameHeader(packet) else { return packet }
    let countsSamples = header.countsSamples || hasSizes
    let number = next ?? header.number
    next = number &+ (countsSamples ? UInt64(header.samples) : 1)
    guard number != header.number, packet.count >= header.length + 2,
      Self.crc16(packet.dropLast(2)) == UInt16(packet[packet.count - 2]) << 8
        | UInt16(packet[packet.count - 1])
    else { return packet }
    var new = packet[..<4] + Self.coded(number) + packet[header.numberEnd..<(header.length - 1)]
    new.append(FLACFrameHeader.crc8(new))
    new += packet[header.length..<(packet.count - 2)]
    let sum = Self.crc16(new)
    new += [UInt8(sum >> 8), UInt8(sum & 0xFF)]
    return Array(new)
  }

  /// Returns a number of at most 36 bits in the form in which UTF-8 codes a character of that many bits.
  private static func coded(_ number: UInt64) -> [UInt8] {
    guard number >= 0x80 else { return [UInt8(number)] }
    var (count, rest) = (2, number)
    while count < 7, number >= 1 << UInt64(5 * count + 1) { count += 1 }
    var bytes: [UInt8] = []
    for _ in 1..<count {
      bytes.insert(0x80 | UInt8(rest & 0x3F), at: 0)
      rest >>= 6
    }
    let ones = UInt8(truncatingIfNeeded: 0xFF00 >> count)
    return [ones | UInt8(rest & 0x3F)] + bytes
  }

  private static func crc16(_ bytes: some Sequence<UInt8>) -> UInt16 {
    bytes.reduce(0) { sum, byte in sum << 8 ^ crc16Table[Int(UInt8(sum >> 8) ^ byte)] }
  }

  /// Adds a byte to the checksum of a frame, which is 0 over a whole one.
  static func checksum(_ sum: inout UInt16, _ byte: UInt8) {
    sum = sum << 8 ^ crc16Table[Int(UInt8(sum >> 8) ^ byte)]
  }

  /// Adds bytes to the checksum of a frame, from `index` up to the first `stop` at `least` or later.
  /// - Returns: the index of that one, or the number of bytes.
  static func checksum(
    _ sum: inout UInt16, _ bytes: [UInt8], from index: Int, before stop: UInt8, atLeast least: Int
  ) -> Int {
    bytes.withUnsafeBufferPointer { bytes in
      crc16Table.withUnsafeBufferPointer { table in
        var (index, value) = (index, sum)
        while index < bytes.count, bytes[index] != stop || index < least {
          value = value << 8 ^ table[Int(UInt8(value >> 8) ^ bytes[index])]
          index += 1
        }
        sum = value
        return index
      }
    }
  }

  private static let crc16Table: [UInt16] = (0..<256).map { (byte: UInt16) in
    (0..<8).reduce(byte << 8) { sum, _ in sum & 0x8000 != 0 ? sum << 1 ^ 0x8005 : sum << 1 }
  }
}

/// The header of a frame of FLAC. Source: RFC 9639 §9.1.
struct FLACFrameHeader {
  /// `true` if the number counts samples, and not frames.
  let countsSamples: Bool
  /// The number of the frame, or of its first sample.
  let number: UInt64
  /// The offset of the first byte after the number.
  let numberEnd: Int
  /// The length of the header in bytes, with its checksum.
  let length: Int
  /// The number of PCM frames.
  let samples: Int

  /// Reads the header at the start of a packet; nil when it is missing or damaged.
  init?(_ packet: [UInt8]) {
    samples = FLACMapping.samples(of: packet)
    guard samples > 0 else { return nil }
    countsSamples = packet[1] & 1 != 0
    let ones = (~packet[4]).leadingZeroBitCount
    guard ones != 1, ones < 8, packet.count > 4 + max(1, ones) else { return nil }
    var number = UInt64(ones == 0 ? packet[4] : packet[4] & (0x7F >> UInt8(ones)))
    for byte in packet[5..<(4 + max(1, ones))] {
      guard byte & 0xC0 == 0x80 else { return nil }
      number = number << 6 | UInt64(byte & 0x3F)
    }
    (self.number, numberEnd) = (number, 4 + max(1, ones))
    let sizes = [6: 1, 7: 2][packet[2] >> 4] ?? 0
    let rates = [12: 1, 13: 2, 14: 2][packet[2] & 15] ?? 0
    length = numberEnd + sizes + rates + 1
    guard packet.count >= length, Self.crc8(packet[..<(length - 1)]) == packet[length - 1] else { return nil }
  }

  static func crc8(_ bytes: some Sequence<UInt8>) -> UInt8 {
    bytes.reduce(0) { sum, byte in
      (0..<8).reduce(sum ^ byte) { sum, _ in sum & 0x80 != 0 ? sum << 1 ^ 0x07 : sum << 1 }
    }
  }
}
