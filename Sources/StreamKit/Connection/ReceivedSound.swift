internal import HTTP

/// Separates the titles of a station from its sound, and the sound into frames.
///
/// ```swift
/// sound.connect(head)
/// sound.take(bytes) { item, … in … }
/// ```
/// Bytes of audio are counted over all its connections.
struct ReceivedSound: Sendable {
  /// An item of the body.
  enum Item {
    case title(ICYDeinterleaver.Block)
    case format(StreamFormat)
    /// A frame with its bytes, which are valid until the call returns, and how many bytes have come behind it.
    case frame(StreamFrame, UnsafeRawBufferPointer, pending: Int)
    /// The connection brings no audio: what was found, in words. Nothing follows.
    case notAudio(found: String)
  }

  private var icy = ICYDeinterleaver(interval: 0)
  private var framer = StreamFramer()

  /// Bytes of audio so far, without titles.
  var position: Int { icy.audioPosition }
  /// Bytes of audio that are in no frame yet.
  var pendingBytes: Int { framer.pendingBytes }

  /// A connection begins; what the last one left unfinished is gone.
  mutating func connect(_ head: HTTPResponse) {
    let interval = head.headers["icy-metaint"].flatMap { Int($0) } ?? 0
    icy = ICYDeinterleaver(interval: min(max(interval, 0), 1 << 24), audioPosition: position)
    framer = StreamFramer(contentType: head.headers["Content-Type"], offset: position)
  }

  /// Receives the next bytes of the connection.
  /// - Parameter body: called with what is found in them, in order; returns false to get no more. It must not touch
  ///   this value.
  mutating func take(_ bytes: UnsafeRawBufferPointer, _ body: (Item) -> Bool) {
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

  private func give(_ item: StreamFramer.Item, to body: (Item) -> Bool) -> Bool {
    switch item {
    case .format(let format): body(.format(format))
    case .notAudio(let found): body(.notAudio(found: found))
    case .frame(let frame):
      framer.withBytes(of: frame) { body(.frame(frame, $0, pending: framer.pendingBytes)) } ?? true
    }
  }

  /// The connection has ended in order: its last frame is whole, though none follows that proves it.
  mutating func finish(_ body: (Item) -> Bool) {
    framer.end()
    while let item = framer.next() { if !give(item, to: body) { return } }
  }

  /// The connection has ended before it was known what it brings.
  /// - Returns: what was found, in words, if that is no audio.
  mutating func end() -> String? {
    framer.end()
    if case .notAudio(let found)? = framer.next() { return found }
    return nil
  }
}
