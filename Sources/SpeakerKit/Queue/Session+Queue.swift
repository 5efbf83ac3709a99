internal import AudioCore
public import EventLoop

/// Queues of files on a session.
extension Session {
  /// Plays the files of a queue one after the other, without a gap, in place of the current source. Returns when the
  /// first one that can be read plays. Position, length, seek and volume are those of the current file.
  ///
  /// Each file is announced by a `track` event when it is heard. One that can't be read, or not to its end, is reported
  /// by an `error` event, and the next one plays.
  /// - Parameters:
  ///   - seconds: position in the first file, 0...1e9.
  ///   - rooms: as for a file.
  ///   - priority: the session's from now on.
  /// - Throws: as for a file; `audio.unreadable` when no file of the queue can be read.
  public func play(
    _ queue: FileQueue, start seconds: Double = 0, rooms: [Device]? = nil, priority: Int? = nil
  ) async throws {
    loop.assertOnLoop()
    _ = try openHouse()
    try Self.check(start: seconds)
    let machine = QueueMachine(queue)
    guard let entry = machine.entry else { return }
    let passage = QueuePassage(machine, at: seconds, of: self)
    let request = SourceRequest(passage, name: entry.path).starting(at: seconds)
    try await play(request, as: entry.source, rooms: RoomRequest(rooms), priority: priority)
  }

  /// The files of the queue that plays or is paused, in the order in which they play, and the index of the
  /// current one; nil without such a queue. A single file is a queue of one.
  public var queue: (entries: [QueueEntry], index: Int)? {
    if let machine = passage?.machine { return machine.index.map { (machine.entries, $0) } }
    guard let current = machine.current, case .file(let path) = current.request.sound else { return nil }
    return ([QueueEntry(path: path, title: current.source.title)], 0)
  }

  /// Goes to the next file of the queue; after the last one the session stops, unless the queue loops.
  /// - Throws: `speaker.no_queue` when no file plays.
  public func next() throws(SpeakerError) {
    let current = try requireQueue("next")
    guard let passage else {
      return current.request.loops ? reposition(current, toFrame: 0) : stop()
    }
    var machine = passage.machine
    move(current, machine.next(), machine)
  }

  /// Goes to the previous file of the queue; to the beginning of the current one when three seconds of that have been
  /// heard, and at the first one, unless the queue loops.
  /// - Throws: `speaker.no_queue` when no file plays.
  public func previous() throws(SpeakerError) {
    let current = try requireQueue("previous")
    guard let passage else { return reposition(current, toFrame: 0) }
    var machine = passage.machine
    move(current, machine.previous(position: Double(position) / Double(format.sampleRate)), machine)
  }

  private func requireQueue(_ command: String) throws(SpeakerError) -> SessionMachine.Current {
    _ = try openHouse()
    guard let current = machine.current else {
      throw SpeakerError(
        .noQueue, "\(command): nothing plays", hint: "play a list of files or a folder first")
    }
    if case .file = current.request.sound { return current }
    guard passage != nil else {
      throw SpeakerError(
        .noQueue, "\(command): \"\(current.source.title)\" is a stream, not a queue of files")
    }
    return current
  }

  private func move(
    _ current: SessionMachine.Current, _ action: QueueMachine.Action, _ machine: QueueMachine
  ) {
    switch action {
    case .play:
      if let entry = machine.entry { self.machine.renamed(entry.source) }
      reposition(current, toFrame: 0, in: QueuePassage(machine, of: self))
    case .end, .fail: stop()
    }
  }

  /// Seeks in the current file of a queue.
  func seek(_ current: SessionMachine.Current, toFrame frame: Int, in passage: QueuePassage) {
    let seconds = Double(frame) / Double(format.sampleRate)
    let target = QueuePassage(passage.machine, at: seconds, isSeek: true, length: passage.length, of: self)
    reposition(current, toFrame: frame, in: target)
  }

  /// Request for the source at its current position, for a snapshot; nil when stopped.
  var restorable: SourceRequest? {
    guard let current = machine.current else { return nil }
    let rate = Double(format.sampleRate)
    guard let passage else { return current.request.starting(at: Double(heardFrames) / rate) }
    let seconds = Double(position) / rate
    return SourceRequest(QueuePassage(passage.machine, at: seconds, of: self), name: current.request.name)
      .starting(at: seconds)
  }

  /// The passage of a queue that plays, is paused, or is being opened by a command; nil for another source.
  var passage: QueuePassage? { seeking.target?.passage ?? machine.current?.request.passage }

  /// Reports the files that have begun by now, and arms the timer for the next one.
  /// - Parameter isEnd: `true` if the last frame has been heard.
  func applyTurns(isEnd: Bool = false) {
    turnTimer?.cancel()
    turnTimer = nil
    guard seeking.target == nil, let passage = machine.current?.request.passage else { return }
    while let (turn, isHeard) = passage.nextTurn(heard: isEnd ? .max : heardFrames) {
      guard isHeard else { return armTurn(at: turn.frame) }
      apply(turn, of: passage)
      // A listener can't have run, but the end of a clock may have stopped the session.
      guard machine.current?.request.passage === passage else { return }
    }
  }

  private func armTurn(at frame: Int) {
    guard isRunning else { return }
    let (missing, rate) = (Int64(max(frame - heardFrames, 1)), Int64(format.sampleRate))
    // Rounded up: a nanosecond earlier the file has not begun.
    var nanoseconds = FrameTime.nanoseconds(of: missing, at: rate)
    if FrameTime.frames(in: nanoseconds, at: rate) < missing { nanoseconds += 1 }
    turnTimer = loop.after(.nanoseconds(nanoseconds)) { [weak self] in self?.applyTurns() }
  }

  private func apply(_ turn: QueueTurn, of passage: QueuePassage) {
    tellSeconds()
    report(turn.failures)
    guard passage.adopt(turn), let index = turn.machine.index, let entry = turn.machine.entry else { return }
    machine.renamed(entry.source)
    house?.announcePlaying()
    reportedSeconds = position / format.sampleRate
    armSeconds()
    house?.events.emit(
      .track(self, source: entry.source, index: index + 1, count: turn.machine.queue.entries.count))
  }

  /// Emits an `error` event for each file that could not be read.
  func report(_ failures: [any CodedError]) {
    for error in failures {
      house?.events.emit(.error(code: error.code, message: error.message, device: nil, session: self))
    }
  }
}

extension SourceRequest {
  /// The passage of a queue; nil for another source.
  var passage: QueuePassage? {
    guard case .source(let sound) = sound else { return nil }
    return sound as? QueuePassage
  }

  /// Returns a request for the same sound that can be opened once more: a passage of a queue is played once.
  var reopened: SourceRequest {
    passage.map { SourceRequest(QueuePassage(copy: $0), name: name).starting(at: start) } ?? self
  }
}
