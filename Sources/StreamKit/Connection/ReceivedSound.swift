internal import HTTP

/// What a station sends, taken apart: titles out of the sound, and the sound into frames.
///
/// ```swift
/// sound.connect(head)
/// var index = 0
/// while let item = sound.next(in: bytes, from: &index) { … }
/// ```
/// Bytes of audio are counted over all its connections.
struct ReceivedSound: Sendable {
  /// What was found.
  enum Item {
    case title(ICYDeinterleaver.Block)
    case format(StreamFormat)
    case frame(StreamFrame)
    /// The connection brings no audio: what was found, in words. Nothing follows.
    case notAudio(found: String)

    fileprivate init(_ item: StreamFramer.Item) {
      switch item {
      case .format(let format): self = .format(format)
      case .frame(let frame): self = .frame(frame)
      case .notAudio(let found): self = .notAudio(found: found)
      }
    }
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

  /// What comes next in `bytes`, from `index` on, which moves behind what was looked at; nil when more must come.
  mutating func next(in bytes: UnsafeRawBufferPointer, from index: inout Int) -> Item? {
    while true {
      if let item = framer.next() { return Item(item) }
      switch icy.next(in: bytes, from: &index) {
      case .audio(let range)?: framer.feed(UnsafeRawBufferPointer(rebasing: bytes[range]))
      case .metadata(let block)?: return .title(block)
      case nil: return nil
      }
    }
  }

  /// The connection has ended before it was known what it brings.
  /// - Returns: what was found, in words, if that is no audio.
  mutating func end() -> String? {
    framer.end()
    if case .notAudio(let found)? = framer.next() { return found }
    return nil
  }

  /// Calls `body` with the bytes of the frame that was found last; nil when there are none any more.
  func withBytes<Result>(of frame: StreamFrame, _ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
    framer.withBytes(of: frame, body)
  }

  /// Lets go of the memory of frames that were found: for who waits for the next bytes.
  mutating func compact() { framer.compact() }
}
