internal import AudioCore
internal import Codecs
internal import EventLoop

/// A position in the sound of a queue at which another file begins, or the queue ends.
struct QueueTurn: Sendable {
  /// The frame of the session, counted as its position is, at which the file begins.
  let frame: Int
  /// The state of the queue from there on; at its end without a current file.
  let machine: QueueMachine
  /// The length of the file in frames of the session; nil when unknown.
  let length: Int?
  /// The failures of the files before it, in their order.
  let failures: [any CodedError]
}

/// Counts the frames of a session that files of a queue become: consecutive files of one rate are resampled as one, so
/// that no sample is added or missing between them.
struct QueueFrames {
  private let rate: Int
  private var base: Int
  private var sourceRate: Int
  private var count = 0

  /// Begins at frame `base` of a session of `rate` Hz.
  init(from base: Int, rate: Int) { (self.base, self.rate, sourceRate) = (base, rate, rate) }

  /// The frame of the session after all frames counted so far.
  var frame: Int { base + Resampler.length(of: count, from: sourceRate, to: rate) }

  /// Adds `frames` of `sourceRate` Hz.
  mutating func add(_ frames: Int, at sourceRate: Int) {
    if sourceRate != self.sourceRate { (base, count, self.sourceRate) = (frame, 0, sourceRate) }
    count += frames
  }
}

/// Access to the files of a queue.
enum QueueFiles {
  /// Decoded; the next one is opened on another thread while one plays, if `ahead` is true.
  case decoded(ahead: Bool)
  /// Measured, but not decoded.
  case measured(FileLengths)
}

/// Decodes the files of a queue as one sound, each from its first to its last frame.
///
/// A file that can't be read, or not to its end, is reported with the turn to the next one.
final class QueueDecoder: Decoder {
  private(set) var format: AudioFormat
  let frameCount: Int? = nil

  private let target: AudioFormat
  private let source: QueueFiles
  private let onTurn: (QueueTurn) -> Void
  private var machine: QueueMachine
  private var file: (any Decoder)?
  private var next: PreparedFile?
  /// A mount that has not answered, and the time in ns until which its other files are refused without
  /// waiting.
  private var silent: (mount: RemoteMount, until: Int64)?
  private var frames: QueueFrames
  private var hasSounded = false
  private var failures: [any CodedError] = []

  /// Opens the first file that can be read, and seeks in it where that is the current one of `machine`.
  /// - Parameters:
  ///   - start: position in the file in seconds.
  ///   - format: of the session.
  ///   - source: opens the files.
  ///   - onTurn: receives each turn, the first one during the call.
  /// - Throws: `AudioError` when no file can be read; `speaker.range` when `start` is past the end of its file.
  init(
    _ machine: QueueMachine, start: Double, to format: AudioFormat, from source: QueueFiles,
    onTurn: @escaping (QueueTurn) -> Void
  ) throws {
    let base = Int((start * Double(format.sampleRate)).rounded())
    (self.machine, target, self.source, self.onTurn) = (machine, format, source, onTurn)
    (self.format, frames) = (format, QueueFrames(from: base, rate: format.sampleRate))
    do {
      let first = try open()
      if start > 0 { try seek(in: first, to: start) }
      hasSounded = start > 0
      begin(first, at: 0)
    } catch let error as SpeakerError {
      throw error
    } catch {
      try turn(after: error)
    }
  }

  private func seek(in file: any Decoder, to seconds: Double) throws {
    let wanted = Int((seconds * Double(file.format.sampleRate)).rounded())
    let count = file.frameCount ?? .max
    // One frame of a session may be several of a file.
    let rounding = file.format.sampleRate / target.sampleRate + 1
    guard wanted <= count || wanted - count <= rounding else {
      throw SpeakerError(
        .range, "\(seconds) s is past the end of \(machine.entry?.path ?? "")",
        facts: [.init("start", .number(seconds))])
    }
    try file.seek(toFrame: min(wanted, count))
  }

  /// Does nothing but throw: a queue is repositioned with another decoder.
  func seek(toFrame frame: Int) throws {
    throw SpeakerError(.noSeek, "a queue is repositioned in its files")
  }

  func read(into buffer: UnsafeMutableBufferPointer<Float>) throws -> Int {
    while let file {
      let room = buffer.count / file.format.channels * file.format.channels
      do {
        let count = try file.read(into: UnsafeMutableBufferPointer(rebasing: buffer[..<room]))
        if count > 0 {
          format = file.format
          frames.add(count, at: format.sampleRate)
          hasSounded = true
          return count
        }
        try turn(after: file.shortfall)
      } catch  where self.file === file {
        try turn(after: error)
      }
    }
    return 0
  }

  /// Turns to the next file, with the rest of a measured one counted as if it had been read.
  func passFile() throws {
    guard let file = file as? MeasuredFile else { return }
    frames.add(file.rest, at: file.format.sampleRate)
    if file.rest > 0 { hasSounded = true }
    try turn(after: file.shortfall)
  }

  /// Opens the current file of the machine, or fetches it where it has been opened ahead.
  private func open() throws -> any Decoder {
    let path = machine.entry?.path ?? ""
    let prepared = next
    next = nil
    switch source {
    case .measured(let lengths): return MeasuredFile(try lengths.length(of: path))
    case .decoded(ahead: false): return try PreparedFile.open(path, to: target)
    case .decoded(ahead: true):
      if let prepared, prepared.path == path { return try adopt(prepared) }
      return try adopt(PreparedFile(path, to: target))
    }
  }

  private func adopt(_ file: PreparedFile) throws -> any Decoder {
    if let silent, silent.until > monotonicNanoseconds(), RemoteMount.of(file.path) == silent.mount {
      throw AudioError.unanswered(file.path)
    }
    if let decoder = try file.adopt() { return decoder }
    if let mount = RemoteMount.of(file.path) {
      silent = (mount, monotonicNanoseconds() + Duration.seconds(60).nanoseconds)
    }
    throw AudioError.unanswered(file.path)
  }

  /// Turns to the next file that can be read.
  /// - Parameter failure: of the file that ends here; nil when it has been read to its end.
  /// - Throws: the failure, when no file of the queue gives sound.
  private func turn(after failure: (any Error)?) throws {
    var failure = failure
    while true {
      if let failure {
        failures.append(
          failure as? any CodedError
            ?? SpeakerError(.lost, "can't continue \(machine.entry?.path ?? "the queue"): \(failure)"))
      }
      let action = hasSounded ? machine.ended() : machine.failed()
      (file, hasSounded) = (nil, false)
      if action == .play {
        do {
          return begin(try open(), at: frames.frame)
        } catch { failure = error }
        continue
      }
      let last = failures.last
      onTurn(QueueTurn(frame: frames.frame, machine: machine, length: nil, failures: failures))
      failures = []
      guard action == .fail, let last else { return }
      throw QueueMachine.failure(last, of: machine.queue)
    }
  }

  /// Begins to read a file, reports the turn, and has the next one opened.
  private func begin(_ file: any Decoder, at frame: Int) {
    self.file = file
    format = file.format
    let length = file.frameCount.map {
      Resampler.length(of: $0, from: file.format.sampleRate, to: target.sampleRate)
    }
    onTurn(QueueTurn(frame: frame, machine: machine, length: length, failures: failures))
    failures = []
    guard case .decoded(ahead: true) = source else { return }
    var following = machine
    guard following.ended() == .play, let entry = following.entry else { return }
    next = PreparedFile(entry.path, to: target)
  }
}

extension QueueMachine {
  /// Returns the failure of a whole queue, from that of its last file.
  static func failure(_ last: any CodedError, of queue: FileQueue) -> any CodedError {
    guard queue.entries.count > 1 else { return last }
    return AudioError(
      .unreadable,
      "none of the \(queue.entries.count) files of the queue can be played, the last one: \(last.message)",
      hint: last.hint, facts: [.init("count", .int(queue.entries.count))] + last.facts)
  }
}
