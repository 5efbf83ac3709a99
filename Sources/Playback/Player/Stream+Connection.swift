internal import AudioCore
internal import EventLoop
internal import HTTP
internal import Reception
internal import StreamCore

/// The reception of a stream.
extension Stream {
  /// Begins to receive.
  /// - Parameters:
  ///   - plays: `true` to play the received sound.
  ///   - recordings: the recordings of the sound from its first frame on.
  /// - Throws: the error with which no receiver can be created; nothing is received then.
  func connect(plays: Bool, into recordings: [any StreamRecording] = []) throws {
    let this = LoopReference(self)
    let (loop, tee) = (loop, FrameTee())
    let (name, nickname) = (stationName, nickname)
    let report: @Sendable (ReceiverEvent) -> Void = { event in
      // Files are named by it, whatever the loop does meanwhile.
      if case .answered(let station) = event {
        (name.value, name.genre) = (station.name ?? nickname, station.genre)
      }
      // Events of an older reception are dropped.
      loop.post { if this.object?.tee === tee { this.object?.receive(event) } }
    }
    machine.reset(StreamContent(origin: target.origin))
    (stationName.value, stationName.genre) = (nil, nil)
    let buffer = plays ? makeBuffer() : nil
    tee.play(buffer)
    let receiver = try makeReceiver(into: tee, buffer, report: report)
    connection = Connection(
      receiver: receiver, tee: tee, hold: loop.isVirtual ? nil : loop.hold("a stream is received"))
    machine.connect(plays: plays)
    if let buffer { play(buffer) }
    // The network thread may deliver a whole burst before `start` returns.
    tee.acceptTitles(feed == nil)
    for recording in recordings { tee.record(recording.queue, back: .zero) }
    receiver.start()
    beginFeed()
  }

  private func makeReceiver(
    into tee: FrameTee, _ buffer: StreamBuffer?, report: @escaping @Sendable (ReceiverEvent) -> Void
  ) throws -> any StreamReceiver {
    switch target.origin {
    case .file(let path):
      guard let buffer else { throw StreamError.isFileHere(shownURL) }
      return LocalReceiver(path: path, options: receiverOptions, loop: loop, buffer: buffer, report: report)
    case .server(let address):
      return try source.makeReceiver(
        of: machine.files?.current ?? ListedAddress(address: address, depth: 0), receiverOptions, on: loop,
        into: tee, report: report)
    }
  }

  /// Creates a buffer to play.
  private func makeBuffer() -> StreamBuffer {
    let buffer = StreamBuffer(blocks: bufferBlocks, wait: wait)
    buffer.isFollowed = machine.files?.rest.isEmpty == false
    buffer.keepUnheard(machine.isSuspended, forBurst: true)
    let (this, reference) = (LoopReference(self), LoopReference(buffer))
    buffer.onReadOut { [loop] in
      loop.post {
        guard let stream = this.object, stream.buffer === reference.object else { return }
        stream.watchReadOut()
      }
    }
    return buffer
  }

  /// The size of the buffer in blocks. For a file of this machine that no session plays, it only holds the
  /// sound decoded ahead: all other sound of the file can be read again.
  var bufferBlocks: Int {
    if case .session = listener { return options.bufferBlocks }
    return isLocalFile ? min(options.bufferBlocks, LocalReceiver.bufferBlocks) : options.bufferBlocks
  }

  private func play(_ buffer: StreamBuffer) {
    self.buffer = buffer
    titles = TitleQueue()
    listener.playback?.resume(with: buffer)
  }

  /// Plays a stream that is already received for recordings.
  func playReceived() {
    guard let tee else { return }
    let buffer = makeBuffer()
    tee.play(buffer)
    play(buffer)
    // No player has needed frequent reads until now.
    receiver?.change(receiverOptions)
    if let title = tee.title { titles.add(title, from: .zero) }
  }

  private var receiverOptions: ReceiverOptions {
    var settings = ReceiverOptions()
    settings.userAgent = options.userAgent
    settings.credentials = options.credentials
    if let entry = machine.files?.current, let own = target.address {
      settings.credentials = settings.credentials(for: entry.address, from: own)
    }
    settings.certificateFile = options.certificateFile
    settings.dataTimeout = options.dataTimeout
    settings.encoding = options.metadataEncoding
    settings.maxBitRate = options.maxBitRate
    settings.catchUp = options.catchUp
    settings.clock = options.clock
    settings.isRaw = options.kind == .raw
    settings.isFile = options.isFile
    settings.fileWait = StreamTime(options.bufferWaitFile)
    // A second ahead at least, so that not every frame is requested.
    settings.fileLead = max(StreamTime(seconds: 1), settings.fileWait + StreamTime(options.throttleBypass))
    settings.playlist = options.kind == .pls ? .pls : options.kind == .m3u ? .m3u : nil
    settings.wakeTime = min(.milliseconds(250), options.bufferWait.map { $0 / 10 } ?? .milliseconds(250))
    return settings
  }

  func optionsChanged(from old: StreamOptions) {
    guard let receiver else { return }
    if options.pauseTimeout != old.pauseTimeout {
      setPauseTimer(runs: machine.phase == .paused && !machine.isSuspended)
    }
    receiver.change(receiverOptions)
    let isWaitChanged = options.bufferWait != old.bufferWait || options.bufferWaitFile != old.bufferWaitFile
    if isWaitChanged, buffer?.want(wait) == true { perform(machine.buffered(isFilling: isFilling)) }
    if options.catchUp != old.catchUp { keepReserve() }
  }

  /// Ends the sound that is played; its listener waits for more.
  func leavePlayer() {
    tee?.play(nil)
    buffer = nil
    timers.cancel()
    clock.rest(at: clock.start)
    listener = listener.metered(by: nil)
    listener.silentSession?.report(.waits)
    sound.end()
  }

  func disconnect() {
    connection?.receiver.stop()
    connection = nil
    feed?.end()
  }

  // MARK: Events

  private func receive(_ event: ReceiverEvent) {
    switch event {
    case .connecting: perform(machine.connecting())
    case .answered(let station): perform(machine.answered(station))
    case .format(let format): perform(machine.received(format, isRecorded: isRecorded))
    case .metadata(let metadata, let time):
      if feed == nil { receive(StreamTitle(metadata), from: time) }
    case .failed(let error): perform(machine.failed(error))
    case .buffered: perform(machine.buffered(isFilling: isFilling))
    case .reconnected(let gap, let stitched, let overlap):
      perform(
        machine.reconnected(
          gap: gap, stitched: stitched, overlap: overlap, isFilling: buffer?.isFilling == true))
      if !stitched { keepReserve() }
    case .full: perform(machine.full(isRecorded: tee?.isRecorded == true))
    case .file(let facts): machine.received(facts)
    case .programme(let rest): perform(machine.received(rest))
    case .copying: perform(machine.copying())
    case .complete: perform(machine.complete())
    case .heldBack: watchSilentEnd()
    case .earlier(let time, let titles, let error): earlierCame(from: time, titles, error)
    case .gaveUp(let error): perform(machine.gaveUp(error))
    }
  }

  /// Completes a live stream that has turned out to be a file without a length.
  func completeSound() {
    if buffer?.complete() == true { perform(machine.buffered(isFilling: isFilling)) }
    // A player that had run dry has heard everything.
    if listener.playback == nil { watchSilentEnd() }
  }
}
