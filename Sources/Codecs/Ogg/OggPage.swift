internal import CVorbis

/// A page of Ogg: the header, and the lengths of the parts of packets in it.
///
/// Source: RFC 3533 §6.
public struct OggPage: Sendable, Equatable {
  /// The length in bytes of the fixed part of the header.
  static let headLength = 27
  /// The length in bytes of the longest page.
  public static let longest = headLength + 255 + 255 * 255

  /// `true` if the page begins inside a packet.
  public var isContinued: Bool { flags & 1 != 0 }
  /// `true` for the first page of a logical stream.
  public var isFirst: Bool { flags & 2 != 0 }
  /// `true` for the last page of a logical stream.
  public var isLast: Bool { flags & 4 != 0 }

  private let flags: UInt8
  /// The greatest granule position that is believed: years of sound at any rate.
  static let greatestGranule = 1 << 48

  /// The granule position at the end of the page: PCM frames in most codecs; −1 where no packet ends, and for a position
  /// that no stream can have.
  public let granule: Int
  /// The number of the logical stream.
  public let serial: UInt32
  /// The number of the page in its logical stream.
  public let sequence: UInt32
  /// The lengths of the segments: a packet ends with the first that is below 255.
  let lacing: [UInt8]

  /// Reads the header at the start of `bytes`, which may end with the header; nil when that is not a header,
  /// or is cut off.
  public init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= Self.headLength, bytes.starts(with: "OggS".utf8), bytes[4] == 0 else { return nil }
    let segments = Int(bytes[26])
    guard bytes.count >= Self.headLength + segments else { return nil }
    flags = bytes[5]
    let position = Int(Int64(littleEndian: bytes.loadUnaligned(fromByteOffset: 6, as: Int64.self)))
    granule = (0...Self.greatestGranule).contains(position) ? position : -1
    serial = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 14, as: UInt32.self))
    sequence = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 18, as: UInt32.self))
    lacing = Array(bytes[Self.headLength..<(Self.headLength + segments)])
  }

  /// The offset in the page of the first byte of content.
  var contentStart: Int { Self.headLength + lacing.count }
  /// The length of the page in bytes.
  public var length: Int { lacing.reduce(contentStart) { $0 + Int($1) } }

  /// A packet, or a part of one.
  struct Part: Equatable {
    /// The bytes of the page that it is.
    let range: Range<Int>
    /// `true` if the packet begins in this page.
    let begins: Bool
    /// `true` if the packet ends in this page.
    let ends: Bool
  }

  /// The packets and parts of packets in the page, in order.
  var parts: [Part] {
    var parts: [Part] = []
    var (start, end, begins) = (contentStart, contentStart, !isContinued)
    for segment in lacing {
      end += Int(segment)
      guard segment < 255 else { continue }
      parts.append(Part(range: start..<end, begins: begins, ends: true))
      (start, begins) = (end, true)
    }
    if lacing.last == 255 { parts.append(Part(range: start..<end, begins: begins, ends: false)) }
    return parts
  }

  /// The bytes of the page that are its last whole packet; nil where none begins and ends in it.
  public var lastPacket: Range<Int>? { parts.last { $0.begins && $0.ends }?.range }

  /// `true` if a packet ends in the page.
  public var endsPacket: Bool { lacing.contains { $0 < 255 } }

  // MARK: libogg

  /// Searches for a page whose checksum is right, as libogg does, in place: nothing is copied or kept. Bytes of the page
  /// change while its checksum is compared.
  /// - Returns: the length of the whole page at the start of `bytes`; 0 if it may be cut off; minus the number of bytes
  ///   that begin none.
  static func seek(_ bytes: UnsafeMutableBufferPointer<UInt8>) -> Int {
    var (sync, page) = (ogg_sync_state(), ogg_page())
    sync.data = bytes.baseAddress
    sync.storage = CInt(clamping: bytes.count)
    sync.fill = sync.storage
    return ogg_sync_pageseek(&sync, &page)
  }

  /// Sets the checksum of a whole page.
  static func seal(_ bytes: UnsafeMutableBufferPointer<UInt8>) {
    precondition(bytes.count >= headLength, "a page has a header")
    var page = ogg_page(
      header: bytes.baseAddress, header_len: bytes.count, body: bytes.baseAddress, body_len: 0)
    ogg_page_checksum_set(&page)
  }

  /// Returns packets as whole pages, numbered from `sequence`.
  /// - Parameters:
  ///   - runs: packets, each with the granule position at its end; each run begins with a page of its own.
  ///   - isStart: `true` if the logical stream begins with them.
  static func pages(
    of runs: [[(packet: [UInt8], granule: Int)]], serial: UInt32, from sequence: UInt32 = 0,
    isStart: Bool = false
  ) -> [[UInt8]] {
    var (stream, page, pages) = (ogg_stream_state(), ogg_page(), [[UInt8]]())
    let status = ogg_stream_init(&stream, CInt(bitPattern: serial))
    precondition(status == 0, "there is memory for a page of Ogg")
    defer { ogg_stream_clear(&stream) }
    (stream.b_o_s, stream.pageno) = (isStart ? 0 : 1, CLong(sequence))
    for run in runs {
      for (packet, granule) in run {
        let status = VorbisInfo.withPacket(packet, number: 1) { raw in
          raw.pointee.granulepos = ogg_int64_t(granule)
          return ogg_stream_packetin(&stream, raw)
        }
        precondition(status == 0, "there is memory for a packet of Ogg")
      }
      while ogg_stream_flush_fill(&stream, &page, CInt.max) != 0 {
        pages.append(
          Array(UnsafeBufferPointer(start: page.header, count: page.header_len))
            + UnsafeBufferPointer(start: page.body, count: page.body_len))
      }
    }
    return pages
  }

  // MARK: Files

  /// Returns the first packet of a file that begins with `head`, as far as it is present; nil when that is
  /// not a page of Ogg.
  static func firstPacket(_ head: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    head.withUnsafeBytes { OggPage($0) }.map { head.dropFirst($0.contentStart) }
  }

  /// Returns the position in the last page of `file`; nil when none has one in its last 64 KiB, the longest page.
  static func lastPosition(in file: borrowing FileDescriptor) -> Int? {
    let length = min(file.size, 65_536)
    let tail = file.bytes(at: file.size - length, count: length)
    var index = tail.count
    while let found = tail[..<index].lastIndex(of: UInt8(ascii: "O")) {
      if let page = tail[found...].withUnsafeBytes({ OggPage($0) }), page.granule > 0 { return page.granule }
      index = found
    }
    return nil
  }
}

/// Joins the parts of packets that continue over pages. Memory: one packet, 1 MiB at most.
struct OggPacketParts: Sendable {
  /// The limit in bytes of a packet; the longest of FLAC have some 100 KiB.
  private static let longest = 1 << 20

  private enum State {
    /// No packet continues, or its beginning is missing.
    case none
    case begun([UInt8])
    case tooLong
  }

  private var state = State.none

  /// The number of bytes of the packet that continues.
  var heldBytes: Int { if case .begun(let packet) = state { packet.count } else { 0 } }

  /// Forgets the packet that continues: a page is missing.
  mutating func reset() { state = .none }

  /// Adds a part of a page.
  /// - Returns: the packet that ends with it, without bytes when it was longer than the limit; nil when none ends, or its
  ///   beginning is missing.
  mutating func add(_ part: OggPage.Part, of page: UnsafeRawBufferPointer) -> [UInt8]? {
    if part.begins { state = .begun([]) }
    if case .begun(var packet) = state {
      state = .tooLong  // so that the packet is not copied
      if packet.count + part.range.count <= Self.longest {
        packet.append(contentsOf: page[part.range])
        state = .begun(packet)
      }
    }
    guard part.ends else { return nil }
    defer { state = .none }
    switch state {
    case .none: return nil
    case .begun(let packet): return packet
    case .tooLong: return []
    }
  }
}

/// Finds the pages of a physical stream of Ogg: bytes in, whole pages with a right checksum out.
///
/// Other bytes are skipped, wherever they are. Memory: the last input, and one page, 64 KiB at most.
struct OggPageScanner: Sendable {
  /// A page and its offset in the stream.
  struct Found {
    let page: OggPage
    let offset: Int
  }

  private var bytes: [UInt8] = []
  /// The index in `bytes` of the first byte that is in no returned page.
  private var start = 0
  /// The offset in the stream of the first of `bytes`.
  private var offset: Int
  /// The number of bytes that were in no page.
  private(set) var skippedBytes = 0

  /// - Parameter offset: the offset in the stream of the first byte that is fed.
  init(offset: Int = 0) { self.offset = offset }

  /// The number of bytes that were fed and are in no returned page yet.
  var pendingBytes: Int { bytes.count - start }

  /// Appends the next bytes. Pages that were returned have no bytes after this.
  mutating func feed(_ new: UnsafeRawBufferPointer) {
    drop()
    bytes.append(contentsOf: new)
  }

  /// Frees the memory of the pages that were returned.
  mutating func compact() {
    drop()
    if bytes.isEmpty {
      bytes = []
    } else if bytes.capacity > 4 * bytes.count + 4096 {
      bytes = Array(bytes[...])
    }
  }

  private mutating func drop() {
    guard start > 0 else { return }
    bytes.removeFirst(start)
    offset += start
    start = 0
  }

  /// Returns the next page; nil when more bytes are needed.
  mutating func next() -> Found? {
    while start < bytes.count {
      let length = seek()
      guard length != 0 else { return nil }
      guard length > 0 else {
        skip(-length)
        continue
      }
      guard let page = bytes[start...].withUnsafeBytes({ OggPage($0) }) else {
        skip()  // a page of another version
        continue
      }
      defer { start += length }
      return Found(page: page, offset: offset + start)
    }
    return nil
  }

  /// Ends the input: a page that is cut off is dropped.
  mutating func end() {
    // Its bytes may hold whole pages after a false header.
    while start < bytes.count, case let length = seek(), length <= 0 { skip(max(1, -length)) }
  }

  /// Skips bytes that begin no whole page.
  mutating func skip(_ count: Int = 1) {
    let count = min(count, bytes.count - start)
    start += count
    skippedBytes += count
  }

  /// Searches for a page at the first byte that is in none; see `OggPage.seek`.
  private mutating func seek() -> Int {
    bytes.withUnsafeMutableBufferPointer { [start] in
      OggPage.seek(UnsafeMutableBufferPointer(rebasing: $0[start...]))
    }
  }

  /// Calls `body` with bytes of a page that was returned since the last `feed`; returns nil when they are gone.
  func withBytes<Result>(at offset: Int, count: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
    let first = offset - self.offset
    guard first >= 0, count >= 0, first + count <= bytes.count else { return nil }
    return bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[first..<(first + count)])) }
  }
}
