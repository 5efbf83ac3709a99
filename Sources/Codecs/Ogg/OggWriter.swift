/// Writes pages of a logical stream as a stream of its own, wherever they begin: headers first, numbers and
/// granule positions from 0, and no parts of packets. Frames of FLAC after a gap are numbered anew: see
/// `FLACNumbering`.
///
/// The end is marked by `OggFileEnd`, when all is written.
public struct OggWriter: Sendable {
  /// The number of pages that `cut` can remove.
  private static let recentLimit = 4096

  private let headers: OggHeaders
  private let serial: UInt32
  private var clock: OggClock
  private var sequence: UInt32 = 0
  private var parts = OggPacketParts()
  /// The numbers of frames of FLAC; nil in other codecs.
  private var numbering: FLACNumbering?
  private var recent: [(bytes: Int, samples: Int)] = []
  /// The number of bytes of the pages of sound that were returned.
  public private(set) var bytes = 0
  /// The PCM frames that these pages sound.
  public private(set) var samples = 0

  /// The number of bytes of the packet that continues in the next page.
  var heldBytes: Int { parts.heldBytes }

  /// Creates a writer of a stream that has the number `serial`, and begins with `headers`.
  public init(_ headers: OggHeaders, serial: UInt32) {
    (self.headers, self.serial, clock) = (headers, serial, OggClock(headers))
    if headers.codec == .oggflac { numbering = FLACNumbering(headers) }
  }

  /// Returns the bytes to append to the file for the next page of sound, with the headers before the first
  /// page.
  /// - Parameters:
  ///   - limit: the PCM frames from the start of the page that are kept; nothing is added after a page that
  ///     has more.
  ///     Exact in Vorbis and Opus, where the granule position of the last page trims its end; the packet that reaches
  ///     beyond it is kept whole in FLAC.
  ///   - onPacket: receives each packet that these bytes hold.
  public mutating func add(
    _ source: UnsafeRawBufferPointer, keeping limit: Int = .max, onPacket: ([UInt8]) -> Void = { _ in }
  ) -> [UInt8] {
    guard let page = OggPage(source), source.count >= page.length else { return [] }
    let before = clock.position
    let effect = clock.advance(page, source, isJoined: true)
    if effect.isBroken { parts.reset() }
    let end = self.end(of: effect, isLast: page.isLast, from: before, keeping: limit)
    var (packets, lengths) = ([[UInt8]](), effect.packets.prefix(end.packets))
    var packetLengths: [Int] = []
    for part in page.parts {
      guard let packet = parts.add(part, of: source), let length = lengths.popFirst(), !packet.isEmpty else {
        continue
      }
      let numbered = numbering?.number(packet) ?? packet
      packets.append(numbered)
      packetLengths.append(length)
      onPacket(numbered)
    }
    guard !packets.isEmpty else { return [] }
    clock.leaveOff(end.excess)
    let heard = effect.heard - end.excess
    var result: [UInt8] = []
    if sequence == 0 {
      let (bytes, count) = headers.pages(serial: serial, preSkip: clock.isWhole ? nil : 0)
      (result, sequence) = (bytes, UInt32(count))
    }
    // A decoder that finds one page only may not know which of its ends is trimmed: ffmpeg trims neither in Vorbis.
    let isOnly = samples == 0 && end.excess > 0 && headers.codec == .vorbis
    let pages = pages(of: packets, packetLengths, from: before, separatesLast: isOnly)
    bytes += pages.count
    samples += heard
    recent.append((pages.count, heard))
    if recent.count > Self.recentLimit { recent.removeFirst(Self.recentLimit / 2) }
    return result + pages
  }

  /// Returns the number of packets of a page that are needed for its first `limit` PCM frames, and the PCM frames at its
  /// end that are left off.
  private func end(
    of page: OggClock.Page, isLast: Bool, from start: Int, keeping limit: Int
  ) -> (packets: Int, excess: Int) {
    guard limit < page.heard else { return (page.packets.count, 0) }
    let excess = page.heard - max(0, limit)
    let end = clock.position - excess
    // A stream may begin within the sound of its first packets.
    let cut = start == 0 && !isLast ? page.packets.reduce(0, +) - page.decoded : 0
    var (time, count) = (start - cut, 0)
    for length in page.packets where limit > 0 && time < end {
      time += length
      count += 1
    }
    return (count, headers.codec == .oggflac ? max(0, clock.position - time) : excess)
  }

  /// Returns the bytes of the last pages that were added, `count` of them, which are to be cut off.
  public mutating func cut(_ count: Int) -> Int {
    let removed = recent.suffix(count)
    let length = removed.reduce(0) { $0 + $1.bytes }
    bytes -= length
    samples -= removed.reduce(0) { $0 + $1.samples }
    recent.removeLast(removed.count)
    return length
  }

  /// Returns whole pages: one, unless the packets have more segments than it can hold, or the last packet gets a page of
  /// its own.
  private mutating func pages(
    of packets: [[UInt8]], _ samples: [Int], from start: Int, separatesLast: Bool
  ) -> [UInt8] {
    var (run, time) = ([(packet: [UInt8], granule: Int)](), start)
    for (index, packet) in packets.enumerated() {
      // The first page of a stream, and the last, may end within the sound of a packet.
      time = index == packets.count - 1 ? clock.position : min(clock.position, time + samples[index])
      run.append((packet, time))
    }
    let (last, rest) = (run.suffix(separatesLast ? 1 : 0), run.dropLast(separatesLast ? 1 : 0))
    let pages = OggPage.pages(of: [Array(rest), Array(last)], serial: serial, from: sequence)
    sequence += UInt32(pages.count)
    return pages.flatMap { $0 }
  }
}

/// The last changes to a file of Ogg, when all its pages are written.
public enum OggFileEnd {
  /// A piece of a file that is to be overwritten.
  public struct Patch: Sendable, Equatable {
    /// The offset in the file.
    public let offset: Int
    /// The new bytes.
    public let bytes: [UInt8]
  }

  /// Returns the change that marks the last page as such.
  /// - Parameters:
  ///   - tail: the last bytes of the file, 64 KiB or all of them, to the end of the last page.
  ///   - offset: the offset in the file of the first of them.
  public static func mark(_ tail: [UInt8], at offset: Int) -> Patch? {
    var scanner = OggPageScanner()
    tail.withUnsafeBytes { scanner.feed($0) }
    var last: OggPageScanner.Found?
    while let found = scanner.next() { last = found }
    guard let last, last.offset + last.page.length == tail.count, !last.page.isLast else { return nil }
    var head = Array(tail[last.offset...])
    head[5] |= 4
    head.withUnsafeMutableBufferPointer { OggPage.seal($0) }
    return Patch(offset: offset + last.offset, bytes: Array(head.prefix(OggPage.headLength)))
  }

  /// Returns the change that states the length and the MD5 in the first page of a file of FLAC; nil for other files.
  ///
  /// They are those of its first logical stream: the headers of others that follow, in a chain, stay as they are.
  /// - Parameters:
  ///   - samples: the length in PCM frames; nil for the one that is stated.
  ///   - sum: the MD5 of the samples, 16 bytes; nil for one that is not known. Source: RFC 9639 §8.2.
  ///   - start: the first bytes of the file, at least 1 KiB or all of them.
  public static func description(samples: Int?, sum: [UInt8]?, in start: [UInt8]) -> Patch? {
    guard let page = start.withUnsafeBytes({ OggPage($0) }), page.length <= start.count, page.isFirst else {
      return nil
    }
    var bytes = Array(start.prefix(page.length))
    let packet = page.contentStart
    guard OggHeaders(bytes[packet...])?.codec == .oggflac else { return nil }
    if let samples {
      // 36 bits; 0 stands for an unknown length.
      let stated = (0..<1 << 36).contains(samples) ? samples : 0
      bytes[packet + 30] = bytes[packet + 30] & 0xF0 | UInt8(stated >> 32)
      for index in 0..<4 { bytes[packet + 31 + index] = UInt8(stated >> (24 - 8 * index) & 0xFF) }
    }
    bytes.replaceSubrange((packet + 35)..<(packet + 51), with: sum ?? [UInt8](repeating: 0, count: 16))
    bytes.withUnsafeMutableBufferPointer { OggPage.seal($0) }
    return Patch(offset: 0, bytes: bytes)
  }
}
