/// Finds the frames of MPEG-1, 2 and 2.5 audio (MP3, and layers I and II): bytes in, whole frames out.
///
/// As `ADTSFraming`, with these additions: free format, whose frames are as long as the distance to the next
/// header of the same kind; ID3v1 and APE tags besides ID3v2; and frames that hold no sound but a
/// `StreamLength` (Xing, Info, VBRI). Memory: the last input, and 11 KiB.
///
/// Source: ISO/IEC 11172-3 §2.4, ISO/IEC 13818-3 §2.4.
public struct MPEGAudioFraming: Sendable {
  /// A frame, and its `StreamLength` when it holds no sound.
  public struct Frame: Sendable, Equatable {
    /// The frame.
    public let encoded: EncodedFrame
    /// The layer: 1, 2 or 3.
    public let layer: Int
    /// The bit rate in bit/s; 0 for free format.
    public let bitRate: Int
    /// The number of bytes of earlier frames that the sound begins in (layer III's bit reservoir).
    public let mainDataBegin: Int
    /// The information that the frame holds instead of sound; nil for sound.
    public let streamLength: StreamLength?
  }

  private var scanner: FrameScanner<MPEGAudioHeader>

  /// - Parameter offset: the stream offset of the first byte that is fed.
  public init(offset: Int = 0) { scanner = FrameScanner(offset: offset) }

  /// The number of bytes so far that were neither frame nor tag.
  public var skippedBytes: Int { scanner.skippedBytes }

  /// Appends the next bytes of the stream. Frames returned earlier have no bytes after this.
  public mutating func feed(_ bytes: some Collection<UInt8>) { scanner.feed(bytes) }

  /// Ends the input: the last frames need no header after them.
  public mutating func end() { scanner.end() }

  /// Returns the next frame; nil when more bytes are needed, or after `end` when none is left.
  public mutating func next() -> Frame? {
    guard let found = scanner.next() else { return nil }
    let bytes = scanner.bytes(of: found.frame)
    return Frame(
      encoded: found.frame, layer: found.header.layer, bitRate: found.header.bitRate,
      mainDataBegin: bytes.withUnsafeBytes { Self.mainDataBegin($0, found.header) },
      streamLength: StreamLength(bytes, header: found.header))
  }

  /// Returns the bytes of a frame that was returned since the last `feed`.
  public func bytes(of frame: Frame) -> ArraySlice<UInt8> { scanner.bytes(of: frame.encoded) }

  /// Returns the first 9 bits of the side information, 8 in MPEG-2 and 2.5. Source: ISO/IEC 11172-3 §2.4.1.7.
  static func mainDataBegin(_ bytes: UnsafeRawBufferPointer, _ header: MPEGAudioHeader) -> Int {
    let first = header.headerLength
    guard header.layer == 3, first + 2 <= bytes.count else { return 0 }
    let high = Int(bytes[first])
    return header.version == .mpeg1 ? high << 1 | Int(bytes[first + 1] >> 7) : high
  }
}
