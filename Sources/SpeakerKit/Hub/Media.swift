internal import AudioCore
internal import Codecs
internal import EventLoop
internal import WebServer

/// The sound of a cue, from which media are made that begin at any frame of it.
enum MediaSource: Sendable {
  /// A file at a path with its length in frames of the session; each connection decodes it by itself.
  case file(String, frames: Int?, loops: Bool)
  /// A source at its own position, decoded once.
  case tape(MediaTape)

  /// Opens a source, on a thread that may wait for a file.
  /// - Throws: `AudioError`; `speaker.range` when the start is past the end of a file.
  static func open(_ request: SourceRequest, format: AudioFormat) throws -> MediaSource {
    switch request.sound {
    case .file(let path):
      let decoder = try ConformedDecoder(try AudioFile.open(path), to: format)
      let first = Int((request.start * Double(format.sampleRate)).rounded())
      if let count = decoder.frameCount, first > count {
        throw SpeakerError(
          .range, "\(request.start) s is past the end of \(request.name)",
          facts: [.init("start", .number(request.start))])
      }
      return .file(path, frames: decoder.frameCount, loops: request.loops)
    case .source(let sound):
      let first = Int((request.start * Double(format.sampleRate)).rounded())
      return .tape(try MediaTape(sound, firstFrame: first, format: format))
    }
  }

  /// The length of the source in frames; nil when unknown.
  var frames: Int? { if case .file(_, let frames, _) = self { frames } else { nil } }
  /// The frame at which the source ends; nil when unknown, or without an end.
  var end: Int? { if case .file(_, let frames?, false) = self { frames } else { nil } }
}

/// A WAV file that a hub fetches: 16-bit PCM of a source, from a frame of it on, decoded while it is sent.
final class Media: Sendable {
  /// The progress of the delivery.
  struct Progress {
    /// The time of the first bytes that were sent, in ns of CLOCK_MONOTONIC; nil before.
    var begun: Int64?
    /// `true` if the last byte has been sent.
    var isComplete = false
    /// The number of frames of the sound; nil before its end has been decoded.
    var frames: Int?
    /// `true` if no byte is sent any more.
    var isDropped = false
    /// The failure because of which the source has ended early.
    var failure: (any CodedError)?
  }

  let source: MediaSource
  let firstFrame: Int
  let format: AudioFormat
  let progress = Lock(Progress())
  /// The number of bytes of the sound; nil for an unknown length, or one beyond that of a WAV file.
  let soundBytes: Int?

  /// The number of bytes before the sound.
  static let headerBytes = 44

  init(_ source: MediaSource, from firstFrame: Int, format: AudioFormat) {
    (self.source, self.firstFrame, self.format) = (source, firstFrame, format)
    let bytes = source.end.map { max(0, $0 - firstFrame) * 2 * format.channels }
    soundBytes = bytes.flatMap { $0 <= Int(UInt32.max) - 64 ? $0 : nil }
  }

  /// The number of bytes of the whole file; nil when unknown.
  var bytes: Int? { soundBytes.map { $0 + Self.headerBytes } }

  /// Ends the delivery.
  func drop() { progress.withLock { $0.isDropped = true } }

  /// The header of a WAV file; lengths that are unknown are the highest numbers. Source: Microsoft, "Multimedia
  /// Programming Interface and Data Specifications 1.0", RIFF.
  var header: [UInt8] {
    func bytes(_ number: Int, _ count: Int) -> [UInt8] {
      (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
    let frame = 2 * format.channels
    let length = soundBytes ?? Int(UInt32.max)
    return Array("RIFF".utf8) + bytes(soundBytes.map { $0 + 36 } ?? length, 4) + Array("WAVEfmt ".utf8)
      + bytes(16, 4) + bytes(1, 2) + bytes(format.channels, 2) + bytes(format.sampleRate, 4)
      + bytes(format.sampleRate * frame, 4) + bytes(frame, 2) + bytes(16, 2) + Array("data".utf8)
      + bytes(length, 4)
  }
}

/// The bytes of a medium for one connection. For the thread of that connection.
final class MediaReader: AnswerReader {
  private let media: Media
  /// The first byte of the medium that the connection asks for.
  private let firstByte: Int
  private var sound: (any SoundReader)?
  private var samples: [Float]
  /// The sound that has been decoded and not been sent.
  private var pending: ArraySlice<UInt8> = []
  /// The number of bytes of the medium sent so far on this connection.
  private var sent = 0
  private var began: Int64?

  /// The sound in seconds that a hub may receive before it is due: a source without an end would fill its
  /// memory.
  private static let lead = 10

  init(_ media: Media, firstByte: Int) {
    (self.media, self.firstByte) = (media, firstByte)
    samples = [Float](repeating: 0, count: 2048 * media.format.channels)
  }

  /// Reads the next bytes; waits for them.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> AnswerRead {
    let offset = firstByte + sent
    if offset < Media.headerBytes {
      let count = min(buffer.count, Media.headerBytes - offset)
      buffer.copyBytes(from: media.header[offset..<offset + count])
      return note(count)
    }
    do {
      if sound == nil { try open(atByte: offset - Media.headerBytes) }
      while pending.isEmpty {
        if media.progress.withLock({ $0.isDropped }) { return .failed }
        if media.soundBytes == nil, isAhead {
          sleep(milliseconds: 20)
        } else if try !decode() {
          let frames = (offset - Media.headerBytes) / (2 * media.format.channels)
          media.progress.withLock { ($0.isComplete, $0.frames) = (true, frames) }
          return .end
        }
      }
    } catch {
      let failure = error as? any CodedError ?? SpeakerError(.lost, "can't continue: \(error)")
      media.progress.withLock { $0.failure = failure }
      return .failed
    }
    let count = min(buffer.count, pending.count)
    buffer.copyBytes(from: pending.prefix(count))
    pending = pending.dropFirst(count)
    return note(count)
  }

  /// Notes that bytes are sent.
  private func note(_ count: Int) -> AnswerRead {
    sent += count
    let now = monotonicNanoseconds()
    media.progress.withLock { progress in
      progress.begun = progress.begun ?? now
      if firstByte + sent == media.bytes { progress.isComplete = true }
    }
    return .bytes(count)
  }

  /// `true` if the hub has received more than is due.
  private var isAhead: Bool {
    guard let began else { return false }
    let rate = media.format.sampleRate
    let seconds = Double(monotonicNanoseconds() - began) / 1e9 + Double(Self.lead)
    return Double(sent) > seconds * Double(rate * 2 * media.format.channels)
  }

  private func sleep(milliseconds: Int64) {
    sleepUntil(monotonicNanoseconds: monotonicNanoseconds() + milliseconds * 1_000_000)
  }

  private func open(atByte byte: Int) throws {
    let bytesPerFrame = 2 * media.format.channels
    let frame = media.firstFrame + byte / bytesPerFrame
    switch media.source {
    case .file(let path, let frames, let loops):
      sound = try FileReader(path, at: frame, of: frames, loops: loops, format: media.format)
    case .tape(let tape): sound = TapeReader(tape, at: frame)
    }
    began = monotonicNanoseconds()
    if byte % bytesPerFrame > 0, try decode() { pending = pending.dropFirst(byte % bytesPerFrame) }
  }

  /// Decodes the next sound.
  /// - Returns: `false` at the end.
  private func decode() throws -> Bool {
    guard let sound else { return false }
    let channels = media.format.channels
    let read = try samples.withUnsafeMutableBufferPointer { try sound.read(into: $0) }
    switch read {
    case .frames(let count):
      var bytes: [UInt8] = []
      bytes.reserveCapacity(count * 2 * channels)
      for sample in samples[..<(count * channels)] {
        let value = UInt16(bitPattern: SampleConversion.int16(sample))
        bytes.append(UInt8(truncatingIfNeeded: value))
        bytes.append(UInt8(truncatingIfNeeded: value >> 8))
      }
      pending = bytes[...]
    case .waiting: sleep(milliseconds: 10)
    case .end(let failure):
      if let failure { media.progress.withLock { $0.failure = failure } }
      // A file that is shorter than its header states: the stated length is filled with silence.
      guard let bytes = media.bytes, firstByte + sent < bytes else { return false }
      pending = [UInt8](repeating: 0, count: min(8192, bytes - firstByte - sent))[...]
    }
    return true
  }
}

/// The result of reading sound.
enum SoundRead {
  case frames(Int)
  /// There is no sound now; it will come.
  case waiting
  case end((any CodedError)?)
}

/// Sound that is read by one connection.
private protocol SoundReader {
  /// Reads the next frames into `buffer`, interleaved.
  func read(into buffer: UnsafeMutableBufferPointer<Float>) throws -> SoundRead
}

/// Reads a file from a frame on.
private final class FileReader: SoundReader {
  private let decoder: ConformedDecoder
  private let loops: Bool
  private var hasRead = false

  init(_ path: String, at frame: Int, of frames: Int?, loops: Bool, format: AudioFormat) throws {
    guard let file = try FileCall({ try AudioFile.open(path) }).wait() else {
      throw AudioError.unanswered(path)
    }
    decoder = try ConformedDecoder(file, to: format)
    self.loops = loops
    var first = frame
    if loops, let frames, frames > 0 { first %= frames }
    if first > 0 { try decoder.seek(toFrame: first) }
    hasRead = first > 0
  }

  func read(into buffer: UnsafeMutableBufferPointer<Float>) throws -> SoundRead {
    while true {
      let count = try decoder.read(into: buffer)
      if count > 0 {
        hasRead = true
        return .frames(count)
      }
      // A file without a frame would be repeated without end.
      guard loops, hasRead else { return .end(decoder.shortfall) }
      hasRead = false
      try decoder.seek(toFrame: 0)
    }
  }
}

/// Reads a tape from a frame on.
private final class TapeReader: SoundReader {
  private let tape: MediaTape
  private var frame: Int

  init(_ tape: MediaTape, at frame: Int) { (self.tape, self.frame) = (tape, frame) }

  func read(into buffer: UnsafeMutableBufferPointer<Float>) throws -> SoundRead {
    try tape.read(at: &frame, into: buffer)
  }
}

/// A source at its own position, decoded once, with its last half minute: a hub that is paused has received more than it
/// has played.
///
/// Unchecked: the decoder and the history are touched under the lock, in `init` before it is shared.
final class MediaTape: @unchecked Sendable {
  private let decoder: ConformedDecoder
  private let channels: Int
  /// The number of frames kept.
  private let kept: Int
  private let history: Lock<History>

  private struct History {
    /// The frame of the first kept sample.
    var first: Int
    var samples: [Float] = []
    var end: SoundRead?
  }

  /// Creates the decoder of a source whose frames count from `firstFrame`.
  /// - Throws: errors of the source that creates its decoder.
  init(_ sound: any SoundSource, firstFrame: Int, format: AudioFormat) throws {
    decoder = try ConformedDecoder(try sound.makeDecoder(), to: format)
    decoder.onFrames {}
    channels = format.channels
    kept = 30 * format.sampleRate
    history = Lock(History(first: firstFrame))
  }

  /// Reads the frames from `frame` on, or from the oldest kept one where that is later; moves `frame` past
  /// them.
  func read(at frame: inout Int, into buffer: UnsafeMutableBufferPointer<Float>) throws -> SoundRead {
    var position = frame
    defer { frame = position }
    return try history.withLock { history -> SoundRead in
      position = max(position, history.first)
      let room = buffer.count / channels
      while true {
        let offset = (position - history.first) * channels
        if offset < history.samples.count {
          let part = history.samples[offset...].prefix(room * channels)
          _ = buffer.update(fromContentsOf: part)
          position += part.count / channels
          return .frames(part.count / channels)
        }
        if let end = history.end { return end }
        let count = try decoder.read(into: buffer)
        guard count > 0 else {
          if decoder.isWaiting { return .waiting }
          history.end = .end(decoder.shortfall)
          continue
        }
        history.samples.append(contentsOf: buffer[..<(count * channels)])
        let surplus = history.samples.count / channels - kept
        // Dropped in large pieces, as each removal moves the rest.
        if surplus > kept / 2 {
          history.samples.removeFirst(surplus * channels)
          history.first += surplus
        }
      }
    }
  }
}
