internal import AudioCore
internal import EventLoop
internal import HTTP

/// The reception of a stream, and its player.
extension Stream {
  /// Begins to receive.
  /// - Parameter plays: whether to play what comes.
  func connect(plays: Bool) throws {
    generation += 1
    let number = generation
    let this = LoopReference(self)
    let loop = loop
    let (name, nickname) = (stationName, nickname)
    let report: @Sendable (ReceiverEvent) -> Void = { event in
      // Files are named with it, whatever the loop does meanwhile.
      if case .answered(let station) = event {
        (name.value, name.genre) = (station.name ?? nickname, station.genre)
      }
      loop.post { if this.object?.generation == number { this.object?.take(event) } }
    }
    let outlet = FrameOutlet()
    let before = status
    self.outlet = outlet
    (file, format, station, isCopied) = (nil, nil, StationInfo(), false)
    (stationName.value, stationName.genre) = (nil, nil)
    if plays { play(from: outlet) }
    let receiver: any StreamReceiver
    do {
      receiver = try makeReceiver(into: outlet, report: report)
    } catch {
      (self.outlet, buffer, status) = (nil, nil, before)
      throw error
    }
    hold = loop.isVirtual ? nil : loop.hold("a stream is received")
    self.receiver = receiver
    receiver.start()
    beginFeed()
  }

  func makeReceiver(
    into outlet: FrameOutlet, report: @escaping @Sendable (ReceiverEvent) -> Void
  ) throws -> any StreamReceiver {
    if isLocal, let buffer {
      return LocalReceiver(
        path: address, options: receptionOptions, loop: loop, buffer: buffer, report: report)
    }
    return try source.makeReceiver(
      of: programme?.current ?? ListedURL(url: address, depth: 0), receptionOptions, on: loop, into: outlet,
      report: report)
  }

  /// Makes the buffer that is played.
  func play(from outlet: FrameOutlet) {
    let buffer = StreamBuffer(blocks: options.bufferBlocks, wait: wait)
    buffer.isFollowed = programme?.rest.isEmpty == false
    buffer.keepUnheard(isSuspended, forBurst: true)
    let (this, reference) = (LoopReference(self), LoopReference(buffer))
    buffer.onReadOut { [loop] in
      loop.post {
        guard let stream = this.object, stream.buffer === reference.object else { return }
        stream.watchReadOut()
      }
    }
    outlet.play(buffer)
    self.buffer = buffer
    status = .connecting
    (isFull, isPaused, hasPosition) = (false, false, false)
    (titles, title) = ([], nil)
    playback?.goOn(with: buffer)
  }

  /// Plays what is received for recordings already.
  func playWhatComes() {
    guard let outlet else { return }
    play(from: outlet)
    // Nobody has waited for it until now.
    receiver?.change(receptionOptions)
    if let title = outlet.title { titles = [(.zero, title)] }
    guard format != nil else { return }
    status = .buffering
    onEvent(.buffering)
  }

  var receptionOptions: ReceiverOptions {
    var settings = ReceiverOptions()
    settings.userAgent = options.userAgent
    settings.credentials = options.credentials
    if let entry = programme?.current {
      settings.credentials = settings.credentials(for: entry.url, from: address)
    }
    settings.certificateFile = options.certificateFile
    settings.dataTimeout = options.dataTimeout
    settings.encoding = options.metadataEncoding
    settings.clock = options.clock
    settings.isRaw = options.kind == .raw
    settings.isFile = options.isFile
    settings.fileWait = StreamTime(options.bufferWaitFile)
    // What is a second ahead at least need not be asked for at every frame.
    settings.fileLead = max(StreamTime(seconds: 1), settings.fileWait + StreamTime(options.throttleBypass))
    settings.playlist = options.kind == .pls ? .pls : options.kind == .m3u ? .m3u : nil
    settings.wakeTime = min(.milliseconds(250), options.bufferWait.map { $0 / 10 } ?? .milliseconds(250))
    return settings
  }

  func optionsChanged(from old: StreamOptions) {
    guard receiver != nil else { return }
    if options.pauseTimeout != old.pauseTimeout { armPauseTimer() }
    receiver?.change(receptionOptions)
    let isWaitChanged = options.bufferWait != old.bufferWait || options.bufferWaitFile != old.bufferWaitFile
    if isWaitChanged, buffer?.want(wait) == true { begin() }
  }

  /// Ends playing, and receiving unless it is recorded.
  func close() {
    buffer?.complete()
    leavePlayer()
    (playback, silentSession, programme) = (nil, nil, nil)
    isSuspended = false
    if recordings.isEmpty { disconnect() }
  }

  /// Ends what is played; who plays its sound still waits for more.
  func leavePlayer() {
    outlet?.play(nil)
    buffer = nil
    pauseTimer?.cancel()
    titleTimer?.cancel()
    silentTimer?.cancel()
    endTimer?.cancel()
    readOutTimer?.cancel()
    silentSince = nil
    hasPosition = false
    isPaused = false
    if silentPlayer != nil { playback = nil }
    silentPlayer = nil
    silentSession?.tell(.waits)
    sound.end()
  }

  /// Ends what is received.
  func disconnect() {
    generation += 1
    isReceiving = false
    receiver?.stop()
    receiver = nil
    outlet = nil
    feed?.end()
    hold = nil
  }
}
