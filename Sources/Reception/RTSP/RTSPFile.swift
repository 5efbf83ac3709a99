internal import Codecs
internal import EventLoop
internal import HTTP
internal import RTSP
internal import StreamCore

/// The progress in a presentation that has an end.
struct RTSPFile {
  /// The range of the whole presentation.
  let range: SessionDescription.Range
  /// The length in seconds.
  let duration: Double
  /// `true` if a player alone receives it, and the buffer holds frames back.
  let isPlayed: Bool
  var generation = 0
  /// The time of the next frame that is wanted.
  var position = StreamTime.zero
  /// The time of the next frame that comes.
  var incoming = StreamTime.zero
  /// The frames that have come while the buffer has no room.
  var waiting: [(frame: StreamFrame, bytes: [UInt8])] = []
  private var waitingBytes = 0
  var intake = Intake.open
  /// `true` if the next answer to a request to play continues where the sound has stopped.
  var continues = false
  /// The moment at which the file counts as complete, as no sound follows; nil before its end.
  var end: Instant?

  /// The acceptance of frames.
  enum Intake {
    case open
    /// The buffer has no room, and the server is to rest.
    case heldBack
    /// The buffer has no room, and the connection has ended.
    case lost(StreamError)
    /// Everything has come.
    case complete
  }

  /// `true` while the buffer has no room.
  var isHeldBack: Bool {
    switch intake {
    case .heldBack, .lost: true
    case .open, .complete: false
    }
  }
  /// `true` once everything has come.
  var isComplete: Bool { if case .complete = intake { true } else { false } }

  /// The distance from the stated end within which a connection that ends, or is silent, has sent everything.
  static let tolerance = 0.5
  /// The silence that ends a file there.
  static let silence = Duration.milliseconds(1500)
  /// The limit in bytes of waiting frames; beyond it the server has to wait.
  private static let waitingLimit = 1 << 20

  init(_ range: SessionDescription.Range, until end: Double, isPlayed: Bool) {
    (self.range, duration, self.isPlayed) = (range, end - range.start, isPlayed)
  }

  /// `true` if the server sends on while there is no room.
  var isOverfull: Bool { waitingBytes > Self.waitingLimit }

  /// `true` if everything up to the stated end has come.
  var isAtEnd: Bool { incoming.seconds >= duration - Self.tolerance }

  mutating func keep(_ frame: StreamFrame, _ bytes: [UInt8]) {
    waiting.append((frame, bytes))
    waitingBytes += bytes.count
  }

  /// Removes the frames that wait.
  mutating func takeWaiting() -> [(frame: StreamFrame, bytes: [UInt8])] {
    defer { (waiting, waitingBytes) = ([], 0) }
    return waiting
  }

  /// Begins anew at a time; nothing that has come before is wanted.
  mutating func move(to time: StreamTime, generation: Int) {
    self.generation = generation
    (position, incoming) = (time, time)
    (waiting, waitingBytes) = ([], 0)
    (intake, continues, end) = (.open, false, nil)
  }

  /// Passes sound that is missing.
  mutating func skip(_ missing: StreamTime) {
    incoming = incoming + missing
    position = position + missing
  }

  /// Keeps a failure for the time when there is room.
  /// - Returns: `false` if there is room.
  mutating func hold(_ error: StreamError) -> Bool {
    guard isHeldBack else { return false }
    intake = .lost(error)
    return true
  }
}

/// A presentation that has an end, and is received like a file.
extension RTSPReceiver {
  var isHeldBack: Bool { file.map { $0.isHeldBack || $0.isComplete } ?? false }
  /// `true` if everything of a file has come.
  var isAtEnd: Bool { file?.isAtEnd == true }

  /// Decides by the stated range whether the presentation is a file.
  func adopt(_ range: SessionDescription.Range?) {
    guard file == nil, !driver.machine.hasSounded, options.isFile != false, let range, let end = range.end,
      end > range.start
    else { return }
    let isPlayed = tee.buffer != nil && !tee.isRecorded
    let new = RTSPFile(range, until: end, isPlayed: isPlayed)
    file = new
    if isPlayed, let buffer = tee.buffer {
      buffer.holdBack(above: options.fileLead, wanted: options.fileWait) { [weak self] in
        guard let self else { return }
        loop.post { self.resume() }
      }
    }
    report(.file(FileFacts(canSeek: isPlayed, duration: new.duration)))
  }

  /// The sound to be buffered before a file plays, at most.
  private static let pacedWait = StreamTime(seconds: 0.7)

  /// The sound that follows begins at a time.
  func beginFile(_ played: RTSPClient.PlayedRange) {
    guard let file else { return }
    let start = played.start.map { StreamTime(seconds: max(0, $0 - file.range.start)) } ?? file.position
    self.file?.incoming = start
    // After a loss the sound that has come already is left out.
    if lostAt == nil { self.file?.position = start }
    beginReception()
    if file.isPlayed {
      tee.buffer?.begin(at: max(start, .zero), preroll: 0, generation: file.generation)
      // The server sends at the pace of playback: what a player waits for, it waits for each time.
      if tee.buffer?.want(min(options.fileWait, Self.pacedWait)) == true { report(.buffered) }
    }
  }

  /// Delivers a frame of a file, unless it has come before.
  func deliverFile(_ frame: StreamFrame, _ bytes: [UInt8], into outlets: inout FrameTee.Outlets) {
    guard let file else { return }
    let end = file.incoming + frame.duration
    self.file?.incoming = end
    self.file?.end = nil
    // A server that is asked for a time after a loss may begin earlier.
    let half = StreamTime(ticks: frame.duration.ticks / 2)
    if !frame.isHeaders, lostAt != nil, end - half <= file.position { return }
    lostAt = nil
    guard !file.isHeldBack else { return self.file?.keep(frame, bytes) ?? () }
    append(frame, bytes, into: &outlets)
  }

  private func append(_ frame: StreamFrame, _ bytes: [UInt8], into outlets: inout FrameTee.Outlets) {
    guard let file else { return }
    let arrival = bytes.withUnsafeBytes {
      outlet.append(frame, $0, generation: file.isPlayed ? file.generation : nil, into: &outlets)
    }
    if arrival.isAccepted {
      self.file?.position = file.position + frame.duration
    } else {
      if !file.isPlayed {
        report(.full)
        return end()
      }
      self.file?.keep(frame, bytes)
    }
    if arrival.isHeldBack { holdBack() }
  }

  private func holdBack() {
    file?.intake = .heldBack
    report(.heldBack)
    // In a turn of its own: the frames of a packet are being delivered.
    loop.next { [self] in
      guard isHeldBack, let actions = session?.client.rest(at: now) else { return }
      perform(actions)
      driver.arm()
    }
  }

  /// The buffer has room.
  func resume() {
    guard !isStopped, let held = file, held.isHeldBack else { return }
    file?.intake = .open
    let waiting = file?.takeWaiting() ?? []
    tee.receive { outlets in
      for (frame, bytes) in waiting {
        if file?.isHeldBack == true { file?.keep(frame, bytes) } else { append(frame, bytes, into: &outlets) }
      }
    }
    if isStopped { return }
    if case .lost(let failure) = held.intake {
      if file?.hold(failure) == true { return }
      if isAtEnd { return finish() }
      return driver.perform(driver.machine.ended(failure, at: now))
    }
    if file?.isHeldBack == true { return }
    if isAtEnd { watchEnd() }
    // The silence of the server was wanted.
    driver.perform(driver.machine.received(.zero, at: now))
    session?.connection.isReading = true
    rested()
  }

  /// The server rests: it continues if there is room by now.
  func rested() {
    guard let file, !file.isHeldBack, case .resting? = session?.client.phase else { return }
    self.file?.continues = true
    if let actions = session?.client.resume(at: now) { perform(actions) }
    driver.arm()
  }

  /// Moves to a time of the file.
  func move(to time: StreamTime, generation: Int) {
    guard !isStopped, let old = file else { return }
    file?.move(to: time, generation: generation)
    (lostAt, outlet.discontinuity) = (nil, nil)
    guard let actions = session?.client.play(from: old.range.start + time.seconds, at: now) else {
      // The connection has ended meanwhile.
      switch old.intake {
      case .complete, .lost: reconnect()
      case .open, .heldBack: break
      }
      return
    }
    session?.connection.isReading = true
    driver.perform(driver.machine.received(.zero, at: now))
    perform(actions)
    driver.arm()
  }

  private func reconnect() {
    driver.start(
      with: ConnectionMachine(
        driver.address, dataTimeout: options.dataTimeout, isPaced: false, hasSounded: true))
  }

  /// Waits for sound after the stated end of a file, for a moment.
  func watchEnd() {
    guard let file, !file.isHeldBack, !file.isComplete else { return }
    self.file?.end = now.advanced(by: RTSPFile.silence)
    driver.arm()
  }

  /// Completes a file.
  func finish() {
    guard let file, !file.isComplete else { return }
    receiveLast()
    if isStopped { return }
    let end = StreamError.ended(shownURL)
    disconnected()
    // The rest waits for room.
    if self.file?.hold(end) == true { return driver.arm() }
    self.file?.intake = .complete
    self.file?.end = nil
    driver.machine.stop()
    driver.arm()
    guard file.isPlayed else {
      report(.complete)
      return self.end()
    }
    if tee.buffer?.complete(generation: file.generation) == true { report(.buffered) }
    report(.heldBack)
  }
}
