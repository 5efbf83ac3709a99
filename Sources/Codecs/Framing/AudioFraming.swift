/// Finds the frames of a stream of unknown codec: bytes in, whole frames of MPEG audio or AAC in ADTS out.
///
/// As `ADTSFraming` and `MPEGAudioFraming`, with both kinds of header at once: three headers that agree
/// decide the codec, which may change in the stream, also in mid-frame. Frames that hold a `StreamLength` are
/// returned like any other. Memory: the last input, and 24 KiB.
public struct AudioFraming: Sendable {
  /// A frame, with the figures that decide whether it can be decoded after a join.
  public struct Frame: Sendable, Equatable {
    /// The frame.
    public let encoded: EncodedFrame
    /// The frame's coding.
    public let codec: Codec
    /// The number of bytes of main data of earlier frames that the sound begins in (layer III's bit
    /// reservoir), 0 to 511.
    public let mainDataBegin: Int
    /// The number of bytes before the main data: header, checksum and, in layer III, side information.
    public let overhead: Int
    /// `true` if a frame, a tag or the end of the input follows; otherwise bytes that are neither may have begun inside
    /// the frame.
    public let isConfirmed: Bool
  }

  private var scanner: FrameScanner<AudioHeader>

  /// - Parameters:
  ///   - offset: the stream offset of the first byte that is fed.
  ///   - longestTag: the length in bytes up to which a tag is believed; one that claims more ends where frames begin.
  public init(offset: Int = 0, longestTag: Int = .max) {
    scanner = FrameScanner(offset: offset, longestTag: longestTag)
  }

  /// The number of bytes so far that were neither frame nor tag.
  public var skippedBytes: Int { scanner.skippedBytes }

  /// The number of bytes that were fed and belong to no returned frame yet: frames not yet returned, and a
  /// last one without its end.
  public var pendingBytes: Int { scanner.pendingBytes }

  /// Returns the length in bytes of a tag at the start of a file, which is not audio; 0 when `head`, its
  /// first ten bytes, does not begin a tag.
  public static func tagLength(_ head: some Collection<UInt8>) -> Int {
    StreamTag.id3v2(Array(head.prefix(10))[...]) ?? 0
  }

  /// Appends the next bytes of the stream. Frames returned earlier have no bytes after this.
  public mutating func feed(_ bytes: some Collection<UInt8>) { scanner.feed(bytes) }

  /// Appends the next bytes of the stream, as above; to be followed by `compact`.
  public mutating func feed(_ bytes: UnsafeRawBufferPointer) { scanner.feed(bytes) }

  /// Frees the memory of the frames returned so far; to be called before a wait for the next bytes.
  public mutating func compact() { scanner.compact() }

  /// Ends the input: the last frames need no header after them.
  public mutating func end() { scanner.end() }

  /// Returns the next frame; nil when more bytes are needed, or after `end` when none is left.
  public mutating func next() -> Frame? {
    guard let found = scanner.next() else { return nil }
    guard case .mpeg(let header) = found.header else {
      return Frame(
        encoded: found.frame, codec: .aac, mainDataBegin: 0, overhead: found.frame.headerLength,
        isConfirmed: found.isConfirmed)
    }
    guard header.layer == 3 else {
      return Frame(
        encoded: found.frame, codec: header.codec, mainDataBegin: 0,
        overhead: header.headerLength, isConfirmed: found.isConfirmed)
    }
    var begin = 0
    withBytes(at: found.frame.offset, count: found.frame.length) {
      begin = MPEGAudioFraming.mainDataBegin($0, header)
    }
    return Frame(
      encoded: found.frame, codec: .mp3, mainDataBegin: begin,
      overhead: min(found.frame.length, header.headerLength + header.sideInformationLength),
      isConfirmed: found.isConfirmed)
  }

  /// Calls `body` with bytes of the stream, without a copy: those of a frame that was returned since the last
  /// `feed`.
  /// - Returns: `false`, without a call, when they are no longer in memory.
  @discardableResult
  public func withBytes(at offset: Int, count: Int, _ body: (UnsafeRawBufferPointer) -> Void) -> Bool {
    scanner.withBytes(at: offset, count: count, body)
  }
}

/// A header of either kind; the bits of the layer, 0 in ADTS, distinguish them.
enum AudioHeader: FrameHeader {
  case mpeg(MPEGAudioHeader)
  case adts(ADTSHeader)

  static let size = max(MPEGAudioHeader.size, ADTSHeader.size)
  /// The largest distance at which the next header of free format, which MPEG audio alone has, is searched.
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

  var codec: Codec {
    switch self {
    case .mpeg(let header): header.codec
    case .adts(let header): header.codec
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
