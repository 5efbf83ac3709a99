internal import AudioCore
internal import Codecs
internal import EventLoop
internal import StreamCore

/// Decodes the sound of a stream from its play position on. For one thread at a time.
///
/// After a gap, a change of format and a seek a new decoder begins, with the first frame that needs no
/// earlier frames.
final class StreamDecoder: LiveDecoder {
  private(set) var format = AudioFormat.session
  let frameCount: Int? = nil
  private(set) var isWaiting = false

  private let buffer: StreamBuffer
  private let map: PlayMap
  private let pace: PlayPace
  private let reader: BufferReader
  private var decoder: (any Decoder)?
  private var delivered = 0.0
  /// The time of the next sound in the stream.
  private var time = StreamTime.zero
  /// The time of the last decoded sound in the stream.
  private var start = StreamTime.zero
  private var isMarked = true
  /// The first frame of a decoder that has delivered nothing yet.
  private var first: StreamFrame?
  private var stretching: Stretching?
  /// `false` once libsoxr has refused, which `roomtone doctor` reports: the sound then passes unchanged.
  private var canStretch = true
  /// Sound decoded after a break, which ends the stretched sound before it.
  private var held: Held?

  /// Sound that is stretched.
  private struct Stretching {
    let stretch: SoundStretch
    /// The time of the stream of its first frame.
    let start: StreamTime
    /// The room for the next sound.
    let input: PCMBlock
    /// The ratio of the last mark in the map, and the sound delivered by then.
    var marked: (ratio: Double, delivered: Double)

    /// The time of the next frame in the stream.
    var time: StreamTime {
      start + StreamTime(seconds: stretch.position / Double(stretch.format.sampleRate))
    }
  }

  /// Decoded sound that waits to be delivered.
  private struct Held {
    let samples: [Float]
    let format: AudioFormat
    let time: StreamTime
    /// The number of samples that were delivered.
    var delivered = 0
  }

  init(_ buffer: StreamBuffer, map: PlayMap, pace: PlayPace = PlayPace()) {
    self.buffer = buffer
    self.map = map
    self.pace = pace
    reader = BufferReader(buffer)
  }

  func onFrames(_ wake: @escaping @Sendable () -> Void) { buffer.onFrames(wake) }

  /// - Throws: `stream.unsupported`, `audio.unreadable`.
  func read(into buffer: UnsafeMutableBufferPointer<Float>) throws -> Int {
    if let count = try readStretched(into: buffer) { return count }
    if held != nil { return deliverHeld(into: buffer) }
    let count = try decode(into: buffer)
    guard count > 0 else { return 0 }
    if !isMarked { mark(start) }
    delivered += Double(count) / Double(format.sampleRate)
    return count
  }

  /// Marks in the map that the sound from `time` on follows, at its own pace.
  private func mark(_ time: StreamTime) {
    isMarked = true
    map.mark(delivered: delivered, time: time)
  }

  /// Delivers sound through the stage that stretches it, if requested.
  /// - Returns: nil if the sound passes unchanged.
  private func readStretched(into buffer: UnsafeMutableBufferPointer<Float>) throws -> Int? {
    if stretching == nil { beginStretching() }
    guard let stretch = stretching?.stretch else { return nil }
    while true {
      let (next, ratio) = (stretching?.time ?? time, stretch.ratio)
      let count = try stretch.read(into: buffer, isWanted: pace.isStretched)
      if count > 0 {
        (format, isWaiting) = (stretch.format, false)
        mark(next, ratio)
        delivered += Double(count) / Double(format.sampleRate)
        return count
      }
      if stretch.isOver {
        stretching = nil
        if held == nil { mark(time) }
        return nil
      }
      guard try decode(for: stretch) else { return 0 }
    }
  }

  private func beginStretching() {
    // Not in the first sound of a decoder, whose time is not marked yet.
    guard pace.isStretched, canStretch, isMarked, delivered > 0, held == nil else { return }
    do {
      stretching = Stretching(
        stretch: try SoundStretch(format), start: time, input: PCMBlock(format: format, frames: 2048),
        marked: (1, delivered))
    } catch { canStretch = false }
  }

  /// Marks in the map the pace of the next sound, ten times a second while it changes.
  private func mark(_ time: StreamTime, _ ratio: Double) {
    guard let marked = stretching?.marked, ratio != marked.ratio, delivered - marked.delivered >= 0.1 else {
      return
    }
    stretching?.marked = (ratio, delivered)
    map.mark(delivered: delivered, time: time, pace: ratio)
  }

  /// Decodes sound to stretch; a break ends the stretched sound.
  /// - Returns: `false` if there is no sound now.
  private func decode(for stretch: SoundStretch) throws -> Bool {
    guard let view = stretching?.input.view else { return false }
    let count = try decode(into: view.buffer)
    if count == 0 {
      guard reader.hasEnded else { return false }
      stretch.finish()
    } else if !isMarked || format != stretch.format {
      isMarked = true
      held = Held(
        samples: Array(view.buffer.prefix(count * format.channels)), format: format, time: start)
      stretch.finish()
    } else {
      stretch.append(view.prefix(count))
    }
    return true
  }

  /// Delivers sound that was decoded after a break.
  private func deliverHeld(into buffer: UnsafeMutableBufferPointer<Float>) -> Int {
    guard var sound = held else { return 0 }
    (format, isWaiting) = (sound.format, false)
    if sound.delivered == 0 { mark(sound.time) }
    let room = buffer.count / format.channels * format.channels
    let part = sound.samples[sound.delivered...].prefix(room)
    _ = buffer.update(fromContentsOf: part)
    sound.delivered += part.count
    held = sound.delivered < sound.samples.count ? sound : nil
    let count = part.count / format.channels
    delivered += Double(count) / Double(format.sampleRate)
    return count
  }

  /// Decodes the next sound; `start` becomes its time.
  private func decode(into buffer: UnsafeMutableBufferPointer<Float>) throws -> Int {
    while true {
      if let count = try decoder?.read(into: buffer), count > 0, let decoder {
        format = decoder.format
        isWaiting = false
        if let frame = first.take(), let lead = (decoder as? OggStreamDecoder)?.lead {
          // Decoders of Vorbis begin a packet later.
          let missing = max(0, frame.samples - lead)
          time = time + StreamTime(samples: missing, sampleRate: format.sampleRate)
        }
        let count = cut(count, of: buffer)
        if count > 0 { return count }
        continue
      }
      guard let first = reader.beginDecoder() else {
        isWaiting = !reader.hasEnded
        return 0
      }
      (time, isMarked, self.first) = (first.start, false, first.frame)
      // Its handles must be free before the new one takes some.
      decoder = nil
      decoder = try Self.decoder(of: first.frame, reader)
    }
  }

  /// Cuts the inaudible frames from `count` decoded ones.
  /// - Returns: the number of frames left, from the start of `buffer`.
  private func cut(_ count: Int, of buffer: UnsafeMutableBufferPointer<Float>) -> Int {
    start = time
    time = time + StreamTime(samples: count, sampleRate: format.sampleRate)
    guard let heard = self.buffer.heard else { return count }
    let rate = Double(format.sampleRate)
    func frames(until end: StreamTime) -> Int {
      Int(max(0, min(Double(count), ((end - start).seconds * rate).rounded())))
    }
    let end = heard.end.map(frames) ?? count
    let range = min(frames(until: heard.start), end)..<end
    guard !range.isEmpty else { return 0 }
    start = start + StreamTime(samples: range.lowerBound, sampleRate: format.sampleRate)
    if range.lowerBound > 0 {
      let samples = range.lowerBound * format.channels..<range.upperBound * format.channels
      _ = buffer.update(fromContentsOf: Array(buffer[samples]))
    }
    return range.count
  }

  func seek(toFrame frame: Int) throws {
    throw StreamError(.noSeek, "a stream is moved by rewind and forward")
  }

  private static func decoder(of frame: StreamFrame, _ reader: BufferReader) throws -> any Decoder {
    if frame.codec == .pcm || frame.codec == .l16 {
      return PCMStreamDecoder(
        reader, format: AudioFormat(sampleRate: frame.sampleRate, channels: frame.channels),
        width: frame.length / max(1, frame.samples * frame.channels))
    }
    if let decoder = try frame.codec.decoder(of: reader, headers: reader.headers) { return decoder }
    throw StreamError(
      .unsupported, "a live stream of \(frame.codec) can't be decoded here",
      hint: "look for one in MP3 or AAC")
  }

  /// The consecutive frames of the buffer.
  private final class BufferReader: FrameSource {
    private typealias Frame = (packet: PacketBuffer.Packet, bytes: [UInt8])

    private enum Phase {
      /// There is no decoder yet.
      case idle
      /// A decoder reads, and continues with frames that come late.
      case reading
      /// A frame that does not follow the frames before has come: the decoder reads no more, and a new one
      /// begins with it.
      case broken(Frame)
      /// A decoder has begun, and this frame is the next that it reads.
      case begun(Frame)
      /// No frame follows.
      case ended
    }

    private let buffer: StreamBuffer
    private let reader: Int
    private var reservoir = BitReservoir()
    private var phase = Phase.idle
    /// `true` if frames were left out since the last one read.
    private var isInterrupted = false
    /// The Ogg headers for the first frame, as whole pages; empty for other frames.
    private(set) var headers: [UInt8] = []
    private var headersCursor: PacketBuffer.Cursor?

    init(_ buffer: StreamBuffer) {
      self.buffer = buffer
      reader = buffer.beginReading()
    }

    /// `true` if no frame follows.
    var hasEnded: Bool { if case .ended = phase { true } else { false } }

    /// Begins a new decoder, once the old one has finished.
    /// - Returns: its first frame, whose bytes are read next; nil if no decoder is due.
    func beginDecoder() -> PacketBuffer.Packet? {
      switch phase {
      case .idle:
        guard let frame = nextPacket() else { return nil }
        phase = .begun((frame.packet, frame.bytes))
        return frame.packet
      case .broken(let frame):
        phase = .begun(frame)
        return frame.packet
      case .begun(let frame): return frame.packet
      case .reading, .ended: return nil
      }
    }

    func nextFrame() -> [UInt8]? {
      switch phase {
      case .begun(let frame):
        phase = .reading
        return frame.bytes
      case .idle, .reading:
        guard let (packet, bytes, isNew) = nextPacket() else { return nil }
        guard isNew else { return bytes }
        phase = .broken((packet, bytes))
        return nil
      case .broken, .ended: return nil
      }
    }

    /// Returns the next playable frame, with `isNew` if it does not follow the one before.
    private func nextPacket() -> (packet: PacketBuffer.Packet, bytes: [UInt8], isNew: Bool)? {
      while true {
        guard case .frame(let packet, let bytes) = read() else { return nil }
        if packet.frame.codec.isOgg {
          guard !packet.frame.isHeaders else { continue }
          adoptHeaders(of: packet)
        }
        if packet.discontinuity != nil || packet.missed > 0 {
          reservoir = BitReservoir()
          isInterrupted = true
        }
        guard reservoir.admits(packet.frame) else {
          isInterrupted = true
          continue
        }
        defer { isInterrupted = false }
        return (packet, bytes, isInterrupted)
      }
    }

    /// Finds the headers for a page: a new decoder begins if they differ from those of the page before.
    private func adoptHeaders(of packet: PacketBuffer.Packet) {
      guard let new = buffer.headers(of: packet), new.cursor != headersCursor else { return }
      if headersCursor != nil { isInterrupted = true }
      (headersCursor, headers) = (new.cursor, new.bytes)
    }

    private func read() -> StreamBuffer.Reading {
      let reading = buffer.read(as: reader)
      if case .end = reading { phase = .ended }
      return reading
    }
  }
}
