internal import Codecs
internal import StreamCore

/// The frames in the segments of an HLS stream, in any supported container, and the titles beside them.
///
/// A value: a copy made at the start of a segment reads the segment again from there, frame for frame.
/// ```swift
/// sound.begin(title: segment.title, initialization: nil, isContinuous: true) { … }
/// try sound.consume(bytes) { item in … }
/// sound.endSegment { … }
/// ```
struct HLSSound: Sendable {
  /// An item of the segments, in order.
  enum Item {
    case format(StreamFormat)
    /// The time of the first sound of the segment in ticks of 90 kHz, before its frame.
    case clock(Int)
    /// Sound is missing before the next frame, in seconds: it was lost between the packager and this
    /// receiver.
    case missing(seconds: Double)
    /// A frame with its bytes, which are valid until the call returns, and a title that begins with it.
    case frame(StreamFrame, UnsafeRawBufferPointer, title: ICYMetadata?)
  }

  /// A reason why a segment can't be played, in words.
  struct Obstacle: Error, Equatable {
    let found: String
    /// `true` for an unsupported kind of sound; `false` for damage, and for data that is not sound.
    var isUnsupported = false
  }

  private enum Container: Sendable {
    /// The first bytes of a segment.
    case unknown([UInt8])
    /// In the tag before packed audio, with the number of its bytes still to come.
    case tag([UInt8], rest: Int)
    case packed
    case transport
    case fragments
  }

  private var container = Container.unknown([])
  private var framer = StreamFramer()
  private var transport = TransportStream()
  private var fragments: MP4Fragments?
  /// The initialization section of `fragments`.
  private var initialization: [UInt8]?
  private var titles = HLSTitles()
  /// The number of sound bytes that went to the framer.
  private var position = 0
  /// The clock of the current segment.
  private enum Clock: Sendable { case unknown, found(ticks: Int), emitted }
  private var clock = Clock.unknown
  private var times = HLSTimes()

  /// The number of held bytes that are in no frame yet.
  var pendingBytes: Int {
    let start =
      switch container {
      case .unknown(let bytes), .tag(let bytes, _): bytes.count
      case .packed, .transport, .fragments: 0
      }
    return start + framer.pendingBytes + transport.pendingBytes + (fragments?.pendingBytes ?? 0)
  }

  /// Begins a segment.
  /// - Parameters:
  ///   - initialization: the section that its MP4 needs, or the tables of its MPEG-TS.
  ///   - isContinuous: `false` if it does not follow from the segment before, whose last frame is then
  ///     complete.
  mutating func begin(
    title: String?, initialization: [UInt8]?, isContinuous: Bool, _ body: (Item) -> Bool
  ) throws(Obstacle) {
    if !isContinuous {
      finish(body)
      framer = StreamFramer(offset: position)
      (transport, fragments, self.initialization) = (TransportStream(), nil, nil)
      times.interrupt()
      titles.interrupt()
    }
    clock = .unknown
    if let initialization, TransportStream.isPacket(initialization) {
      container = .unknown([])
      var obstacle: Obstacle?
      initialization.withUnsafeBytes { bytes in
        do throws(Obstacle) { try demux(bytes) } catch { obstacle = error }
      }
      if let obstacle { throw obstacle }
    } else if let initialization {
      if initialization != self.initialization {
        do throws(MP4Obstacle) { fragments = try MP4Fragments(initialization: initialization) } catch {
          throw Obstacle(found: error.found, isUnsupported: error.isUnsupported)
        }
        self.initialization = initialization
      }
      fragments?.begin()
      container = .fragments
    } else {
      container = .unknown([])
    }
    if let title { titles.begin(title, from: position) }
  }

  /// Drops the held bytes: the next segment does not follow the last one, and its title is emitted.
  mutating func restart() {
    framer = StreamFramer(offset: position)
    (transport, fragments, initialization, container) = (TransportStream(), nil, nil, .unknown([]))
    (times, titles) = (HLSTimes(), HLSTitles())
  }

  private mutating func anchor(_ ticks: Int) {
    if case .unknown = clock { clock = .found(ticks: ticks) }
    times.anchor(at: position, ticks: ticks)
  }

  /// Receives the next bytes of the segment.
  /// - Parameter body: returns `false` to stop.
  mutating func consume(_ bytes: UnsafeRawBufferPointer, _ body: (Item) -> Bool) throws(Obstacle) {
    var isOver = false
    func emit(_ item: Item) -> Bool {
      if !isOver { isOver = !body(item) }
      return !isOver
    }
    // Tags come before the sound, one after the other.
    var bytes = bytes[...]
    while true {
      switch container {
      case .unknown(let start) where start.isEmpty:
        guard bytes.count >= TimedTag.headerSize else {
          container = .unknown(Array(bytes))
          return
        }
        container = try Self.recognise(Array(bytes.prefix(TimedTag.headerSize)))
      case .unknown(let start):
        let missing = max(0, TimedTag.headerSize - start.count)
        let known = start + bytes.prefix(missing)
        guard known.count >= TimedTag.headerSize else {
          container = .unknown(known)
          return
        }
        bytes = bytes.dropFirst(missing)
        container = try Self.recognise(known)
        guard case .tag(_, let rest) = container else {
          var failure: Obstacle?
          known.withUnsafeBytes { bytes in
            do throws(Obstacle) { try consumeSound(bytes, emit) } catch { failure = error }
          }
          if let failure { throw failure }
          continue
        }
        container = .tag(known, rest: rest - known.count)
      case .tag(var tag, let rest):
        let count = min(rest, bytes.count)
        if tag.count < TimedTag.limit { tag += bytes.prefix(count) }
        bytes = bytes.dropFirst(count)
        container = .tag(tag, rest: rest - count)
        guard rest == count else { return }
        finishTag(tag)
        container = .unknown([])
      case .packed, .transport, .fragments:
        return try consumeSound(UnsafeRawBufferPointer(rebasing: bytes), emit)
      }
    }
  }

  private mutating func consumeSound(
    _ bytes: UnsafeRawBufferPointer, _ body: (Item) -> Bool
  ) throws(Obstacle) {
    switch container {
    case .unknown, .tag: break
    case .packed:
      feed(bytes)
      try drain(body)
    case .transport:
      try demux(bytes)
      try drain(body)
    case .fragments:
      guard var demuxer = fragments else { return }
      fragments = nil  // so that its memory is not copied
      defer { fragments = demuxer }
      do throws(MP4Obstacle) { try demuxer.feed(bytes) { receive($0) } } catch {
        throw Obstacle(found: error.found, isUnsupported: error.isUnsupported)
      }
      try drain(body)
    }
  }

  private mutating func demux(_ bytes: UnsafeRawBufferPointer) throws(Obstacle) {
    var demuxer = transport
    transport = TransportStream()  // so that its memory is not copied
    defer { transport = demuxer }
    do throws(TransportStream.Obstacle) { try demuxer.feed(bytes) { receive($0) } } catch {
      throw Obstacle(found: error.found, isUnsupported: error.isUnsupported)
    }
  }

  private mutating func receive(_ item: TransportStream.Item) {
    switch item {
    case .time(let ticks): anchor(ticks)
    case .sound(let bytes): feed(bytes)
    case .loss: times.damage(at: position)
    case .tag(let bytes, let time): titles.add(TimedTag(bytes)?.title, at: time)
    }
  }

  private mutating func receive(_ item: MP4Fragments.Item) {
    switch item {
    case .time(let seconds): anchor(Int((min(seconds, 1e12) * 90_000).rounded()))
    case .frame(let frame): frame.withUnsafeBytes { feed($0) }
    case .message(let tag, let delay):
      titles.add(TimedTag(tag)?.title, after: min(max(0, delay), 3600), times.next)
    }
  }

  /// Returns the container of a segment, or the tag, that begins with these bytes, which have the length of a
  /// tag's header.
  private static func recognise(_ start: [UInt8]) throws(Obstacle) -> Container {
    if let length = TimedTag.length(start) { return .tag([], rest: length) }
    if start[0] == 0x47 { return .transport }
    if ["ftyp", "styp", "moof", "sidx"].contains(where: { start.dropFirst(4).starts(with: $0.utf8) }) {
      throw Obstacle(found: "a segment of MP4 without an EXT-X-MAP")
    }
    if start.starts(with: "WEBVTT".utf8) { throw Obstacle(found: "subtitles") }
    return .packed
  }

  private mutating func finishTag(_ bytes: [UInt8]) {
    guard let tag = TimedTag(bytes) else { return }
    if let time = tag.time { anchor(time) }
    titles.add(tag.title, at: tag.time, from: position)
  }

  private mutating func feed(_ bytes: UnsafeRawBufferPointer) {
    framer.feed(bytes)
    position += bytes.count
  }

  private mutating func drain(_ body: (Item) -> Bool) throws(Obstacle) {
    defer { framer.compact() }
    if case .found(let ticks) = clock {
      clock = .emitted
      if !body(.clock(ticks)) { return }
    }
    while let item = framer.next() {
      switch item {
      case .format(let format):
        guard format.codec.hasFrames else {
          throw Obstacle(found: "sound of the kind \(format.codec)", isUnsupported: true)
        }
        if !body(.format(format)) { return }
      case .notAudio(let found): throw Obstacle(found: found)
      case .frame(let frame):
        let missing = times.advance(to: frame)
        let title = titles.next(for: frame, until: times.next)
        if missing > 0, !body(.missing(seconds: missing)) { return }
        if framer.withBytes(of: frame, { body(.frame(frame, $0, title: title)) }) == false { return }
      }
    }
  }

  /// Ends a segment that was received whole.
  mutating func endSegment(_ body: (Item) -> Bool) throws(Obstacle) {
    if case .unknown(let start) = container, !start.isEmpty {
      container = .packed
      start.withUnsafeBytes { feed($0) }
    }
    if case .transport = container {
      guard transport.hasSound else { throw Obstacle(found: "MPEG-TS without a table of its contents") }
      var demuxer = transport
      demuxer.endSegment { receive($0) }
      transport = demuxer
    }
    try drain(body)
  }

  /// Ends the sound: the last frame is complete, though no further frame proves it.
  mutating func finish(_ body: (Item) -> Bool) {
    framer.end()
    try? drain(body)  // An obstacle at the end is not reported.
  }
}

/// The titles of an HLS stream, each with the time at which it begins.
///
/// Times are those of `HLSTimes`.
struct HLSTitles: Sendable {
  private static let limit = 64
  /// The limit in seconds beyond which the time of a title belongs to another clock; the title then begins at
  /// once.
  private static let farthest = 60.0

  /// The titles that have not begun, with their times, and the first sound byte that may have each.
  private var waiting: [(title: String, ticks: Double?, position: Int)] = []
  /// The title emitted last.
  private var last: String?
  /// `true` if the sound has brought titles of its own, which those of the list only repeat.
  private var isTimed = false

  /// Adds the title of a tag.
  /// - Parameters:
  ///   - ticks: its time; nil for that of the next frame.
  ///   - position: the first sound byte that may have it.
  mutating func add(_ title: String?, at ticks: Int?, from position: Int = 0) {
    guard let title else { return }
    isTimed = true
    append(title, ticks.map { Double($0) }, from: position)
  }

  /// Adds the title of a tag that begins some seconds after the next sound, whose time is in ticks.
  mutating func add(_ title: String?, after seconds: Double, _ time: Double?) {
    guard let title else { return }
    isTimed = true
    append(title, time.map { $0 + seconds * HLSTimes.ticksPerSecond }, from: 0)
  }

  /// Begins a segment with a title in the list.
  mutating func begin(_ title: String, from position: Int) {
    if !isTimed { append(title, nil, from: position) }
  }

  /// Ends the times: those that follow belong to another clock.
  mutating func interrupt() {
    waiting = waiting.map { ($0.title, nil, $0.position) }
  }

  private mutating func append(_ title: String, _ ticks: Double?, from position: Int) {
    waiting.append((title, ticks, position))
    if waiting.count > Self.limit { waiting.removeFirst() }
  }

  /// Returns the title that begins with a frame; nil if it is the last returned one.
  /// - Parameter end: the time of the frame's end in ticks; nil while unknown.
  mutating func next(for frame: StreamFrame, until end: Double?) -> ICYMetadata? {
    guard !waiting.isEmpty else { return nil }
    var found: String?
    while let next = waiting.first, next.position <= frame.offset,
      next.ticks.map({ Self.isDue($0, before: end) }) ?? true
    {
      found = next.title
      waiting.removeFirst()
    }
    guard let found, found != last else { return nil }
    last = found
    return ICYMetadata(title: found, url: nil)
  }

  private static func isDue(_ ticks: Double, before end: Double?) -> Bool {
    guard let end else { return true }
    let ahead = HLSTimes.ticks(from: end, to: ticks)
    return ahead < 0 || ahead > farthest * HLSTimes.ticksPerSecond
  }
}
