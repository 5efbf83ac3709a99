internal import AudioCore
internal import Codecs
internal import EventLoop
internal import Glibc

/// Fills the buffer of a stream from a file of this machine, whatever `AudioFile` reads, as PCM.
///
/// Unchecked: confined to the loop that it is made with; decodes there, a piece a turn, no more than is wanted.
final class LocalReception: StreamReceiver, @unchecked Sendable {
  private let path: String
  private let options: Reception.Options
  private let loop: EventLoop
  private let buffer: StreamBuffer
  private let tell: @Sendable (ReceptionEvent) -> Void
  private var decoder: (any Decoder)?
  private var format: StreamFormat?
  private var frameCount: Int?
  /// Bytes of the file.
  private var size = 0
  /// Frames that were decoded or gone over.
  private var position = 0
  private var leap = 0
  private var waiting: (frame: StreamFrame, bytes: [UInt8])?
  private var isHeldBack = false
  private var isStopped = false
  /// Numbers the turns in which it decodes, so that there is one at a time.
  private var turn = 0

  init(
    path: String, options: Reception.Options, loop: EventLoop, buffer: StreamBuffer,
    tell: @escaping @Sendable (ReceptionEvent) -> Void
  ) {
    (self.path, self.options, self.loop, self.buffer, self.tell) = (path, options, loop, buffer, tell)
  }

  func start() { loop.post { self.open() } }
  func stop() {
    loop.post {
      self.isStopped = true
      self.decoder = nil
    }
  }

  func seek(to time: StreamTime, leap: Int) {
    loop.post {
      guard !self.isStopped, let decoder = self.decoder else { return }
      (self.leap, self.waiting, self.isHeldBack) = (leap, nil, false)
      let frame = Int((time.seconds * Double(decoder.format.sampleRate)).rounded())
      self.position = max(0, min(frame, self.frameCount ?? frame))
      do {
        try decoder.seek(toFrame: self.position)
        self.begin(decoder.format)
      } catch { self.fail(error) }
    }
  }

  private func open() {
    guard !isStopped else { return }
    tell(.connecting)
    do {
      let decoder = try AudioFile.open(path)
      self.decoder = decoder
      frameCount = decoder.frameCount
      var status = stat()
      if stat(path, &status) == 0 { size = Int(status.st_size) }
      let duration = frameCount.map { Double($0) / Double(decoder.format.sampleRate) }
      var station = StationInfo()
      station.url = path
      // That of the file: what it is decoded to says nothing.
      if let duration, duration > 0 { station.bitRate = Int((Double(size) / duration / 125).rounded()) }
      tell(.answered(station))
      tell(.file(FileFacts(canSeek: duration != nil, duration: duration)))
      buffer.holdBack(above: options.fileLead, wanted: options.fileWait) { [weak self] in
        guard let self else { return }
        loop.post { self.goOn() }
      }
      begin(decoder.format)
    } catch { fail(error) }
  }

  private func begin(_ format: AudioFormat) {
    buffer.begin(at: StreamTime(samples: position, sampleRate: format.sampleRate), preroll: 0, leap: leap)
    goOnNextTurn()
  }

  private func goOn() {
    guard isHeldBack else { return }
    isHeldBack = false
    goOnNextTurn()
  }

  private func goOnNextTurn() {
    turn += 1
    let number = turn
    loop.next { [weak self] in
      guard let self, turn == number, !isStopped, !isHeldBack else { return }
      do {
        if try decodePieces() { goOnNextTurn() }
      } catch { fail(error) }
    }
  }

  /// Decodes a tenth of a second or so.
  /// - Returns: whether more is wanted.
  private func decodePieces() throws -> Bool {
    for _ in 0..<16 {
      guard let (frame, bytes) = try waiting ?? nextPiece() else {
        if buffer.complete(leap: leap) { tell(.buffered) }
        return false
      }
      waiting = nil
      let discontinuity: PacketBuffer.Discontinuity? = format != nil && format != frame.format ? .format : nil
      if format != frame.format { tell(.format(told(frame.format))) }
      let arrival = bytes.withUnsafeBytes { buffer.append(frame, $0, discontinuity, leap: leap) }
      if arrival.isTaken { format = frame.format } else { waiting = (frame, bytes) }
      if arrival.isEnough { tell(.buffered) }
      if arrival.isHeldBack {
        isHeldBack = true
        tell(.heldBack)
        return false
      }
    }
    return true
  }

  private func nextPiece() throws -> (StreamFrame, [UInt8])? {
    guard let decoder else { return nil }
    var samples = [Float](repeating: 0, count: 1024)
    let count = try samples.withUnsafeMutableBufferPointer { buffer in
      try decoder.read(into: UnsafeMutableBufferPointer(rebasing: buffer[..<(1024 / channels * channels)]))
    }
    guard count > 0 else {
      if let shortfall = decoder.shortfall { throw shortfall }
      return nil
    }
    let format = StreamFormat(
      codec: .pcm, sampleRate: decoder.format.sampleRate, channels: decoder.format.channels)
    let bytes = samples.prefix(count * format.channels).withUnsafeBytes { [UInt8]($0) }
    // The byte is a share: what decoders read of a file, nobody knows.
    let offset = frameCount.map { $0 > 0 ? Int(Double(size) * Double(position) / Double($0)) : 0 } ?? 0
    position += count
    return (
      StreamFrame(offset: min(offset, size), length: bytes.count, hash: 0, format: format, samples: count),
      bytes
    )
  }

  /// The format with what the file is coded in, where that is known.
  private func told(_ format: StreamFormat) -> StreamFormat {
    let codec: StreamCodec =
      switch decoder {
      case is MP3Decoder: .mp3
      case is ADTSFileDecoder, is MP4FileDecoder: .aac
      default: format.codec
      }
    return StreamFormat(codec: codec, sampleRate: format.sampleRate, channels: format.channels)
  }

  private var channels: Int { max(1, decoder?.format.channels ?? 1) }

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
    isStopped = true
    decoder = nil
    tell(.failed(failure))
    tell(.gaveUp(failure))
  }
}
