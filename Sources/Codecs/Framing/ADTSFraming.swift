/// Finds the frames of AAC in an ADTS stream: bytes in, whole frames out.
///
/// ```swift
/// var framing = ADTSFraming()
/// framing.feed(bytes)
/// while let frame = framing.next() { use(framing.bytes(of: frame)) }
/// ```
/// May begin anywhere in a stream and resyncs after damage, with three headers that agree. ID3v2 tags, which web
/// radio uses for titles, are passed over. A frame is given once the header behind it has come, or after `end`.
/// What is found does not depend on how the bytes are cut. Memory: what was fed last, and 24 KiB.
///
/// Source: ISO/IEC 13818-7 §6.2, ISO/IEC 14496-3 §1.A.2.2.
public struct ADTSFraming: Sendable {
  private var scanner: FrameScanner<ADTSHeader>

  /// - Parameter offset: byte of the stream at which what is fed first stands.
  public init(offset: Int = 0) { scanner = FrameScanner(offset: offset) }

  /// Bytes so far that were neither frame nor tag.
  public var skippedBytes: Int { scanner.skippedBytes }

  /// Takes the next bytes of the stream. Frames that were found before have no bytes after this.
  public mutating func feed(_ bytes: some Collection<UInt8>) { scanner.feed(bytes) }

  /// No more bytes follow: the last frames need no header behind them.
  public mutating func end() { scanner.end() }

  /// The next frame; nil when more bytes are needed, or after `end` when there is none.
  public mutating func next() -> EncodedFrame? { scanner.next()?.frame }

  /// The bytes of a frame that was given since the last `feed`.
  public func bytes(of frame: EncodedFrame) -> ArraySlice<UInt8> { scanner.bytes(of: frame) }
}
