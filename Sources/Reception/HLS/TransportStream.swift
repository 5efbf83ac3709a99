/// Separates the first sound of an MPEG transport stream, and the tags beside it, as its bytes come.
///
/// ```swift
/// try demuxer.feed(bytes) { item in … }
/// ```
/// Damaged packets are skipped; the sound lost with them shows in the times. Memory: a packet, two tables of
/// at most 1 KiB, the header of a packet of the elementary stream, and one tag of at most 64 KiB.
///
/// Source: ISO/IEC 13818-1 §2.4.3 (packets, PES), §2.4.4 (PAT, PMT).
struct TransportStream: Sendable {
  enum Item {
    /// The time of the sound that follows, in ticks of 90 kHz.
    case time(Int)
    /// A packet of the sound is missing.
    case loss
    /// Bytes of the sound, valid until the call returns.
    case sound(UnsafeRawBufferPointer)
    /// A tag with its time.
    case tag([UInt8], time: Int?)
  }

  /// A reason why the stream brings no sound, in words.
  struct Obstacle: Error, Equatable {
    let found: String
    /// `true` for an unsupported kind of sound; `false` for damage.
    var isUnsupported = true
  }

  static let packetSize = 188
  private static let sync: UInt8 = 0x47
  private static let longestTable = 1024 + 3
  private static let longestTag = 64 * 1024
  /// The number of bytes between packets after which a stream is given up; bytes after a false packet count
  /// on.
  private static let lossLimit = 64 * 1024

  /// A table that comes in several packets.
  private struct Table {
    let id: Int
    var bytes: [UInt8] = []
  }

  /// The packets of one elementary stream.
  private struct Packets {
    let id: Int
    /// The header so far; nil once it is complete, and before the first.
    var header: [UInt8]?
    var isStarted = false
    var time: Int?
    /// The bytes remaining in the packet; nil if it does not state a length.
    var rest: Int?
    var counter: UInt8?
  }

  private var carry: [UInt8] = []
  /// The number of bytes in no packet since the last packet that followed another one.
  private var lost = 0
  /// `true` if the byte before was the last of a packet.
  private var isInSync = false
  private var programmes = Table(id: 0)
  private var map: Table?
  private var sound: Packets?
  private var tags: Packets?
  private var tag: [UInt8] = []

  /// Returns `true` if an initialization section is MPEG-TS: tables in packets. Source: RFC 8216 §3.2.
  static func isPacket(_ section: [UInt8]) -> Bool { section.first == sync && section.count >= packetSize }

  /// `true` if the table of contents has named a sound.
  var hasSound: Bool { sound != nil }

  /// The number of held bytes.
  var pendingBytes: Int {
    carry.count + tag.count + programmes.bytes.count + (map?.bytes.count ?? 0) + (sound?.header?.count ?? 0)
      + (tags?.header?.count ?? 0)
  }

  /// Receives the next bytes of the stream.
  mutating func feed(
    _ bytes: UnsafeRawBufferPointer, _ body: (Item) -> Void
  ) throws(Obstacle) {
    var index = 0
    while index < bytes.count {
      if carry.isEmpty, bytes.count - index >= Self.packetSize, bytes[index] == Self.sync {
        try read(UnsafeRawBufferPointer(rebasing: bytes[index..<(index + Self.packetSize)]), body)
        index += Self.packetSize
        continue
      }
      if carry.isEmpty, bytes[index] != Self.sync {
        index += 1
        (lost, isInSync) = (lost + 1, false)
        guard lost <= Self.lossLimit else {
          throw Obstacle(
            found: "MPEG-TS with \(Self.lossLimit / 1024) KiB in no packet", isUnsupported: false)
        }
        continue
      }
      let count = min(Self.packetSize - carry.count, bytes.count - index)
      carry += bytes[index..<(index + count)]
      index += count
      guard carry.count == Self.packetSize else { return }
      let packet = carry
      carry.removeAll(keepingCapacity: true)
      var failure: Obstacle?
      packet.withUnsafeBytes { packet in
        do throws(Obstacle) { try read(packet, body) } catch { failure = error }
      }
      if let failure { throw failure }
    }
  }

  /// Ends a segment: a packet that was cut off is dropped, a tag without a stated length is complete.
  mutating func endSegment(_ body: (Item) -> Void) {
    // Some packagers count from 0 in each segment.
    sound?.counter = nil
    tags?.counter = nil
    (carry, lost, isInSync) = ([], 0, false)
    finishTag(body)
  }

  private mutating func read(
    _ packet: UnsafeRawBufferPointer, _ body: (Item) -> Void
  ) throws(Obstacle) {
    if isInSync { lost = 0 }
    isInSync = true
    let starts = packet[1] & 0x40 != 0
    guard packet[1] & 0x80 == 0 else { return }
    let id = Int(packet[1] & 0x1F) << 8 | Int(packet[2])
    guard packet[3] & 0x10 != 0 else { return }
    var start = 4
    if packet[3] & 0x20 != 0 { start += 1 + Int(packet[4]) }
    guard start < Self.packetSize else { return }
    let payload = UnsafeRawBufferPointer(rebasing: packet[start...])
    if id == 0 {
      if let section = Self.append(payload, starts, to: &programmes) { readProgrammes(section) }
      return
    }
    if id == map?.id {
      if var table = map {
        let section = Self.append(payload, starts, to: &table)
        map = table
        if let section { try readMap(section) }
      }
      return
    }
    guard id == sound?.id || id == tags?.id else { return }
    if packet[3] & 0xC0 != 0 {
      throw Obstacle(found: "scrambled sound in MPEG-TS")
    }
    let counter = packet[3] & 0x0F
    if id == sound?.id {
      // A packet may be sent twice.
      if sound?.counter == counter { return }
      guard var packets = sound else { return }
      let isNext = packets.counter.map { ($0 + 1) & 0x0F == counter } ?? true
      if !isNext, !isDiscontinuous(packet) { body(.loss) }
      packets.counter = counter
      receive(payload, starts, &packets, isTag: false, body)
      sound = packets
    } else {
      if tags?.counter == counter { return }
      guard var packets = tags else { return }
      packets.counter = counter
      receive(payload, starts, &packets, isTag: true, body)
      tags = packets
    }
  }

  /// Returns `true` if a packet states that its counter does not follow from the last one.
  private func isDiscontinuous(_ packet: UnsafeRawBufferPointer) -> Bool {
    packet[3] & 0x20 != 0 && packet[4] > 0 && packet[5] & 0x80 != 0
  }

  // MARK: Tables

  /// - Returns: the section, once it is complete.
  private static func append(
    _ payload: UnsafeRawBufferPointer, _ starts: Bool, to table: inout Table
  ) -> [UInt8]? {
    if starts {
      let skip = 1 + Int(payload[0])
      guard skip < payload.count else { return nil }
      table.bytes = [UInt8](payload[skip...])
    } else {
      guard !table.bytes.isEmpty else { return nil }
      table.bytes += payload
    }
    guard table.bytes.count >= 3 else { return nil }
    let length = 3 + (Int(table.bytes[1] & 0x0F) << 8 | Int(table.bytes[2]))
    guard length <= longestTable else {
      table.bytes = []
      return nil
    }
    guard table.bytes.count >= length else { return nil }
    defer { table.bytes = [] }
    // Without the checksum.
    return length >= 12 ? Array(table.bytes[..<(length - 4)]) : nil
  }

  private mutating func readProgrammes(_ section: [UInt8]) {
    guard section[0] == 0 else { return }
    for index in stride(from: 8, through: section.count - 4, by: 4) {
      let number = Int(section[index]) << 8 | Int(section[index + 1])
      let id = Int(section[index + 2] & 0x1F) << 8 | Int(section[index + 3])
      guard number != 0 else { continue }
      if map?.id != id { map = Table(id: id) }
      return
    }
  }

  private static let foreign: [UInt8: String] = [
    0x11: "AAC in LATM in MPEG-TS", 0x81: "AC-3 in MPEG-TS", 0x87: "E-AC-3 in MPEG-TS",
    0xC1: "AC-3 of SAMPLE-AES", 0xC2: "E-AC-3 of SAMPLE-AES", 0xCF: "AAC of SAMPLE-AES",
    0x1C: "MPEG-4 audio without ADTS in MPEG-TS", 0x82: "DTS in MPEG-TS",
  ]

  private mutating func readMap(_ section: [UInt8]) throws(Obstacle) {
    guard section[0] == 2, section.count >= 12 else { return }
    var index = 12 + (Int(section[10] & 0x0F) << 8 | Int(section[11]))
    var (soundID, tagID, foreign): (Int?, Int?, String?)
    while index + 5 <= section.count {
      let kind = section[index]
      let id = Int(section[index + 1] & 0x1F) << 8 | Int(section[index + 2])
      let length = Int(section[index + 3] & 0x0F) << 8 | Int(section[index + 4])
      switch kind {
      case 0x0F, 0x03, 0x04: soundID = soundID ?? id
      case 0x15: tagID = tagID ?? id
      default: foreign = foreign ?? Self.foreign[kind]
      }
      index += 5 + length
    }
    guard let soundID else {
      throw Obstacle(found: foreign ?? "MPEG-TS without sound of a known kind")
    }
    if sound?.id != soundID { sound = Packets(id: soundID) }
    if tags?.id != tagID { tags = tagID.map { Packets(id: $0) } }
  }

  // MARK: Packets of the elementary streams

  private mutating func receive(
    _ payload: UnsafeRawBufferPointer, _ starts: Bool, _ packets: inout Packets, isTag: Bool,
    _ body: (Item) -> Void
  ) {
    if starts {
      if isTag { finishTag(of: packets, body) }
      (packets.header, packets.isStarted, packets.time, packets.rest) = ([], true, nil, nil)
    }
    guard packets.isStarted else { return }
    var bytes = payload
    if var header = packets.header {
      // Nine bytes; the last one has the length of the rest.
      while !bytes.isEmpty, header.count < 9 || header.count < 9 + Int(header[8]) {
        header.append(bytes[0])
        bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
      }
      guard header.count >= 9, header.count == 9 + Int(header[8]) else {
        packets.header = header
        return
      }
      packets.header = nil
      guard header.starts(with: [0, 0, 1]) else {
        packets.isStarted = false
        return
      }
      let length = Int(header[4]) << 8 | Int(header[5])
      packets.rest = length == 0 ? nil : max(0, length - 3 - Int(header[8]))
      packets.time = Self.time(header)
      if !isTag, let time = packets.time { body(.time(time)) }
    }
    if let rest = packets.rest {
      bytes = UnsafeRawBufferPointer(rebasing: bytes.prefix(rest))
      packets.rest = rest - bytes.count
    }
    guard isTag else { return bytes.isEmpty ? () : body(.sound(bytes)) }
    if tag.count + bytes.count <= Self.longestTag { tag += bytes }
    if packets.rest == 0 { finishTag(of: packets, body) }
  }

  private static func time(_ header: [UInt8]) -> Int? {
    guard header[7] & 0x80 != 0, header.count >= 14 else { return nil }
    let (a, b, c) = (Int(header[9]), Int(header[10]), Int(header[11]))
    let (d, e) = (Int(header[12]), Int(header[13]))
    return (a >> 1 & 7) << 30 | b << 22 | (c >> 1) << 15 | d << 7 | e >> 1
  }

  private mutating func finishTag(_ body: (Item) -> Void) {
    if let tags { finishTag(of: tags, body) }
  }

  private mutating func finishTag(of packets: Packets, _ body: (Item) -> Void) {
    guard !tag.isEmpty else { return }
    body(.tag(tag, time: packets.time))
    tag = []
  }
}
