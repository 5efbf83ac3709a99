internal import Codecs
internal import StreamCore

/// An Ogg file: Vorbis, Opus or FLAC.
///
/// The length is the position in the last page, which is requested before the sound. Pages state their times,
/// so a seek requests an estimate, and is exact to a page; if the estimate is after the target, it requests
/// an earlier one. A file of several consecutive logical streams has no known length, and can't be
/// repositioned.
struct PagedFile: FileParser {
  private enum State {
    /// Pages come from the beginning of the file; the first one of sound is kept until the length is known.
    case beginning
    /// The end of the file was requested, from this offset on.
    case end
    case sound
    /// After a seek to `target`: the pages from `from` on were requested.
    case landing(target: StreamTime, from: Int, attempts: Int)
    case over
  }

  private let size: Int?
  private var state = State.beginning
  private var framing = OggFraming()
  private var found: [FileItem] = []
  private var hasEnded = false
  private var headers: (headers: OggHeaders, serial: UInt32, start: Int)?
  private var isChained = false
  /// `true` if the headers of a further logical stream have come, but no page of it.
  private var isNext = false
  /// The position after the last page, in PCM frames; nil while unknown.
  private var last: Int?
  /// The end of the newest page received in order from the beginning.
  private var heard = StreamTime.zero

  /// The number of bytes at the file's end that certainly hold a page.
  private static let endLength = 2 * OggFraming.longestPage

  init(size: Int?) { self.size = size }

  /// Opus needs 80 ms, and almost all files have pages of at least 20 ms.
  let preroll = 5
  var soundEnd: StreamTime? { nil }

  mutating func feed(_ bytes: UnsafeRawBufferPointer) { framing.feed(bytes) }

  mutating func end() {
    hasEnded = true
    framing.end()
  }

  mutating func next() -> FileItem? {
    while found.isEmpty {
      guard !isOver, let item = framing.next() else {
        framing.compact()
        guard hasEnded else { return nil }
        atEnd()
        if found.isEmpty { return headers == nil ? unusable("Ogg without sound") : .end }
        continue
      }
      switch item {
      case .unusable(let content): return unusable(content)
      case .headers(let new): begin(new)
      case .page(let page): read(page)
      }
    }
    return found.removeFirst()
  }

  private var isOver: Bool {
    if case .over = state { return true }
    return false
  }

  private mutating func unusable(_ content: String) -> FileItem {
    state = .over
    return .unusable(found: content, isUnsupported: ContentSniffer.isForeign(content))
  }

  private mutating func begin(_ new: OggHeaders) {
    if headers != nil { isChained = true }
    if case .end = state { return }
    if headers != nil { isNext = true }
    headers = (new, framing.serial, 0)
  }

  private mutating func read(_ page: OggFraming.Page) {
    switch state {
    case .beginning:
      headers?.start = page.offset
      guard let size, size - page.offset > Self.endLength else { return sound(page, isFirst: true) }
      state = .end
      hasEnded = false
      let from = size - Self.endLength
      resume(at: from)
      found.append(.jump(to: from))
    case .end: last = page.end ?? last
    case .sound: sound(page, isFirst: false)
    case .landing(let target, let from, let attempts): land(page, target, from, attempts)
    case .over: break
    }
  }

  /// Continues with pages at another offset of the first logical stream.
  private mutating func resume(at offset: Int) {
    guard let headers else { return }
    framing = OggFraming(headers.headers, serial: headers.serial, offset: offset)
  }

  /// Handles the end of the requested bytes.
  private mutating func atEnd() {
    switch state {
    case .end:
      guard let headers else { return }
      // The end belongs to another stream if it holds no page of this one.
      isChained = isChained || last == nil
      (state, hasEnded) = (.sound, false)
      resume(at: headers.start)
      found.append(.jump(to: headers.start))
      announce(at: .zero)
    case .landing(let target, let from, let attempts) where attempts < 3 && from > (headers?.start ?? 0):
      retry(target, from, attempts)
    case .sound:
      if !isChained, last == nil, let headers {
        last = Int((heard.seconds * Double(headers.headers.sampleRate)).rounded())
      }
    case .beginning, .landing, .over: break
    }
  }

  // MARK: Sound

  /// Adds the items before the first page.
  private mutating func announce(at time: StreamTime) {
    guard let headers else { return }
    found += [.format(format(headers.headers)), .begins(at: time), headerFrame(at: headers.start)].compactMap
    { $0 }
  }

  /// Returns the item with the current headers, for the page at `offset`.
  private func headerFrame(at offset: Int) -> FileItem? {
    guard let headers else { return nil }
    let bytes = headers.headers.pages(serial: headers.serial).bytes
    let hash = bytes.withUnsafeBytes { FrameHash.of($0) }
    return .frame(
      StreamFrame(headersAt: offset, length: bytes.count, hash: hash, format: format(headers.headers)), bytes)
  }

  private func format(_ headers: OggHeaders) -> StreamFormat {
    StreamFormat(
      codec: headers.codec, sampleRate: headers.sampleRate, channels: headers.channels)
  }

  private mutating func sound(_ page: OggFraming.Page, isFirst: Bool) {
    if isFirst {
      state = .sound
      announce(at: .zero)
    } else if isNext, let headers {
      isNext = false
      found += [.format(format(headers.headers)), headerFrame(at: page.offset)].compactMap { $0 }
    }
    append(page)
  }

  private mutating func append(_ page: OggFraming.Page) {
    guard let headers,
      let bytes = framing.withBytes(at: page.offset, count: page.length, { [UInt8]($0) })
    else { return }
    let frame = StreamFrame(
      offset: page.offset, length: page.length, hash: 0, format: format(headers.headers),
      samples: page.samples)
    heard = heard + frame.duration
    found.append(.frame(frame, bytes))
  }

  // MARK: Positions

  var duration: Double? {
    guard let headers, !isChained, let last else { return nil }
    return Double(last) / Double(headers.headers.sampleRate)
  }

  mutating func seek(to target: StreamTime) -> Int? {
    guard let headers, let size, let duration, duration > 0 else { return nil }
    (found, hasEnded) = ([], false)
    // Some pages earlier: decoders need some sound before the target.
    let wanted = max(0, target.seconds - 1)
    let share = min(1, wanted / duration)
    let from = headers.start + Int(share * Double(max(0, size - headers.start - Self.endLength)))
    return land(at: wanted < 0.5 ? headers.start : from, target, attempts: 0)
  }

  private mutating func land(at offset: Int, _ target: StreamTime, attempts: Int) -> Int {
    state = .landing(target: target, from: offset, attempts: attempts)
    resume(at: offset)
    return offset
  }

  private mutating func retry(_ target: StreamTime, _ from: Int, _ attempts: Int) {
    guard let headers else { return }
    hasEnded = false
    // Two retries go back by a quarter of the way, the third to the beginning.
    let back = (from - headers.start) / (attempts > 1 ? 1 : 4) + Self.endLength
    found.append(.jump(to: land(at: max(headers.start, from - back), target, attempts: attempts + 1)))
  }

  private mutating func land(_ page: OggFraming.Page, _ target: StreamTime, _ from: Int, _ attempts: Int) {
    guard let headers, let end = page.end, page.samples > 0 else { return }
    let begin = StreamTime(samples: max(0, end - page.samples), sampleRate: headers.headers.sampleRate)
    let isFirst = from <= headers.start
    if !isFirst, begin + StreamTime(seconds: 0.1) > target, attempts < 3 {
      return retry(target, from, attempts)
    }
    // Pages far before the target are dropped: decoders need only the last of them.
    if begin + StreamTime(seconds: 3) < target { return }
    state = .sound
    announce(at: begin)
    append(page)
  }
}
