internal import Codecs

/// The frames of a stream of Ogg: its pages, with the headers of each logical stream before its pages.
struct OggPages: Sendable {
  private var framing: OggFraming
  private var format: StreamFormat?
  /// The items that follow a format or headers.
  private var waiting: [StreamFramer.Item] = []
  /// The bytes of the headers that were returned last, as whole pages.
  private var headerBytes: [UInt8] = []
  private var headers: StreamFrame?
  private var new: OggHeaders?
  private var skippedBefore = 0

  /// - Parameter offset: the offset in the stream of the first byte that is fed.
  init(offset: Int) { framing = OggFraming(offset: offset) }

  var pendingBytes: Int { framing.pendingBytes }
  var skippedBytes: Int { framing.skippedBytes }

  mutating func feed(_ bytes: UnsafeRawBufferPointer) { framing.feed(bytes) }
  mutating func compact() { if waiting.isEmpty { framing.compact() } }
  mutating func end() { framing.end() }

  /// Returns the next item; nil when more bytes are needed, or nothing follows.
  /// - Parameter isOver: `true` if no bytes follow.
  mutating func next(isOver: Bool) -> StreamFramer.Item? {
    if !waiting.isEmpty { return waiting.removeFirst() }
    while true {
      switch framing.next() {
      case .unusable(let found)?: return .notAudio(found: found)
      case .headers(let headers)?: new = headers
      case .page(let page)?:
        skippedBefore = framing.skippedBytes
        if let new { begin(new, at: page.offset) }
        new = nil
        guard let format else { continue }
        var hash: UInt64 = 0
        _ = framing.withBytes(at: page.offset, count: page.length) { hash = FrameHash.of($0) }
        waiting.append(
          .frame(
            StreamFrame(
              offset: page.offset, length: page.length, hash: hash, format: format, samples: page.samples)))
        return waiting.removeFirst()
      case nil:
        if framing.skippedBytes - skippedBefore > StreamFramer.lossLimit {
          return .notAudio(found: "no page of Ogg in \(StreamFramer.lossLimit / 1024) KiB")
        }
        return isOver && format == nil ? .notAudio(found: "Ogg without sound") : nil
      }
    }
  }

  private mutating func begin(_ headers: OggHeaders, at offset: Int) {
    let format = StreamFormat(
      codec: headers.codec, sampleRate: headers.sampleRate, channels: headers.channels)
    if format != self.format { waiting.append(.format(format)) }
    self.format = format
    headerBytes = headers.pages(serial: framing.serial).bytes
    let frame = StreamFrame(
      headersAt: offset, length: headerBytes.count,
      hash: headerBytes.withUnsafeBytes { FrameHash.of($0) }, format: format)
    self.headers = frame
    waiting.append(.frame(frame))
  }

  /// Calls `body` with the bytes of a frame that was returned since the last `feed`; returns nil for an earlier one.
  func withBytes<Result>(of frame: StreamFrame, _ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
    if frame.isHeaders { return frame == headers ? headerBytes.withUnsafeBytes(body) : nil }
    return framing.withBytes(at: frame.offset, count: frame.length, body)
  }
}

/// The number of a page of Ogg in its logical stream, by which two connections are compared.
struct OggPosition: Sendable {
  private let page: OggPage
  /// The PCM frames before the page, and with it; nil where it has no granule position.
  private let range: (start: Int, end: Int)?
  private let sampleRate: Int

  /// Reads the position of a frame; nil for headers, and for bytes that are not a page.
  init?(_ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer) {
    guard frame.codec.isOgg, !frame.isHeaders, let page = OggPage(bytes) else { return nil }
    self.page = page
    sampleRate = frame.sampleRate
    range = page.granule >= 0 && page.granule < 1 << 60 ? (page.granule - frame.samples, page.granule) : nil
  }

  /// `true` if it is the next page after another one.
  func follows(_ other: OggPosition) -> Bool {
    page.serial == other.page.serial && page.sequence == other.page.sequence &+ 1 && !other.page.isLast
      && !page.isFirst
  }

  /// `true` if the page states a position.
  var isTimed: Bool { range != nil }

  /// `true` if pages of the same logical stream are missing between an earlier page and this one.
  func isBehindGap(after other: OggPosition) -> Bool {
    page.serial == other.page.serial && page.sequence > other.page.sequence &+ 1 && !page.isFirst
  }

  /// The limit in seconds of the sound of a page.
  private static let longestPage = 60.0

  /// Returns the seconds of sound in the pages that are missing between an earlier one with a position and this one; nil
  /// when this one has no position. Positions that no pages can have count as pages like this one.
  func missing(after other: OggPosition) -> Double? {
    guard let range, sampleRate > 0 else { return nil }
    let count = Double(page.sequence &- other.page.sequence &- 1)
    if let gap = gap(behind: other), gap <= count * Self.longestPage { return gap }
    return count * Double(range.end - range.start) / Double(sampleRate)
  }

  /// Returns the seconds of sound between an earlier page and this one; nil when this one is not known to be later.
  func gap(behind other: OggPosition) -> Double? {
    guard page.serial == other.page.serial, page.sequence > other.page.sequence, let range,
      let before = other.range?.end, range.start >= before, sampleRate > 0
    else { return nil }
    return Double(range.start - before) / Double(sampleRate)
  }
}
