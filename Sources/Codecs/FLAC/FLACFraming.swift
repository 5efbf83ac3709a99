/// Divides FLAC without a container into its frames, as its bytes come.
///
/// A frame ends where its checksum is right and the header of another follows, or, if it is damaged, the one of the next
/// number. Memory: the last input, a frame of at most 1 MiB, and 128 KiB of headers; pictures are skipped as they come.
///
/// Source: RFC 9639 §6 to §9.
public struct FLACFraming: Sendable {
  /// An item found in the stream.
  public enum Item: Sendable, Equatable {
    /// The headers of the frames that follow, as of FLAC in Ogg.
    case headers(OggHeaders)
    case frame(Frame)
    /// A stream that can't be used: `found` names the content, in words. Nothing follows.
    case unusable(found: String)
  }

  /// A frame.
  public struct Frame: Sendable, Equatable {
    /// The offset in the stream of its first byte.
    public let offset: Int
    /// The length in bytes.
    public let length: Int
    /// The number of PCM frames before it.
    public let start: Int
    /// The length in PCM frames.
    public let samples: Int
  }

  /// A position in a table of the headers.
  public struct SeekPoint: Sendable, Equatable {
    /// The number of PCM frames before it.
    public let sample: Int
    /// The offset in the stream of its frame.
    public let byte: Int
  }

  /// The facts of the first header. Source: RFC 9639 §8.2.
  private struct Info {
    let blockSize: Int
    let hasSizes: Bool
    let longestFrame: Int

    init(_ block: ArraySlice<UInt8>) {
      let bytes = Array(block)
      func big(_ index: Int, _ count: Int) -> Int {
        bytes[index..<(index + count)].reduce(0) { $0 << 8 | Int($1) }
      }
      (blockSize, hasSizes) = (big(0, 2), big(0, 2) != big(2, 2))
      longestFrame = big(7, 3) > 0 ? min(big(7, 3), FLACFraming.longestFrame) : FLACFraming.longestFrame
    }
  }

  private enum State {
    /// The mark at the beginning has not come.
    case mark
    /// The header of a block of headers comes next.
    case block
    /// The rest of a block is skipped.
    case skipping(Int, isLast: Bool)
    case comments(OggCommentReader, Int, isLast: Bool)
    /// No frame has begun at the first byte that is not consumed.
    case searching
    /// A frame begins there, which is searched for its end.
    case frame(Begun)
    case over
  }

  /// A frame whose end is not found.
  private struct Begun {
    let header: FLACFrameHeader
    /// The number of bytes with the checksum `sum`.
    var scanned = 0
    var sum: UInt16 = 0
    /// The length at which it may be whole, although no valid header follows there.
    var possibleEnd: Int?
  }

  /// The limit in bytes of a frame; those of eight channels have some 300 KiB.
  static let longestFrame = 1 << 20
  /// The limit of headers in bytes: those with pictures have some MiB.
  private static let longestHeaders = 64 << 20
  private static let mostPoints = 4096
  /// The bytes of the longest header of a frame, and of a tag of ID3v1.
  private static let (headerLength, tagLength) = (16, 128)

  private var state = State.mark
  private var bytes: [UInt8] = []
  /// The offset in the stream of the first byte of `bytes`.
  private var offset = 0
  private var hasEnded = false
  private var info: Info?
  private var headers: OggHeaders?
  /// The offset of the first byte after the headers; nil before they have come.
  public private(set) var soundStart: Int?
  /// The number of PCM frames by the headers; nil if they state none.
  public private(set) var total: Int?
  /// The positions in the headers' table, in order.
  public private(set) var seekPoints: [SeekPoint] = []

  /// Creates a framing of a stream from its beginning on.
  public init() {}

  /// Appends the next bytes of the stream. Frames returned earlier have no bytes after this.
  public mutating func feed(_ new: UnsafeRawBufferPointer) { bytes.append(contentsOf: new) }

  /// Ends the input: the last frame needs no header after it.
  public mutating func end() { hasEnded = true }

  /// Continues after the headers with the bytes from `offset` on, which may begin within a frame.
  public mutating func move(to offset: Int) {
    (bytes, self.offset, hasEnded, state) = ([], offset, false, .searching)
  }

  /// Returns the next item with the bytes of a frame; nil when more bytes are needed, or nothing follows.
  public mutating func nextItem() -> (item: Item, bytes: [UInt8])? {
    while true {
      switch state {
      case .mark:
        guard bytes.count >= 4 else { return hasEnded ? unusable("FLAC without its headers") : nil }
        guard bytes.starts(with: "fLaC".utf8) else { return unusable("FLAC without its headers") }
        drop(4)
        state = .block
      case .block:
        guard let item = readBlock() else { return hasEnded ? unusable("FLAC without sound") : nil }
        if let item { return item }
      case .skipping(let count, let isLast):
        let passed = min(count, bytes.count)
        drop(passed)
        guard passed == count else {
          state = .skipping(count - passed, isLast: isLast)
          return hasEnded ? unusable("FLAC without sound") : nil
        }
        if let item = endBlock(isLast) { return item }
      case .comments(var reader, let count, let isLast):
        let part = bytes.prefix(count)
        reader.feed(part)
        drop(part.count)
        guard part.count == count else {
          state = .comments(reader, count - part.count, isLast: isLast)
          return hasEnded ? unusable("FLAC without sound") : nil
        }
        headers?.comments = reader.comments
        if let item = endBlock(isLast) { return item }
      case .searching: if !search() { return nil }
      case .frame(let frame):
        switch scan(frame) {
        case .more: return nil
        case .again: break
        case .whole(let length): return accept(frame.header, length)
        }
      case .over: return nil
      }
    }
  }

  private mutating func drop(_ count: Int) {
    bytes.removeFirst(count)
    offset += count
  }

  private mutating func unusable(_ found: String) -> (item: Item, bytes: [UInt8]) {
    (state, bytes) = (.over, [])
    return (.unusable(found: found), [])
  }

  // MARK: Headers

  /// Reads the header of a block, and the blocks that are needed.
  /// - Returns: nil when more bytes are needed; an item where one is found.
  private mutating func readBlock() -> (item: Item, bytes: [UInt8])?? {
    guard bytes.count >= 4 else { return nil }
    let (kind, isLast) = (bytes[0] & 0x7F, bytes[0] & 0x80 != 0)
    let length = Int(bytes[1]) << 16 | Int(bytes[2]) << 8 | Int(bytes[3])
    guard offset < Self.longestHeaders else { return unusable("FLAC whose headers have no end") }
    if headers == nil {
      guard kind == 0, length == 34 else { return unusable("FLAC without its first header") }
      guard bytes.count >= 38 else { return nil }
      let block = bytes[4..<38]
      let packet = [0x7F] + Array("FLAC".utf8) + [1, 0, 0, 1] + Array("fLaC".utf8) + [0, 0, 0, 34] + block
      guard let found = OggHeaders(packet) else { return unusable("FLAC with a damaged header") }
      (headers, info) = (found, Info(block))
      let stated = block[17] & 0x0F
      let samples = block[18..<22].reduce(Int(stated)) { $0 << 8 | Int($1) }
      total = samples > 0 ? samples : nil
      drop(38)
      return .some(endBlock(isLast))
    }
    if kind == 4 {
      state = .comments(OggCommentReader(magicLength: 4), length + 4, isLast: isLast)
      return .some(nil)
    }
    // Each point has 18 bytes.
    if kind == 3, length <= Self.mostPoints * 18 {
      guard bytes.count >= 4 + length else { return nil }
      readPoints(bytes[4..<(4 + length)])
      drop(4 + length)
      return .some(endBlock(isLast))
    }
    state = .skipping(4 + length, isLast: isLast)
    return .some(nil)
  }

  /// Reads a table of positions. Source: RFC 9639 §8.5.
  private mutating func readPoints(_ table: ArraySlice<UInt8>) {
    var rest = table
    while rest.count >= 18 {
      func big(_ range: Range<Int>) -> UInt64 {
        rest.dropFirst(range.lowerBound).prefix(range.count).reduce(0) { $0 << 8 | UInt64($1) }
      }
      let (sample, byte) = (big(0..<8), big(8..<16))
      // The offsets count from the sound on. A point that is not in use has the largest number.
      if sample < 1 << 40, byte < 1 << 50, sample > seekPoints.last.map({ UInt64($0.sample) }) ?? 0 {
        seekPoints.append(SeekPoint(sample: Int(sample), byte: Int(byte)))
      }
      rest = rest.dropFirst(18)
    }
  }

  private mutating func endBlock(_ isLast: Bool) -> (item: Item, bytes: [UInt8])? {
    state = isLast ? .searching : .block
    guard isLast, let headers else { return nil }
    soundStart = offset
    seekPoints = seekPoints.map { SeekPoint(sample: $0.sample, byte: offset + $0.byte) }
    return (.headers(headers), [])
  }

  // MARK: Frames

  /// Finds the beginning of a frame.
  /// - Returns: `false` when more bytes are needed.
  private mutating func search() -> Bool {
    var index = 0
    while let found = bytes[index...].firstIndex(of: 0xFF) {
      guard let header = header(at: found) else {
        drop(found)
        return false
      }
      if let header {
        drop(found)
        state = .frame(Begun(header: header))
        return true
      }
      index = found + 1
    }
    drop(bytes.count)
    return false
  }

  /// Returns the header at an index, or nil in it for none; nil when more bytes are needed.
  private func header(at index: Int) -> FLACFrameHeader?? {
    if index + 1 < bytes.count, bytes[index + 1] & 0xFE != 0xF8 { return .some(nil) }
    guard index + Self.headerLength <= bytes.count || hasEnded else { return nil }
    return .some(FLACFrameHeader(Array(bytes[index...].prefix(Self.headerLength))))
  }

  private enum Scan {
    case more
    /// The bytes were no frame, or another one begins within it.
    case again
    case whole(Int)
  }

  /// Searches for the end of the frame at the first byte.
  private mutating func scan(_ begun: Begun) -> Scan {
    var frame = begun
    let (header, longest) = (frame.header, info?.longestFrame ?? Self.longestFrame)
    while true {
      frame.scanned = FLACNumbering.checksum(
        &frame.sum, bytes, from: frame.scanned, before: 0xFF, atLeast: header.length)
      guard frame.scanned < bytes.count else { break }
      guard let following = self.header(at: frame.scanned) else {
        state = .frame(frame)
        return .more
      }
      if let following {
        if frame.sum == 0 || following.number == number(behind: header) { return .whole(frame.scanned) }
        // The header of the frame between them is damaged.
        if following.number > header.number, let end = frame.possibleEnd { return .whole(end) }
      } else if frame.sum == 0 {
        frame.possibleEnd = frame.scanned
      }
      if frame.scanned > longest { return giveUp(frame) }
      FLACNumbering.checksum(&frame.sum, bytes[frame.scanned])
      frame.scanned += 1
    }
    state = .frame(frame)
    guard hasEnded else { return frame.scanned > longest + Self.headerLength ? giveUp(frame) : .more }
    if frame.sum == 0, frame.scanned > header.length { return .whole(frame.scanned) }
    // A tag may follow the last frame; a frame that is cut off is dropped.
    if bytes.count > Self.tagLength + header.length, bytes.suffix(Self.tagLength).starts(with: "TAG".utf8) {
      bytes.removeLast(Self.tagLength)
      state = .frame(Begun(header: header))
      return .again
    }
    state = .over
    return .more
  }

  /// Continues the search after the first byte of bytes that are not a frame.
  private mutating func giveUp(_ frame: Begun) -> Scan {
    if let end = frame.possibleEnd { return .whole(end) }
    drop(1)
    state = .searching
    return .again
  }

  /// Returns the number of the frame that follows one.
  private func number(behind header: FLACFrameHeader) -> UInt64 {
    header.number &+ (countsSamples(header) ? UInt64(header.samples) : 1)
  }

  private func countsSamples(_ header: FLACFrameHeader) -> Bool {
    header.countsSamples || info?.hasSizes == true
  }

  private mutating func accept(_ header: FLACFrameHeader, _ length: Int) -> (item: Item, bytes: [UInt8])? {
    let start = countsSamples(header) ? header.number : header.number &* UInt64(info?.blockSize ?? 0)
    let frame = Frame(
      offset: offset, length: length, start: Int(clamping: min(start, 1 << 40)), samples: header.samples)
    let content = Array(bytes.prefix(length))
    drop(length)
    state = .searching
    return (.frame(frame), content)
  }
}

/// Packs frames of FLAC into pages of Ogg, each beginning with a frame. Source: RFC 9639 §10.1.
public struct FLACPages: Sendable {
  private let serial: UInt32
  private var sequence: UInt32

  /// - Parameter sequence: the number of pages of headers in front.
  public init(serial: UInt32, sequence: Int) { (self.serial, self.sequence) = (serial, UInt32(sequence)) }

  /// Returns the pages of a frame; the last one has its end.
  /// - Parameter end: the number of PCM frames up to its end.
  public mutating func add(_ frame: [UInt8], end: Int) -> [[UInt8]] {
    let pages = OggPage.pages(of: [[(frame, end)]], serial: serial, from: sequence)
    sequence &+= UInt32(pages.count)
    return pages
  }
}
