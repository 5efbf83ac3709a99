/// Finds the frames of AAC in an ADTS stream: bytes in, whole frames out.
///
/// ```swift
/// var framing = ADTSFraming()
/// framing.feed(bytes)
/// while let frame = framing.next() { use(framing.bytes(of: frame)) }
/// ```
/// May begin anywhere in a stream and resyncs after damage, with three headers that agree. ID3v2 tags, which
/// web radio uses for titles, are skipped. A frame is returned once the header after it has arrived, or
/// after `end`. The frames found do not depend on how the bytes are cut. Memory: the last input, and 24 KiB.
///
/// Source: ISO/IEC 13818-7 §6.2, ISO/IEC 14496-3 §1.A.2.2.
public struct ADTSFraming: Sendable {
  private var scanner: FrameScanner<ADTSHeader>

  /// - Parameter offset: the stream offset of the first byte that is fed.
  public init(offset: Int = 0) { scanner = FrameScanner(offset: offset) }

  /// The number of bytes so far that were neither frame nor tag.
  public var skippedBytes: Int { scanner.skippedBytes }

  /// Appends the next bytes of the stream. Frames returned earlier have no bytes after this.
  public mutating func feed(_ bytes: some Collection<UInt8>) { scanner.feed(bytes) }

  /// Ends the input: the last frames need no header after them.
  public mutating func end() { scanner.end() }

  /// Returns the next frame; nil when more bytes are needed, or after `end` when none is left.
  public mutating func next() -> EncodedFrame? { scanner.next()?.frame }

  /// Returns the bytes of a frame that was returned since the last `feed`.
  public func bytes(of frame: EncodedFrame) -> ArraySlice<UInt8> { scanner.bytes(of: frame) }
}
