internal import Codecs
internal import HTTP
internal import StreamCore

/// Separates the titles of a station from its sound, and the sound into frames.
///
/// ```swift
/// sound.connect(head)
/// sound.consume(bytes) { item, … in … }
/// ```
/// Bytes of audio are counted over all connections of the stream.
struct ReceivedSound: Sendable {
  /// An item of the body.
  enum Item {
    case title(ICYDeinterleaver.Block)
    /// A title in the comments of the headers of the following frames, with their offset.
    case comments(ICYMetadata, position: Int)
    case format(StreamFormat)
    /// A frame with its bytes, which are valid until the call returns, and the number of bytes received after
    /// it.
    case frame(StreamFrame, UnsafeRawBufferPointer, pending: Int)
    /// The connection brings no audio: the kind of content, in words. Nothing follows.
    case notAudio(found: String)
  }

  private var icy = ICYDeinterleaver(interval: 0)
  private var framer = StreamFramer()

  /// The number of audio bytes so far, without titles.
  var position: Int { icy.audioPosition }
  /// The number of audio bytes that are in no frame yet.
  var pendingBytes: Int { framer.pendingBytes }

  /// A connection begins; unfinished parts of the last one are dropped.
  mutating func connect(_ head: HTTPResponse) {
    let interval = head.headers["icy-metaint"].flatMap { Int($0) } ?? 0
    icy = ICYDeinterleaver(interval: min(max(interval, 0), 1 << 24), audioPosition: position)
    framer = StreamFramer(
      contentType: head.headers["Content-Type"], offset: position, dropsDoubtful: true)
  }

  /// Receives the next bytes of the connection.
  /// - Parameter body: called with each item found in them, in order; returns `false` to stop. It must not
  ///   touch this value.
  mutating func consume(_ bytes: UnsafeRawBufferPointer, _ body: (Item) -> Bool) {
    var index = 0
    while true {
      while let item = framer.next() {
        if !give(item, to: body) { return }
      }
      switch icy.next(in: bytes, from: &index) {
      case .audio(let range)?: framer.feed(UnsafeRawBufferPointer(rebasing: bytes[range]))
      case .metadata(let block)?: if !body(.title(block)) { return }
      case nil: return framer.compact()
      }
    }
  }

  // Mutating, like `giveFrame`: the framer is then passed in place; otherwise it is copied for each frame.
  private mutating func give(_ item: StreamFramer.Item, to body: (Item) -> Bool) -> Bool {
    switch item {
    case .format(let format): body(.format(format))
    case .notAudio(let found): body(.notAudio(found: found))
    case .frame(let frame):
      giveFrame(frame, pending: framer.pendingBytes, to: body)
    }
  }

  /// - Parameter pending: the number of bytes after the frame, for a closure that does not capture the
  ///   framer.
  private mutating func giveFrame(_ frame: StreamFrame, pending: Int, to body: (Item) -> Bool) -> Bool {
    framer.withBytes(of: frame) { bytes in
      if frame.isHeaders, let title = ICYMetadata(headers: bytes),
        !body(.comments(title, position: frame.offset))
      {
        return false
      }
      return body(.frame(frame, bytes, pending: pending))
    } ?? true
  }

  /// The connection has ended in order: its last frame is whole, though no further frame proves it.
  mutating func finish(_ body: (Item) -> Bool) {
    framer.end()
    while let item = framer.next() { if !give(item, to: body) { return } }
  }

  /// The connection has ended before its content was recognised.
  /// - Returns: the kind of content, in words, if it is not audio.
  mutating func end() -> String? {
    framer.end()
    if case .notAudio(let found)? = framer.next() { return found }
    return nil
  }
}

/// The titles of a station whose sound has not come yet.
struct ReceivedTitles: Sendable {
  /// The limit of waiting titles: if a connection sends only titles, the oldest are dropped.
  private static let limit = 64
  /// The titles with the audio byte before which they came.
  private var waiting: [(position: Int, title: ICYMetadata)] = []
  /// The last emitted title, and the one before.
  private var (last, lastBefore) = (ICYMetadata?.none, ICYMetadata?.none)

  /// A connection begins; titles that still wait belong to the previous one.
  mutating func connect() { waiting = [] }

  mutating func add(_ block: ICYDeinterleaver.Block, encoding: MetadataEncoding) {
    add(ICYMetadata(block.bytes, encoding: encoding), position: block.audioPosition)
  }

  /// Adds a title that came before the audio byte at `position`.
  mutating func add(_ title: ICYMetadata, position: Int) {
    waiting.append((position, title))
    if waiting.count > Self.limit { waiting.removeFirst() }
  }

  /// Returns the newest title of the sound up to that byte; nil if it equals the last emitted one, as after a
  /// reconnection.
  mutating func next(before position: Int) -> ICYMetadata? {
    guard !waiting.isEmpty else { return nil }
    var new: ICYMetadata?
    let before = last
    while let next = waiting.first, next.position < position {
      waiting.removeFirst()
      guard next.title != last else { continue }
      (last, new) = (next.title, next.title)
    }
    // A new connection to a chain of Ogg begins with earlier titles.
    guard new != before else { return nil }
    if new != nil { lastBefore = before }
    return new
  }

  /// Revokes the title that `next` returned last: it was not emitted after all.
  mutating func revokeLast() { last = lastBefore }
}

extension ICYMetadata {
  /// Creates the title in the headers of a logical Ogg stream; nil if they name neither artist nor title.
  init?(headers bytes: UnsafeRawBufferPointer) {
    guard let comments = OggHeaders(pages: [UInt8](bytes))?.comments,
      let title = StreamTitle(artist: comments["ARTIST"], title: comments["TITLE"]), !title.text.isEmpty
    else { return nil }
    self.init(title: title.text, url: nil)
  }
}
