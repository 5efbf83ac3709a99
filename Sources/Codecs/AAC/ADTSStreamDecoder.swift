public import AudioCore
internal import EventLoop

/// Decodes AAC in ADTS frame by frame as they arrive, through libfaad.
///
/// A frame that can't be decoded becomes silence of its length. HE-AAC may begin at any frame: `format`
/// follows.
public final class ADTSStreamDecoder: Decoder {
  /// The rate and channels of the frames that the last `read` returned.
  public var format: AudioFormat { track?.format ?? .session }
  /// Nil: a stream has no known length.
  public let frameCount: Int? = nil

  private let source: LivePacketSource
  private var track: AACTrack?

  /// A decoder of the frames of `source`, the first of which are requested by the first `read`.
  public init(_ source: any FrameSource) { self.source = LivePacketSource(source) }

  /// Reads the next frames; returns 0 when the source has none now.
  /// - Throws: `audio.unreadable`, `audio.unsupported` when none of the first frames can be decoded.
  public func read(into buffer: UnsafeMutableBufferPointer<Float>) throws -> Int {
    if track == nil {
      guard source.hasFrame else { return 0 }
      track = try AACTrack(source)
    }
    return try track?.read(into: buffer) ?? 0
  }

  /// Throws `audio.unsupported`: a stream can't be repositioned by its decoder.
  public func seek(toFrame frame: Int) throws {
    throw AudioError(.unsupported, "a stream is not repositioned by its decoder")
  }
}

/// The frames of a stream for `AACTrack`, which reads the first ones before it starts playing with them.
private final class LivePacketSource: AACPacketSource {
  let path = "the stream"
  private let source: any FrameSource
  /// Frames that were returned before the track began, and are returned again.
  private var kept: [[UInt8]] = []
  private var position = 0
  private var hasBegun = false
  private var offset = 0

  init(_ source: any FrameSource) { self.source = source }

  /// `true` if a frame is available; reads it from the source.
  var hasFrame: Bool {
    if position < kept.count { return true }
    guard let frame = source.nextFrame() else { return false }
    kept.append(frame)
    return true
  }

  func next() throws -> AACPacket? {
    while let bytes = takeFrame() {
      guard let header = ADTSHeader(bytes, at: 0) else { continue }
      defer { offset += bytes.count }
      return AACPacket(
        bytes: bytes.dropFirst(header.headerLength), configuration: AACConfiguration(header),
        blocks: header.blocks, checksumLength: 0, offset: offset)
    }
    return nil
  }

  func seek(toSample sample: Int) throws -> Int {
    (position, hasBegun) = (0, true)
    return 0
  }

  private func takeFrame() -> [UInt8]? {
    if position < kept.count {
      defer { position += 1 }
      return kept[position]
    }
    if hasBegun {
      (kept, position) = ([], 0)
      return source.nextFrame()
    }
    guard let frame = source.nextFrame() else { return nil }
    kept.append(frame)
    position += 1
    return frame
  }
}
