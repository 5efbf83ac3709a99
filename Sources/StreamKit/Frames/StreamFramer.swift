internal import Codecs

/// Cuts what a station sends into frames, whatever it sends.
///
/// ```swift
/// framer.feed(bytes)
/// while let item = framer.next() {
///   if case .frame(let frame) = item { framer.withBytes(of: frame) { … } }
/// }
/// ```
/// The codec is told by the bytes, then by the content type. MPEG audio and ADTS come out as whole frames: the first
/// after three headers that agree, wherever the stream was joined, and each when the header behind it has come. A
/// format that changes, also in mid-frame, is told before the first frame that has it. Containers go through in
/// pieces. What is found does not depend on how the bytes are cut, save for those pieces. Memory: 56 KiB until the
/// codec is known, then 24 KiB, and what was fed last; after `compact` what is left of that.
public struct StreamFramer: Sendable {
  /// What was found.
  public enum Item: Sendable, Equatable {
    /// What the frames that follow are; comes first, and when it changes.
    case format(StreamFormat)
    /// A whole frame, or a piece of a stream without frames.
    case frame(StreamFrame)
    /// The stream is not, or is no longer, audio that can be read: what was found, in words. Nothing follows.
    case notAudio(found: String)
  }

  /// Bytes without a frame after which a new stream is not audio.
  public static let probeLimit = 32 * 1024
  /// Bytes without a frame after which a stream that had frames is not audio any more.
  public static let lossLimit = 128 * 1024

  private enum State {
    case probing
    case framed
    case passing(StreamCodec)
    case refused
  }

  private let contentType: String?
  private var state = State.probing
  private var framing: AudioFraming
  /// The stream from its start while the codec is not known; the piece to give next when it has no frames.
  private var head: [UInt8] = []
  /// Byte of the stream that stands first in `head`.
  private var headOffset: Int
  /// How much of `head` was looked at.
  private var sniffed = 0
  /// The stream starts with a tag: only frames are looked for behind it.
  private var isTagged = false
  /// `head` goes away with the next `feed`: it was given.
  private var isHeadGiven = false
  private var hasEnded = false
  private var format: StreamFormat?
  /// The frame that follows a format that was told.
  private var waiting: StreamFrame?
  /// Bytes that had been skipped when the last frame was found.
  private var skippedBefore = 0

  /// - Parameters:
  ///   - contentType: what the server says, such as `audio/mpeg`; looked at only when the bytes say nothing.
  ///   - offset: byte of the received audio at which what is fed first stands.
  public init(contentType: String? = nil, offset: Int = 0) {
    self.contentType = contentType
    framing = AudioFraming(offset: offset)
    headOffset = offset
  }

  /// Bytes that were fed and not given yet: frames that were not asked for, and a last one without its end.
  public var pendingBytes: Int {
    switch state {
    case .probing, .framed: framing.pendingBytes + (waiting?.length ?? 0)
    case .passing: isHeadGiven ? 0 : head.count
    case .refused: 0
    }
  }

  /// Bytes so far that were neither frame nor tag, in a stream of frames.
  public var skippedBytes: Int { framing.skippedBytes }

  /// Takes the next bytes of the stream. Frames that were given before have no bytes after this.
  public mutating func feed(_ bytes: UnsafeRawBufferPointer) {
    switch state {
    case .probing:
      framing.feed(bytes)
      // A tag may be long.
      if !isTagged { head.append(contentsOf: bytes) }
    case .framed: framing.feed(bytes)
    case .passing:
      if isHeadGiven {
        headOffset += head.count
        head.removeAll(keepingCapacity: true)
        isHeadGiven = false
      }
      head.append(contentsOf: bytes)
    case .refused: break
    }
  }

  /// Lets go of the frames that were given, and of their memory: for who waits for the next bytes.
  public mutating func compact() { framing.compact() }

  /// No more bytes follow: a last frame needs no header behind it.
  public mutating func end() {
    hasEnded = true
    framing.end()
  }

  /// What was found next; nil when more bytes are needed, or nothing follows.
  public mutating func next() -> Item? {
    if let frame = waiting {
      waiting = nil
      return .frame(frame)
    }
    switch state {
    case .probing: return sniff() ?? nextFrame()
    case .framed: return nextFrame()
    case .passing(let codec): return nextPiece(codec)
    case .refused: return nil
    }
  }

  /// Calls `body` with the bytes of a frame or piece that was given since the last `feed`; nil when it was given
  /// before.
  public func withBytes<Result>(of frame: StreamFrame, _ body: (UnsafeRawBufferPointer) -> Result) -> Result?
  {
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
    let found = framing.next()
    let isNew = format == nil
    if framing.skippedBytes - skippedBefore > (isNew ? Self.probeLimit : Self.lossLimit) {
      return isNew ? withoutFrames() : refuse("no frame in \(Self.lossLimit / 1024) KiB")
    }
    guard let found else {
      return isNew && hasEnded ? withoutFrames() : nil
    }
    skippedBefore = framing.skippedBytes
    let now = StreamFormat(
      codec: StreamCodec(found.codec), sampleRate: found.encoded.sampleRate, channels: found.encoded.channels)
    var hash: UInt64 = 0
    framing.withBytes(at: found.encoded.offset, count: found.encoded.length) { hash = FrameHash.of($0) }
    let frame = StreamFrame(
      offset: found.encoded.offset, length: found.encoded.length, hash: hash, format: now,
      samples: found.encoded.samples, mainDataBegin: found.mainDataBegin, overhead: found.overhead)
    if now == format { return .frame(frame) }
    format = now
    waiting = frame
    state = .framed
    head = []
    return .format(now)
  }

  // MARK: Streams without frames

  /// Looks at the start of the stream, at lengths that do not depend on how it was cut.
  private mutating func sniff() -> Item? {
    guard !isTagged else { return nil }
    if sniffed < ContentSniffer.magicLength, head.count >= ContentSniffer.magicLength || hasEnded {
      sniffed = ContentSniffer.magicLength
      if head.starts(with: "ID3".utf8) {
        isTagged = true
        head = []
        return nil
      }
      if let codec = ContentSniffer.container(head.prefix(ContentSniffer.magicLength)) { return pass(codec) }
    }
    if sniffed < ContentSniffer.pageLength, head.count >= ContentSniffer.pageLength {
      sniffed = ContentSniffer.pageLength
      if let found = ContentSniffer.page(head.prefix(ContentSniffer.pageLength)) { return refuse(found) }
    }
    if sniffed < ContentSniffer.textLength, head.count >= ContentSniffer.textLength {
      sniffed = ContentSniffer.textLength
      if let found = ContentSniffer.text(head.prefix(ContentSniffer.textLength)) { return refuse(found) }
      if ContentSniffer.isTransportStream(head.prefix(ContentSniffer.textLength)) {
        return refuse(ContentSniffer.transportStream)
      }
    }
    return nil
  }

  /// No frames were found where the first should have been.
  private mutating func withoutFrames() -> Item? {
    if head.count < ContentSniffer.textLength, let found = ContentSniffer.text(head[...]) {
      return refuse(found)
    }
    if !isTagged, let contentType, let codec = ContentSniffer.container(contentType: contentType) {
      return pass(codec)
    }
    return refuse(isTagged ? "a tag without frames behind it" : ContentSniffer.describe(head[...]))
  }

  private mutating func refuse(_ found: String) -> Item {
    state = .refused
    head = []
    framing = AudioFraming()
    return .notAudio(found: found)
  }

  private mutating func pass(_ codec: StreamCodec) -> Item {
    state = .passing(codec)
    framing = AudioFraming()
    return .format(StreamFormat(codec: codec))
  }

  private mutating func nextPiece(_ codec: StreamCodec) -> Item? {
    guard !isHeadGiven, !head.isEmpty else { return nil }
    isHeadGiven = true
    return .frame(
      StreamFrame(offset: headOffset, length: head.count, hash: 0, format: StreamFormat(codec: codec)))
  }
}

extension StreamCodec {
  /// What the headers of frames say.
  init(_ codec: AudioFraming.Codec) {
    self =
      switch codec {
      case .adts: .aac
      case .mpeg(1): .layer1
      case .mpeg(2): .layer2
      case .mpeg: .mp3
      }
  }
}
