internal import EventLoop

extension Stream {
  func take(_ event: ReceptionEvent) {
    switch event {
    case .connecting:
      if !isPaused, buffer != nil { status = .connecting }
      onEvent(.connecting)
    case .answered(let station):
      self.station = station
      guard !hasPosition, status == .connecting else { return }
      status = .buffering
      onEvent(.buffering)
    case .format(let format):
      self.format = format
      if let unplayable, status != .stopped, isRecorded { endPlaying(unplayable) }
    case .metadata(let metadata, let time): if feed == nil { take(StreamTitle(metadata), from: time) }
    case .failed(let error): onEvent(.failed(error))
    case .buffered: begin()
    case .reconnected(let gap, let stitched, let overlap):
      onEvent(.reconnected(gap: gap, stitched: stitched, overlap: overlap))
      guard hasPosition else { return }
      status = isPaused ? .paused : buffer?.isFilling == true ? .buffering : .playing
      onEvent(isPaused ? .paused : status == .playing ? .started : .buffering)
    case .full:
      isFull = true
      // It may have gone on since, or be recorded.
      if !isPaused && !isSuspended || outlet?.isRecorded == true { receiveAgain() }
    case .file(let facts): file = facts
    case .heldBack: watchSilentEnd()
    case .gaveUp(let error):
      let starting = starting
      self.starting = []
      let wasPlaying = status != .stopped
      failRecordings(error)
      close()
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
    // A join that comes too early is heard for a moment, but recorded for ever.
    if recordings.isEmpty { receiver?.playerIsDry() }
    onEvent(.queueExhausted)
    guard status == .playing else { return }
    status = .buffering
    onEvent(.buffering)
  }
}
