package import Codecs

/// Divides the bytes of a station into frames, whatever it sends.
///
/// ```swift
/// framer.feed(bytes)
/// while let item = framer.next() {
///   if case .frame(let frame) = item { framer.withBytes(of: frame) { … } }
/// }
/// ```
/// The codec is found in the bytes, otherwise in the content type. MPEG audio and ADTS come out as whole
/// frames: the first after three headers that agree, wherever the stream was joined, and each when the header
/// after it has come. A format that changes, also in mid-frame, is reported before the first frame that has
/// it. Ogg comes out as pages, after a frame with the headers of their logical stream. Other containers pass
/// in pieces. The result does not depend on how the bytes are divided, except for those pieces.
/// Memory: 56 KiB until the codec is known, then 24 KiB, and the bytes that were fed last; after `compact`
/// only the rest of these.
public struct StreamFramer: Sendable {
  /// An item found in the stream.
  public enum Item: Sendable, Equatable {
    /// The format of the frames that follow; comes first, and when it changes.
    case format(StreamFormat)
    /// A whole frame, or a piece of a stream without frames.
    case frame(StreamFrame)
    /// The end of readable audio, or a stream without any: `found` names the content, in words. Nothing
    /// follows.
    case notAudio(found: String)
  }

  /// The number of bytes without a frame after which a new stream is not audio.
  public static let probeLimit = 32 * 1024
  /// The number of bytes without a frame after which a stream that had frames is not audio any more.
  public static let lossLimit = 128 * 1024
  /// The length in bytes up to which a tag in a stream is believed, which has no length itself.
  public static let longestTag = 1 << 20

  private enum State {
    case probing
    case framed
    // Indirect: the pages are as large as all other state together, and frames of other codecs don't need
    // them.
    indirect case ogg(OggPages)
    case passing(Codec)
    case refused
  }

  private let contentType: String?
  private let dropsDoubtful: Bool
  private var state = State.probing
  private var framing: AudioFraming
  /// The stream from its start while the codec is not known; the next piece of a stream without frames.
  private var head: [UInt8] = []
  /// The offset in the stream of the first byte of `head`.
  private var headOffset: Int
  /// The number of bytes of `head` that were examined.
  private var sniffed = 0
  /// `true` if the stream starts with a tag: only frames are searched for after it.
  private var isTagged = false
  /// `true` if `head` was returned: it is dropped with the next `feed`.
  private var isHeadEmitted = false
  private var hasEnded = false
  /// The offset in the stream of the first byte that was fed.
  private let start: Int
  private var format: StreamFormat?
  /// The frame after a format that was returned.
  private var waiting: StreamFrame?
  /// The number of bytes that had been skipped when the last frame was found.
  private var skippedBefore = 0

  /// Creates a framer for a stream.
  /// - Parameters:
  ///   - contentType: the server's content type, such as `audio/mpeg`; used only when the bytes identify
  ///     nothing.
  ///   - offset: the offset in the received audio of the first byte that is fed.
  ///   - dropsDoubtful: `true` to leave out a frame of MPEG audio or ADTS that is followed by bytes of
  ///     neither a frame nor
  ///     a tag: they may have begun inside it, in place of its rest.
  ///   - longestTag: the length in bytes up to which a tag is believed; one that claims more ends where frames begin.
  public init(
    contentType: String? = nil, offset: Int = 0, dropsDoubtful: Bool = false,
    longestTag: Int = StreamFramer.longestTag
  ) {
    (self.contentType, self.dropsDoubtful) = (contentType, dropsDoubtful)
    framing = AudioFraming(offset: offset, longestTag: longestTag)
    (start, headOffset) = (offset, offset)
  }

  /// The number of bytes that were fed and not returned yet: frames in the queue, and a last one without its
  /// end.
  public var pendingBytes: Int {
    switch state {
    case .probing, .framed: framing.pendingBytes + (waiting?.length ?? 0)
    case .ogg(let pages): pages.pendingBytes
    case .passing: isHeadEmitted ? 0 : head.count
    case .refused: 0
    }
  }

  /// The number of bytes that were neither frame nor tag, in a stream of frames.
  public var skippedBytes: Int {
    if case .ogg(let pages) = state { return pages.skippedBytes }
    return framing.skippedBytes
  }

  /// Feeds the next bytes of the stream. Frames that were returned before have no bytes after this.
  public mutating func feed(_ bytes: UnsafeRawBufferPointer) {
    switch state {
    case .probing:
      framing.feed(bytes)
      // The bytes of a tag, which may be long, are not kept.
      if !isTagged { head.append(contentsOf: bytes) }
    case .framed: framing.feed(bytes)
    case .ogg(var pages):
      state = .refused  // so that it is not copied
      pages.feed(bytes)
      state = .ogg(pages)
    case .passing:
      if isHeadEmitted {
        headOffset += head.count
        head.removeAll(keepingCapacity: true)
        isHeadEmitted = false
      }
      head.append(contentsOf: bytes)
    case .refused: break
    }
  }

  /// Releases the frames that were returned, and their memory: for a caller that waits for the next bytes.
  public mutating func compact() {
    guard case .ogg(var pages) = state else { return framing.compact() }
    state = .refused  // so that it is not copied
    pages.compact()
    state = .ogg(pages)
  }

  /// Ends the stream: the last frame needs no header after it.
  public mutating func end() {
    hasEnded = true
    framing.end()
    guard case .ogg(var pages) = state else { return }
    pages.end()
    state = .ogg(pages)
  }

  /// Returns the next item; nil when more bytes are needed, or nothing follows.
  public mutating func next() -> Item? {
    if let frame = waiting {
      waiting = nil
      return .frame(frame)
    }
    switch state {
    case .probing: return sniff() ?? nextFrame()
    case .framed: return nextFrame()
    case .ogg(var pages):
      state = .refused  // so that it is not copied
      let item = pages.next(isOver: hasEnded)
      if case .notAudio? = item { return item }
      state = .ogg(pages)
      return item
    case .passing(let codec): return nextPiece(codec)
    case .refused: return nil
    }
  }

  /// Calls `body` with the bytes of a frame or piece that was returned since the last `feed`; returns nil for
  /// an earlier one.
  public func withBytes<Result>(of frame: StreamFrame, _ body: (UnsafeRawBufferPointer) -> Result) -> Result?
  {
    if case .ogg(let pages) = state { return pages.withBytes(of: frame, body) }
    if !frame.codec.hasFrames {
      guard frame.offset == headOffset, frame.length == head.count else { return nil }
      return head.withUnsafeBytes(body)
    }
    var result: Result?
    framing.withBytes(at: frame.offset, count: frame.length) { result = body($0) }
    return result
  }

  // MARK: Frames

  private mutating func nextFrame() -> Item? {
    var found = framing.next()
    while dropsDoubtful, found?.isConfirmed == false { found = framing.next() }
    let isNew = format == nil
    if framing.skippedBytes - skippedBefore > (isNew ? Self.probeLimit : Self.lossLimit) {
      return isNew ? withoutFrames() : refuse("no frame in \(Self.lossLimit / 1024) KiB")
    }
    guard let found else {
      return isNew && hasEnded ? withoutFrames() : nil
    }
    skippedBefore = framing.skippedBytes
    let frame = StreamFrame(found, of: framing)
    let now = frame.format
    if now == format { return .frame(frame) }
    format = now
    waiting = frame
    state = .framed
    head = []
    return .format(now)
  }

  // MARK: Streams without frames

  /// Examines the start of the stream, at lengths that do not depend on how it was divided.
  private mutating func sniff() -> Item? {
    guard !isTagged else { return nil }
    if sniffed < ContentSniffer.magicLength, head.count >= ContentSniffer.magicLength || hasEnded {
      sniffed = ContentSniffer.magicLength
      if head.starts(with: "ID3".utf8) {
        isTagged = true
        head = []
        return nil
      }
      switch ContentSniffer.container(head.prefix(ContentSniffer.magicLength)) {
      case .ogg: return beginOgg()
      case .other: return refuse(ContentSniffer.describe(head[...]))
      case let codec?: return pass(codec)
      case nil: break
      }
    }
    if sniffed < ContentSniffer.pageLength, head.count >= ContentSniffer.pageLength {
      sniffed = ContentSniffer.pageLength
      if let found = ContentSniffer.page(head.prefix(ContentSniffer.pageLength)) { return refuse(found) }
    }
    if sniffed < ContentSniffer.textLength, head.count >= ContentSniffer.textLength {
      sniffed = ContentSniffer.textLength
      if let found = ContentSniffer.text(head.prefix(ContentSniffer.textLength)) { return refuse(found) }
      if ForeignSound.isTransportStream(head.prefix(ContentSniffer.textLength)) {
        return refuse(ForeignSound.transportStream)
      }
    }
    return nil
  }

  /// Decides on a stream without a frame where the first should have been.
  private mutating func withoutFrames() -> Item? {
    if head.count < ContentSniffer.textLength, let found = ContentSniffer.text(head[...]) {
      return refuse(found)
    }
    if !isTagged, let contentType, let codec = Codec(contentType: contentType) {
      switch codec {
      case .ogg: return beginOgg()
      case .other: return refuse(ContentSniffer.matroska)
      default: return pass(codec)
      }
    }
    return refuse(isTagged ? "a tag without frames after it" : ContentSniffer.describe(head[...]))
  }

  private mutating func refuse(_ found: String) -> Item {
    state = .refused
    head = []
    framing = AudioFraming()
    return .notAudio(found: found)
  }

  private mutating func beginOgg() -> Item? {
    var pages = OggPages(offset: start)
    head.withUnsafeBytes { pages.feed($0) }
    (head, framing) = ([], AudioFraming())
    if hasEnded { pages.end() }
    state = .ogg(pages)
    return next()
  }

  private mutating func pass(_ codec: Codec) -> Item {
    state = .passing(codec)
    framing = AudioFraming()
    return .format(StreamFormat(codec: codec))
  }

  private mutating func nextPiece(_ codec: Codec) -> Item? {
    guard !isHeadEmitted, !head.isEmpty else { return nil }
    isHeadEmitted = true
    return .frame(
      StreamFrame(offset: headOffset, length: head.count, hash: 0, format: StreamFormat(codec: codec)))
  }
}

extension StreamFrame {
  /// Creates the frame that was found in `framing`, which still has its bytes.
  package init(_ found: AudioFraming.Frame, of framing: borrowing AudioFraming) {
    var hash: UInt64 = 0
    framing.withBytes(at: found.encoded.offset, count: found.encoded.length) { hash = FrameHash.of($0) }
    self.init(
      offset: found.encoded.offset, length: found.encoded.length, hash: hash,
      format: StreamFormat(
        codec: found.codec, sampleRate: found.encoded.sampleRate,
        channels: found.encoded.channels),
      samples: found.encoded.samples, mainDataBegin: found.mainDataBegin, overhead: found.overhead)
  }
}
