/// Finds the frames of a stream whose codec nobody told: bytes in, whole frames of MPEG audio or AAC in ADTS out.
///
/// As `ADTSFraming` and `MPEGAudioFraming`, with both kinds of header at once: the codec is what three headers that
/// agree say, and may change in the stream, also in mid-frame. Frames that hold a `StreamLength` are given like any
/// other. Memory: what was fed last, and 24 KiB.
public struct AudioFraming: Sendable {
  /// What a frame is coded in.
  public enum Codec: Sendable, Hashable {
    /// MPEG-1, 2 or 2.5 audio of layer 1, 2 or 3.
    case mpeg(layer: Int)
    /// AAC with an ADTS header.
    case adts
  }

  /// A frame, and what it takes to know whether it can be decoded behind a join.
  public struct Frame: Sendable, Equatable {
    /// The frame.
    public let encoded: EncodedFrame
    /// What it is coded in.
    public let codec: Codec
    /// Bytes of main data of earlier frames that the sound begins in (layer III's bit reservoir), 0 to 511.
    public let mainDataBegin: Int
    /// Bytes in front of the main data: header, checksum and, in layer III, side information.
    public let overhead: Int
  }

  private var scanner: FrameScanner<AudioHeader>

  /// - Parameter offset: byte of the stream at which what is fed first stands.
  public init(offset: Int = 0) { scanner = FrameScanner(offset: offset) }

  /// Bytes so far that were neither frame nor tag.
  public var skippedBytes: Int { scanner.skippedBytes }

  /// Bytes that were fed and belong to nothing yet: frames that were not asked for, and a last one without its end.
  public var pendingBytes: Int { scanner.pendingBytes }

  /// Bytes of a tag that a file begins with, which is no audio; 0 when `head`, its first ten bytes, begins none.
  public static func tagLength(_ head: some Collection<UInt8>) -> Int {
    StreamTag.id3v2(Array(head.prefix(10))[...]) ?? 0
  }

  /// Takes the next bytes of the stream. Frames that were found before have no bytes after this.
  public mutating func feed(_ bytes: some Collection<UInt8>) { scanner.feed(bytes) }

  /// Takes the next bytes of the stream, as above; to be followed by `compact`.
  public mutating func feed(_ bytes: UnsafeRawBufferPointer) { scanner.feed(bytes) }

  /// Lets go of the frames that were given, and of their memory: for who waits for the next bytes.
  public mutating func compact() { scanner.compact() }

  /// No more bytes follow: the last frames need no header behind them.
  public mutating func end() { scanner.end() }

  /// The next frame; nil when more bytes are needed, or after `end` when there is none.
  public mutating func next() -> Frame? {
    guard let found = scanner.next() else { return nil }
    guard case .mpeg(let header) = found.header else {
      return Frame(
        encoded: found.frame, codec: .adts, mainDataBegin: 0, overhead: found.frame.headerLength)
    }
    guard header.layer == 3 else {
      return Frame(
        encoded: found.frame, codec: .mpeg(layer: header.layer), mainDataBegin: 0,
        overhead: header.headerLength)
    }
    var begin = 0
    withBytes(at: found.frame.offset, count: found.frame.length) {
      begin = MPEGAudioFraming.mainDataBegin($0, header)
    }
    return Frame(
      encoded: found.frame, codec: .mpeg(layer: 3), mainDataBegin: begin,
      overhead: min(found.frame.length, header.headerLength + header.sideInformationLength))
  }

  /// Calls `body` with bytes of the stream, without a copy: those of a frame that was given since the last `feed`.
  /// - Returns: false, without a call, when they are not there any more.
  @discardableResult
  public func withBytes(at offset: Int, count: Int, _ body: (UnsafeRawBufferPointer) -> Void) -> Bool {
    scanner.withBytes(at: offset, count: count, body)
  }
}

/// A header of either kind; the bits of the layer, 0 in ADTS, tell them apart.
enum AudioHeader: FrameHeader {
  case mpeg(MPEGAudioHeader)
  case adts(ADTSHeader)

  static let size = max(MPEGAudioHeader.size, ADTSHeader.size)
  /// Only free format, which MPEG audio alone has, is looked for as far as this.
  static let longest = MPEGAudioHeader.longest

  init?(_ bytes: [UInt8], at index: Int) {
    guard index + Self.size <= bytes.count else { return nil }
    if bytes[index + 1] & 6 == 0 {
      guard let header = ADTSHeader(bytes, at: index) else { return nil }
      self = .adts(header)
    } else {
      guard let header = MPEGAudioHeader(bytes, at: index) else { return nil }
      self = .mpeg(header)
    }
  }

  var frameLength: Int? {
    switch self {
    case .mpeg(let header): header.frameLength
    case .adts(let header): header.frameLength
    }
  }
  var shortestFrame: Int {
    switch self {
    case .mpeg(let header): header.shortestFrame
    case .adts(let header): header.shortestFrame
    }
  }
  var headerLength: Int {
    switch self {
    case .mpeg(let header): header.headerLength
    case .adts(let header): header.headerLength
    }
  }
  var sampleRate: Int {
    switch self {
    case .mpeg(let header): header.sampleRate
    case .adts(let header): header.sampleRate
    }
  }
  var channels: Int {
    switch self {
    case .mpeg(let header): header.channels
    case .adts(let header): header.channels
    }
  }
  var samplesPerFrame: Int {
    switch self {
    case .mpeg(let header): header.samplesPerFrame
    case .adts(let header): header.samplesPerFrame
    }
  }

  func agrees(with other: AudioHeader) -> Bool {
    switch (self, other) {
    case (.mpeg(let header), .mpeg(let other)): header.agrees(with: other)
    case (.adts(let header), .adts(let other)): header.agrees(with: other)
    default: false
    }
  }

  func following(_ other: AudioHeader) -> AudioHeader {
    guard case (.mpeg(let header), .mpeg(let other)) = (self, other) else { return self }
    return .mpeg(header.following(other))
  }

  func spanning(_ distance: Int) -> AudioHeader {
    guard case .mpeg(let header) = self else { return self }
    return .mpeg(header.spanning(distance))
  }
}
