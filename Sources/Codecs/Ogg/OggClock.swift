/// Counts the sound in the pages of a logical stream, from wherever it was joined.
///
/// The packets are counted; the granule positions only show where a stream begins and ends.
/// Sources: Vorbis I §A.2; RFC 7845 §4; "Ogg FLAC Mapping 1.0".
public struct OggClock: Sendable {
  private let headers: OggHeaders
  /// The PCM frames that were decoded so far.
  public private(set) var position = 0
  /// `true` if the first page was that of the stream.
  public private(set) var isWhole = false
  /// The PCM frames before the first page by the granule positions; nil while unknown.
  private var base: Int?
  /// The PCM frames that are still to be skipped.
  private var skip = 0
  private var last: (serial: UInt32, sequence: UInt32)?
  /// The block size of the last packet, in Vorbis; 0 after a gap.
  private var blockSize = 0
  /// The first bytes of the packet that continues in the next page.
  private var begun: [UInt8]?

  /// Creates a clock for the sound after `headers`.
  public init(_ headers: OggHeaders) { self.headers = headers }

  /// The effect of a page.
  public struct Page: Sendable, Equatable {
    /// The PCM frames that its packets decode to.
    public var decoded = 0
    /// The PCM frames of each packet that ends in it, before the stream's end or beginning cuts them.
    var packets: [Int] = []
    /// The number of them that are sound: without the padding at the beginning of Opus.
    public var heard = 0
    /// `true` if it does not continue the page before.
    public var isBroken = false
    /// The position in the stream by its granule position, in heard PCM frames, at its end; nil when it has none.
    public var end: Int?
  }

  /// Returns the effect of the next page.
  /// - Parameter isJoined: `true` if decoders will not notice a gap before it.
  public mutating func advance(
    _ page: OggPage, _ bytes: UnsafeRawBufferPointer, isJoined: Bool = false
  ) -> Page {
    var result = Page()
    result.isBroken = last.map { $0.serial != page.serial || $0.sequence &+ 1 != page.sequence } ?? true
    last = (page.serial, page.sequence)
    if result.isBroken { (begun, base) = (nil, nil) }
    if result.isBroken, !isJoined { blockSize = 0 }
    var decoded = 0
    for part in page.parts {
      let head = Array(bytes[part.range].prefix(16))
      if part.begins { begun = head } else if let known = begun, known.count < 16 { begun = known + head }
      guard part.ends else { continue }
      if let packet = begun {
        result.packets.append(headers.mapping.samples(of: packet, headers, blockSize: &blockSize))
      }
      begun = nil
    }
    decoded = result.packets.reduce(0, +)
    if !result.packets.isEmpty { place(page, &decoded) }
    (result.decoded, result.heard) = (decoded, decoded - min(decoded, skip))
    skip -= decoded - result.heard
    position += decoded
    if page.granule >= 0, page.granule < 1 << 60 { result.end = max(0, page.granule - headers.preSkip) }
    return result
  }

  /// Leaves off PCM frames at the end of the last page, which no page follows.
  mutating func leaveOff(_ frames: Int) {
    position -= frames
    base = base.map { $0 - frames }
  }

  /// Applies the granule position of a page in which packets end.
  private mutating func place(_ page: OggPage, _ decoded: inout Int) {
    let granule = page.granule
    guard granule >= 0, granule < 1 << 60 else {
      base = base.map { $0 + decoded }
      return
    }
    if base == nil {
      let isStart = granule <= decoded
      if position == 0 {
        isWhole = isStart
        if isStart { skip = headers.preSkip }
      }
      // A stream of Vorbis may begin, and any may end, within a packet.
      if isStart { decoded = granule }
      base = granule
    } else if let before = base {
      if page.isLast { decoded = max(0, min(decoded, granule - before)) }
      base = granule
    }
  }
}
