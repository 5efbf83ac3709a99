internal import EventLoop

extension Stream {
  func take(_ event: ReceiverEvent) {
    switch event {
    case .connecting:
      isReceiving = false
      if !isPaused, buffer != nil { status = .connecting }
      onEvent(.connecting)
    case .answered(let station):
      isReceiving = true
      self.station = station
      guard !hasPosition, status == .connecting else { return }
      status = .buffering
      onEvent(.buffering)
    case .format(let format):
      self.format = format
      if let unplayable, status != .stopped, isRecorded { endPlaying(unplayable) }
    case .metadata(let metadata, let time): if feed == nil { take(StreamTitle(metadata), from: time) }
    case .failed(let error):
      isReceiving = false
      onEvent(.failed(error))
    case .buffered: begin()
    case .reconnected(let gap, let stitched, let overlap):
      isReceiving = true
      onEvent(.reconnected(gap: gap, stitched: stitched, overlap: overlap))
      guard hasPosition else { return }
      status = isPaused ? .paused : buffer?.isFilling == true ? .buffering : .playing
      onEvent(isPaused ? .paused : status == .playing ? .started : .buffering)
    case .full:
      (isFull, isReceiving) = (true, false)
      // It may have gone on since, or be recorded.
      if !isPaused && !isSuspended || outlet?.isRecorded == true { receiveAgain() }
    case .file(let facts): file = facts
    case .programme(let rest):
      programme = Programme(current: programme?.current, rest: rest + (programme?.rest ?? []))
      buffer?.isFollowed = true
    case .copying:
      isCopied = true
      if let unplayable, status != .stopped { endPlaying(unplayable) }
    case .complete: receivedAll()
    case .heldBack: watchSilentEnd()
    case .gaveUp(let error):
      if playNextFile() { return }
      let starting = starting
      self.starting = []
      let wasPlaying = status != .stopped
      failRecordings(error)
      close()
      if receiver == nil { takeNext() }
      status = .stopped
      if wasPlaying { onEvent(.stopped) }
      for waiter in starting { waiter.end(.failure(error)) }
    }
  }

  /// Enough has come.
  func begin() {
    // A file may have been moved since it was told.
    guard buffer?.isFilling == false else { return }
    if !hasPosition {
      hasPosition = true
      sound.begin()
      silentTime = file == nil ? buffer?.range.start ?? .zero : .zero
    }
    guard !isPaused else { return }
    // A join may have told it already.
    let isTold = status == .playing
    status = .playing
    goOn()
    // There may be nothing left to play.
    if !isTold, status == .playing { onEvent(.started) }
    endStarting(.success(()))
  }

  /// Why what comes can't be played, though it can be recorded; nil when it can, or while nobody knows.
  var unplayable: StreamError? {
    if isCopied { return .copied(url) }
    guard let format, !format.codec.hasFrames, file == nil, !isLocal else { return nil }
    return .notPlayed(format.codec, url)
  }

  /// What is recorded goes on.
  private func endPlaying(_ error: StreamError) {
    let starting = starting
    self.starting = []
    onEvent(.failed(error))
    stop()
    for waiter in starting { waiter.end(.failure(error)) }
  }

  /// Tells those who wait for it to play.
  func endStarting(_ result: Result<Void, any Error>) {
    let starting = starting
    self.starting = []
    for waiter in starting { waiter.end(result) }
  }

  func ranDry() {
    guard hasPosition, !isPaused else { return }
    standStill()
    receiver?.playerIsDry()
    onEvent(.queueExhausted)
    guard status == .playing else { return }
    status = .buffering
    onEvent(.buffering)
  }

  /// Sound that a player has left when it counts as dry: it is silent before what comes then is decoded.
  private static let dryRest = StreamTime(seconds: 0.1)

  /// A player reads ahead of what is heard: it has run dry when nothing has come by the time that the last is heard.
  /// - Parameter before: the position of the last look; one that has not moved since then is that of the end.
  func watchReadOut(before: StreamTime? = nil) {
    readOutTimer?.cancel()
    guard let buffer, hasPosition, !isPaused, !isSuspended else { return }
    if buffer.isFollowed, buffer.isComplete { return awaitEnd() }
    guard buffer.isReadOut else { return }
    let position = position
    let left = buffer.range.end - position
    guard left > Self.dryRest, position != before else {
      if buffer.runDry() { ranDry() }
      return
    }
    let time = max(.milliseconds(100), Duration.nanoseconds(Int64((left - Self.dryRest).seconds * 1e9)))
    readOutTimer = loop.after(time, keepsAlive: false) { [weak self] in
      self?.watchReadOut(before: position)
    }
  }
}
