internal import AudioCore
internal import Codecs
internal import EventLoop

/// Decodes what the player of a stream reads, from where it stands. For one thread at a time.
///
/// Behind a gap, a change of format and a leap a new decoder begins, with the first frame that needs none of those
/// before it.
final class StreamDecoder: LiveDecoder {
  private(set) var format = AudioFormat.session
  let frameCount: Int? = nil
  private(set) var isWaiting = false

  private let buffer: StreamBuffer
  private let map: PlayMap
  private let feed: Feed
  private var decoder: (any Decoder)?
  private var given = 0.0

  init(_ buffer: StreamBuffer, map: PlayMap) {
    self.buffer = buffer
    self.map = map
    feed = Feed(buffer)
  }

  func onFrames(_ wake: @escaping @Sendable () -> Void) { buffer.onFrames(wake) }

  /// - Throws: `stream.unsupported`, `audio.unreadable`.
  func read(into buffer: UnsafeMutableBufferPointer<Float>) throws -> Int {
    while true {
      if let count = try decoder?.read(into: buffer), count > 0, let decoder {
        format = decoder.format
        given += Double(count) / Double(format.sampleRate)
        isWaiting = false
        return count
      }
      guard let first = feed.takeFirst() else {
        isWaiting = !feed.hasEnded
        return 0
      }
      map.mark(given: given, time: first.start)
      decoder = try Self.decoder(of: first.frame.codec, feed)
    }
  }

  func seek(toFrame frame: Int) throws {
    throw StreamError(.noSeek, "a stream is moved by rewind and forward")
  }

  private static func decoder(of codec: StreamCodec, _ feed: Feed) throws -> any Decoder {
    switch codec {
    case .layer1, .layer2, .mp3: return try MPEGStreamDecoder(feed)
    case .aac: return ADTSStreamDecoder(feed)
    case .ogg, .flac, .wav, .mp4, .other:
      throw StreamError(
        .unsupported, "a live stream of \(codec) can't be decoded here", hint: "look for one in MP3 or AAC")
    }
  }

  /// The frames of the buffer that follow on each other.
  private final class Feed: FrameSource {
    private let buffer: StreamBuffer
    private var reservoir = BitReservoir()
    /// The first frame of those that follow on each other, which a new decoder begins with.
    private var first: (packet: PacketBuffer.Packet, bytes: [UInt8])?
    private var hasBegun = false
    /// Frames were left out since the last that was given.
    private var isBroken = false
    private(set) var hasEnded = false

    init(_ buffer: StreamBuffer) { self.buffer = buffer }

    /// What a new decoder begins with, when the old one is through; its bytes are the next to be given.
    func takeFirst() -> PacketBuffer.Packet? {
      if first == nil { first = take().map { ($0.packet, $0.bytes) } }
      guard let packet = first?.packet else { return nil }
      hasBegun = true
      return packet
    }

    func nextFrame() -> [UInt8]? {
      if hasBegun, let bytes = first?.bytes {
        (first, hasBegun) = (nil, false)
        return bytes
      }
      guard first == nil, let (packet, bytes, isNew) = take() else { return nil }
      guard !isNew else {
        first = (packet, bytes)
        return nil
      }
      return bytes
    }

    /// The next frame that can be played, and whether it does not follow on the one before.
    private func take() -> (packet: PacketBuffer.Packet, bytes: [UInt8], isNew: Bool)? {
      while true {
        guard case .frame(let packet, let bytes) = read() else { return nil }
        if packet.discontinuity != nil || packet.missed > 0 {
          reservoir = BitReservoir()
          isBroken = true
        }
        guard reservoir.admits(packet.frame) else {
          isBroken = true
          continue
        }
        defer { isBroken = false }
        return (packet, bytes, isBroken)
      }
    }

    private func read() -> StreamBuffer.Reading {
      let reading = buffer.read()
      if case .end = reading { hasEnded = true }
      return reading
    }
  }
}
