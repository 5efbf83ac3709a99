internal import AudioCore
internal import Codecs
package import EventLoop
internal import Glibc
package import StreamCore
internal import Synchronization

/// Receives a file of this machine, in any format that `AudioFile` reads, as PCM.
///
/// Unchecked: confined to a loop, which decodes a piece a turn, no more than needed; under virtual time that
/// of its owner, otherwise one of its own, since a file system may never answer. The watch and the end of
/// that thread belong to the owner's loop.
package final class LocalReceiver: StreamReceiver, @unchecked Sendable {
  /// The most sound decoded ahead of the player: a disk is read without delay.
  private static let lead = StreamTime(seconds: 0.5)
  /// The size of a buffer for that sound, of two channels at 48 kHz; sound that does not fit is not decoded
  /// ahead.
  package static let bufferBlocks = 80
  /// The samples of a piece, which fill a block of the buffer.
  private static let pieceSamples = PacketBuffer.blockSize / MemoryLayout<Float>.size

  private let path: String
  private let options: ReceiverOptions
  private let owner: EventLoop
  private let thread: LoopThread?
  private let calls = FileCalls()
  private var watch: FileWatch?
  /// `true` once the file system has held a call for too long: nothing more is reported.
  private let isSilent = Atomic(false)
  private let loop: EventLoop
  private let buffer: StreamBuffer
  private let reporter: @Sendable (ReceiverEvent) -> Void
  private var phase = Phase.opening
  private var format: StreamFormat?
  /// The codec of the file, which is reported in place of that of the pieces.
  private var codec = Codec.pcm
  private var frameCount: Int?
  /// The size of the file in bytes.
  private var size = 0
  /// The number of decoded or skipped frames.
  private var position = 0
  private var seekGeneration = 0
  private var waiting: (frame: StreamFrame, bytes: [UInt8])?
  /// The number of the current decoding turn, so that there is one at a time.
  private var turn = 0

  /// A state of the reception.
  private enum Phase {
    /// The file is not open yet.
    case opening
    case decoding(any Decoder)
    /// The buffer has no room.
    case heldBack(any Decoder)
    /// Stopped, or failed.
    case over

    var decoder: (any Decoder)? {
      switch self {
      case .decoding(let decoder), .heldBack(let decoder): decoder
      case .opening, .over: nil
      }
    }
  }

  package init(
    path: String, options: ReceiverOptions, loop: EventLoop, buffer: StreamBuffer,
    report: @escaping @Sendable (ReceiverEvent) -> Void
  ) {
    (self.path, self.options, owner, self.buffer, reporter) = (path, options, loop, buffer, report)
    // Without a thread of its own it decodes on the owner's loop.
    thread = loop.isVirtual ? nil : try? LoopThread(name: "a file")
    self.loop = thread?.loop ?? loop
  }

  deinit { thread?.abandon() }

  package func start() {
    if thread != nil {
      owner.post {
        self.watch = FileWatch(self.calls, on: self.owner) { [weak self] in self?.giveUp() }
      }
    }
    loop.post { self.open() }
  }

  package func stop() {
    loop.post { self.phase = .over }
    owner.post { self.leaveThread() }
  }

  private func leaveThread() {
    watch?.cancel()
    watch = nil
    thread?.abandon()
  }

  /// Ends a reception whose file has not answered, on the owner's loop.
  private func giveUp() {
    isSilent.store(true, ordering: .relaxed)
    leaveThread()
    let (cause, hint) = FileDeadline.silence(of: path)
    let failure = StreamError(
      .timeout, "cannot read \(path): \(cause)", hint: hint,
      facts: [.init("path", .string(path)), .init("cause", .string(cause))])
    reporter(.failed(failure))
    reporter(.gaveUp(failure))
  }

  private func report(_ event: ReceiverEvent) {
    if !isSilent.load(ordering: .relaxed) { reporter(event) }
  }

  package func seek(to time: StreamTime, generation: Int) {
    loop.post {
      guard let decoder = self.phase.decoder else { return }
      (self.seekGeneration, self.waiting, self.phase) = (generation, nil, .decoding(decoder))
      let frame = Int((time.seconds * Double(decoder.format.sampleRate)).rounded())
      self.position = max(0, min(frame, self.frameCount ?? frame))
      do {
        try self.calls.call { try decoder.seek(toFrame: self.position) }
        self.begin(decoder.format)
      } catch { self.fail(error) }
    }
  }

  private func open() {
    guard case .opening = phase else { return }
    report(.connecting)
    do {
      let decoder = try calls.call {
        let sound = try AudioFile.openSound(path)
        var status = stat()
        if stat(path, &status) == 0 { size = Int(status.st_size) }
        codec = sound.codec
        return sound.decoder
      }
      phase = .decoding(decoder)
      frameCount = decoder.frameCount
      let duration = frameCount.map { Double($0) / Double(decoder.format.sampleRate) }
      var station = StationInfo()
      station.url = path
      // The rate of the file, not that of the PCM.
      if let duration, duration > 0 { station.bitRate = Int((Double(size) / duration / 125).rounded()) }
      report(.answered(station))
      report(.file(FileFacts(canSeek: duration != nil, duration: duration)))
      buffer.holdBack(above: min(options.fileLead, Self.lead), wanted: min(options.fileWait, Self.lead)) {
        [weak self] in
        guard let self else { return }
        loop.post { self.resume() }
      }
      begin(decoder.format)
    } catch { fail(error) }
  }

  private func begin(_ format: AudioFormat) {
    buffer.begin(
      at: StreamTime(samples: position, sampleRate: format.sampleRate), preroll: 0, generation: seekGeneration
    )
    decodeNextTurn()
  }

  private func resume() {
    guard case .heldBack(let decoder) = phase else { return }
    phase = .decoding(decoder)
    decodeNextTurn()
  }

  private func decodeNextTurn() {
    turn += 1
    let number = turn
    loop.next { [weak self] in
      guard let self, turn == number, case .decoding(let decoder) = phase else { return }
      do {
        if try decodePieces(of: decoder) { decodeNextTurn() }
      } catch { fail(error) }
    }
  }

  /// Decodes about two tenths of a second.
  /// - Returns: `true` if more is needed.
  private func decodePieces(of decoder: any Decoder) throws -> Bool {
    for _ in 0..<16 {
      guard let (frame, bytes) = try waiting ?? nextPiece(of: decoder) else {
        if buffer.complete(generation: seekGeneration) { report(.buffered) }
        return false
      }
      waiting = nil
      let discontinuity: PacketBuffer.Discontinuity? = format != nil && format != frame.format ? .format : nil
      if format != frame.format { report(.format(fileFormat(frame.format))) }
      let arrival = bytes.withUnsafeBytes {
        buffer.append(frame, $0, discontinuity, generation: seekGeneration)
      }
      if arrival.isAccepted { format = frame.format } else { waiting = (frame, bytes) }
      if arrival.isEnough { report(.buffered) }
      if arrival.isHeldBack {
        phase = .heldBack(decoder)
        report(.heldBack)
        return false
      }
    }
    return true
  }

  private func nextPiece(of decoder: any Decoder) throws -> (StreamFrame, [UInt8])? {
    var samples = [Float](repeating: 0, count: Self.pieceSamples)
    let channels = max(1, decoder.format.channels)
    let room = Self.pieceSamples / channels * channels
    let count = try calls.call {
      try samples.withUnsafeMutableBufferPointer { buffer in
        try decoder.read(into: UnsafeMutableBufferPointer(rebasing: buffer[..<room]))
      }
    }
    guard count > 0 else {
      if let shortfall = decoder.shortfall { throw shortfall }
      return nil
    }
    let format = StreamFormat(
      codec: .pcm, sampleRate: decoder.format.sampleRate, channels: decoder.format.channels)
    let bytes = samples.prefix(count * format.channels).withUnsafeBytes { [UInt8]($0) }
    // The offset is a share of the file: decoders do not report the bytes they have read.
    let offset = frameCount.map { $0 > 0 ? Int(Double(size) * Double(position) / Double($0)) : 0 } ?? 0
    position += count
    return (
      StreamFrame(offset: min(offset, size), length: bytes.count, hash: 0, format: format, samples: count),
      bytes
    )
  }

  /// Returns the format of a piece with the codec of the file.
  private func fileFormat(_ format: StreamFormat) -> StreamFormat {
    StreamFormat(codec: codec, sampleRate: format.sampleRate, channels: format.channels)
  }

  private func fail(_ error: any Error) {
    let failure: StreamError
    if let error = error as? AudioError {
      let kind: StreamError.Kind =
        switch error.code {
        case "audio.not_found": .notFound
        case "audio.unsupported": .unsupported
        default: .content
        }
      failure = StreamError(kind, error.message, hint: error.hint, facts: error.facts)
    } else {
      failure = StreamError(.content, "\(path) can't be read: \(error)")
    }
    phase = .over
    report(.failed(failure))
    report(.gaveUp(failure))
  }
}
