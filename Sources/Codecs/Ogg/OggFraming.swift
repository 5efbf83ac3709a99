/// Divides a stream of Ogg into the pages of its sound, with their lengths in time.
///
/// The first stream of sound among multiplexed logical streams is used; streams that follow each other (a
/// chain) each come with headers of their own. The headers come as one item, before the first page of sound:
/// headers without a page of sound are dropped. Memory: the last input, a page, and 128 KiB while headers are
/// read.
public struct OggFraming: Sendable {
  /// An item found in the stream.
  public enum Item: Sendable, Equatable {
    /// The headers of the pages that follow.
    case headers(OggHeaders)
    /// A page of sound.
    case page(Page)
    /// A stream that can't be used: `found` names the content, in words. Nothing follows.
    case unusable(found: String)
  }

  /// A page of sound.
  public struct Page: Sendable, Equatable {
    /// The offset in the stream of its first byte.
    public let offset: Int
    /// The length in bytes.
    public let length: Int
    /// The length in PCM frames.
    public let samples: Int
    /// The position in its logical stream at its end, in PCM frames; nil when it has none.
    public let end: Int?
  }

  /// The name of content that is not known.
  public static let unknownContent = "Ogg with unknown content"

  /// The number of bytes of pages without headers after which a stream is given up.
  private static let longestStart = 256 * 1024

  private enum State {
    /// No first page of a logical stream has come, but other pages of `bytes` bytes have.
    case unknown(bytes: Int)
    /// The first pages of a group of streams have come, none of them of sound; `found` names the first.
    case foreign(found: String)
    case reading(OggHeaderReader)
    case sound(OggHeaders, OggClock)
    case over
  }

  private var scanner: OggPageScanner
  private var state = State.unknown(bytes: 0)
  /// The number of the current logical stream.
  public private(set) var serial: UInt32 = 0
  /// The offset of the first page of the current logical stream.
  public private(set) var start = 0
  /// `true` while the first pages of a group of streams come.
  private var isInGroup = false
  /// `true` if the headers were returned.
  private var isBegun = false
  private var waiting: Page?

  /// The length in bytes of the longest page.
  public static let longestPage = OggPage.longest

  /// Returns the end of the last whole page in `bytes`; nil when there is no such page.
  public static func endOfLastPage(_ bytes: [UInt8]) -> Int? {
    wholePages(in: bytes).last.map { $0.offset + $0.page.length }
  }

  /// Returns the whole pages in `bytes`, which may begin and end within one, and their offsets.
  public static func wholePages(in bytes: [UInt8]) -> [(page: OggPage, offset: Int)] {
    var scanner = OggPageScanner()
    bytes.withUnsafeBytes { scanner.feed($0) }
    var pages: [(page: OggPage, offset: Int)] = []
    while true {
      while let found = scanner.next() { pages.append((found.page, found.offset)) }
      // A page that is cut off may hide whole ones after a false header.
      let left = scanner.pendingBytes
      scanner.skip()
      if scanner.pendingBytes == left { return pages }
    }
  }

  /// - Parameter offset: the stream offset of the first byte that is fed.
  public init(offset: Int = 0) { scanner = OggPageScanner(offset: offset) }

  /// Creates a framing of the pages of a logical stream from its midst, whose headers are known.
  public init(_ headers: OggHeaders, serial: UInt32, offset: Int) {
    scanner = OggPageScanner(offset: offset)
    (state, self.serial, isBegun) = (.sound(headers, OggClock(headers)), serial, true)
  }

  /// The headers of the current logical stream; nil before all of them have come.
  public var headers: OggHeaders? {
    if case .sound(let headers, _) = state { return headers }
    return nil
  }

  /// The number of bytes so far that were in no page with a right checksum.
  public var skippedBytes: Int { scanner.skippedBytes }
  /// The number of bytes that were fed and are in no returned page yet.
  public var pendingBytes: Int { scanner.pendingBytes + (waiting?.length ?? 0) }

  /// Appends the next bytes of the stream. Pages that were returned have no bytes after this.
  public mutating func feed(_ bytes: UnsafeRawBufferPointer) {
    scanner.feed(bytes)
  }

  /// Frees the memory of the pages that were returned.
  public mutating func compact() { if waiting == nil { scanner.compact() } }

  /// Ends the input: bytes that are not a whole page are skipped.
  public mutating func end() { scanner.end() }

  /// Returns the next item; nil when more bytes are needed, or nothing follows.
  public mutating func next() -> Item? {
    if let failure {
      self.failure = nil
      return .unusable(found: failure)
    }
    guard let page = waiting ?? search() else {
      guard let failure else { return nil }
      self.failure = nil
      return .unusable(found: failure)
    }
    if !isBegun, case .sound(let headers, _) = state {
      (isBegun, waiting) = (true, page)
      return .headers(headers)
    }
    waiting = nil
    return .page(page)
  }

  /// The content of a stream that turned out to be unusable, until it is returned.
  private var failure: String?

  private mutating func fail(_ found: String) {
    (state, failure) = (.over, found)
  }

  /// Returns the next page of sound.
  private mutating func search() -> Page? {
    while let found = scanner.next() {
      if case .over = state { return nil }
      let scanner = scanner
      let page = scanner.withBytes(at: found.offset, count: found.page.length) { bytes -> Page? in
        found.page.isFirst ? begin(found, bytes) : read(found, bytes)
      }
      if let page = page ?? nil { return page }
    }
    return nil
  }

  /// Reads the first page of a logical stream.
  private mutating func begin(_ found: OggPageScanner.Found, _ bytes: UnsafeRawBufferPointer) -> Page? {
    let page = found.page
    defer { isInGroup = true }
    if isInGroup, case .reading = state { return nil }
    let packet = page.parts.first.map { Array(bytes[$0.range]) } ?? []
    if let headers = OggHeaders(packet) {
      (state, serial, isBegun) = (.reading(OggHeaderReader(headers)), page.serial, false)
      start = found.offset
    } else if !isInGroup {
      state = .foreign(found: ForeignSound.name(ofOgg: packet[...]) ?? Self.unknownContent)
    }
    return nil
  }

  private mutating func read(_ found: OggPageScanner.Found, _ bytes: UnsafeRawBufferPointer) -> Page? {
    isInGroup = false
    let page = found.page
    switch state {
    case .over: return nil
    case .unknown(let count):
      state = .unknown(bytes: count + page.length)
      if count > Self.longestStart { fail("Ogg without its headers") }
    case .foreign(let found): fail(found)
    case .reading(var reader):
      guard page.serial == serial else { return nil }
      state = .over  // so that it is not copied
      reader.read(page, bytes)
      switch reader.state {
      case .reading: state = .reading(reader)
      case .complete: state = .sound(reader.headers, OggClock(reader.headers))
      case .failed(let found): fail(found)
      }
    case .sound(let headers, var clock):
      guard page.serial == serial else { return nil }
      let effect = clock.advance(page, bytes)
      state = .sound(headers, clock)
      return Page(offset: found.offset, length: page.length, samples: effect.heard, end: effect.end)
    }
    return nil
  }

  /// Calls `body` with the bytes of a page that was returned since the last `feed`; returns nil when they are gone.
  public func withBytes<Result>(
    at offset: Int, count: Int, _ body: (UnsafeRawBufferPointer) -> Result
  ) -> Result? {
    scanner.withBytes(at: offset, count: count, body)
  }
}
