internal import AudioCore

/// The sound of the AAC frames of a file, for the decoders of ADTS and MP4 files.
///
/// Positions count frames at `format.sampleRate`, from the first sample of the first frame. A frame that
/// can't be decoded becomes silence of its length, so that later frames keep their positions.
final class AACTrack {
  /// The rate and channels of the frames that `read` returned last.
  private(set) var format: AudioFormat
  /// The output samples per sample of the core: 2 with spectral band replication.
  private(set) var factor: Int

  /// The number of frames that became silence, as they could not be decoded.
  private(set) var silencedFrames = 0

  private let source: any AACPacketSource
  private let decoder: any AACFrameDecoder
  private var configuration: AACConfiguration?
  /// The decoded samples, and the index of the first one that was not yet returned.
  private var samples: [Float] = []
  private var start = 0
  private var samplesFormat: AudioFormat
  private var block: [Float] = []
  /// The number of PCM frames to be dropped after a seek.
  private var excess = 0

  /// The number of frames that are decoded, unheard, before the wanted one: for AAC-LC the overlap of two
  /// would do, the history of replicated bands and parametric stereo is longer.
  private static let preroll = 12
  /// The number of frames at the start, one of which must be decodable.
  private static let flawLimit = 16

  /// - Throws: `audio.unsupported` or `audio.unreadable` when none of the first frames can be decoded.
  init(_ source: any AACPacketSource, decoder: any AACFrameDecoder = AACDecoder()) throws {
    self.source = source
    self.decoder = decoder
    (format, samplesFormat, factor) = (.session, .session, 1)
    var failure: (words: String, offset: Int)?
    for _ in 0..<Self.flawLimit {
      guard let packet = try source.next() else { break }
      if let obstacle = packet.configuration.obstacle {
        throw AudioError.unsupportedKind(source.path, obstacle)
      }
      do {
        let decoded = try decode(packet)
        format = AudioFormat(sampleRate: decoded.sampleRate, channels: decoded.channels)
        factor = max(1, decoded.sampleRate / packet.configuration.sampleRate)
        samplesFormat = format
        try seek(toFrame: 0)
        return
      } catch let error as AACFailure {
        failure = failure ?? (error.words, packet.offset)
      }
    }
    throw AudioError.unreadable(
      source.path, found: failure.map { "damaged AAC (\($0.words))" } ?? "no frame of AAC",
      atByte: failure?.offset ?? 0)
  }

  /// Reads the next frames; they have the value of `format` after the call. Returns 0 at the end.
  func read(into buffer: UnsafeMutableBufferPointer<Float>) throws -> Int {
    while true {
      let channels = samplesFormat.channels
      if excess > 0 {
        let dropped = min(excess, (samples.count - start) / channels)
        start += dropped * channels
        excess -= dropped
      }
      let count = min(samples.count - start, buffer.count / channels * channels)
      if count > 0 {
        format = samplesFormat
        _ = buffer.update(fromContentsOf: samples[start..<(start + count)])
        start += count
        return count / channels
      }
      guard buffer.count >= channels, try refill() else { return 0 }
    }
  }

  /// Moves to a frame, counted at `format.sampleRate`.
  func seek(toFrame frame: Int) throws {
    let sample = frame / factor
    let first = try source.seek(toSample: max(0, sample - Self.preroll * 1024))
    samples.removeAll(keepingCapacity: true)
    start = 0
    excess = frame - first * factor
    if first == 0 { configuration = nil } else { decoder.reset() }
  }

  /// Decodes the next frame into `samples`.
  /// - Returns: `false` at the end.
  private func refill() throws -> Bool {
    guard let packet = try source.next() else { return false }
    start = 0
    do {
      let decoded = try decode(packet)
      samplesFormat = AudioFormat(sampleRate: decoded.sampleRate, channels: decoded.channels)
    } catch is AACFailure {
      silencedFrames += 1
      samples.removeAll(keepingCapacity: true)
      samples += repeatElement(0, count: packet.samples * factor * samplesFormat.channels)
    }
    return true
  }

  /// Decodes all blocks of a packet into `samples`.
  private func decode(_ packet: AACPacket) throws -> DecodedAAC {
    if packet.configuration != configuration {
      configuration = nil
      try decoder.start(packet.configuration)
      configuration = packet.configuration
    }
    let first = try decoder.decode(packet.bytes, into: &samples)
    var (rest, frames) = (packet.bytes.dropFirst(first.length + packet.checksumLength), first.frames)
    for _ in 1..<max(1, packet.blocks) where !rest.isEmpty {
      let next = try decoder.decode(rest, into: &block)
      guard next.sampleRate == first.sampleRate, next.channels == first.channels else {
        throw AACFailure(words: "a format that changes inside a frame")
      }
      samples += block
      frames += next.frames
      rest = rest.dropFirst(next.length + packet.checksumLength)
    }
    return DecodedAAC(
      sampleRate: first.sampleRate, channels: first.channels, frames: frames, length: packet.bytes.count)
  }
}
