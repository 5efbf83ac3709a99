internal import AudioCore
internal import EventLoop

extension Stream {
  /// Time of the stream that is heard.
  public var position: StreamTime {
    if let playback, let time = playback.position { return time }
    guard let silentSince else { return silentTime }
    let moved = StreamTime(seconds: Double(silentSince.duration(to: loop.now).nanoseconds) / 1e9)
    return min(silentTime + moved, buffer?.range.end ?? silentTime)
  }

  func goOn() {
    guard silentSession?.stands != true else { return }
    silentSession?.tell(.flows)
    if playback == nil, sound.isUsed { playSilently() }
    if playback == nil {
      silentSince = loop.now
      watchSilentEnd()
    }
    silentPlayer?.goOn()
    if playback != nil { watchReadOut() }
    followTitles()
  }

  func standStill() {
    silentTime = position
    silentPlayer?.standStill()
    silentSince = nil
    silentTimer?.cancel()
    titleTimer?.cancel()
    silentSession?.tell(.waits)
  }

  /// Sound that the silent player counts as heard when it looks for the end: less than a frame of any codec.
  private static let silentRest = StreamTime(seconds: 0.02)

  /// The silent player reads nothing: it looks whether there is still something when it would be through.
  func watchSilentEnd() {
    silentTimer?.cancel()
    // While it fills, as behind a seek, the player waits already.
    guard playback == nil, silentSince != nil, let buffer, !buffer.isFilling else { return }
    if buffer.heldBackUntil != nil { buffer.pass(to: position) }
    let left = (buffer.range.end - position).seconds
    guard left <= Self.silentRest.seconds else {
      // What is held back is wanted before the end.
      let next = buffer.heldBackUntil.map { max(0.05, left - $0.seconds + 0.05) } ?? left
      return watchSilentEnd(in: .nanoseconds(Int64(min(left, next) * 1e9)))
    }
    switch buffer.drain(at: position, rest: Self.silentRest) {
    case .waiting: ranDry()
    case .ended: wasHeard()
    case .ending: watchSilentEnd(in: .milliseconds(20))
    case .more: watchSilentEnd()
    }
  }

  private func watchSilentEnd(in time: Duration) {
    // Under virtual time no hold keeps the loop alive.
    silentTimer = loop.after(time, keepsAlive: loop.isVirtual) { [weak self] in self?.watchSilentEnd() }
  }

  /// Moves the play position by seconds of sound, back when they are negative, as far as the buffer goes.
  /// - Returns: seconds that it moved.
  /// - Throws: `stream.no_seek` when there is no play position.
  public func move(by seconds: Double) throws(StreamError) -> Double {
    guard hasPosition else { throw StreamError(.noSeek, "nothing plays that could be moved") }
    let before = position
    if file != nil {
      return try moveInFile(to: before + StreamTime(seconds: seconds)).seconds - before.seconds
    }
    return (move(to: before + StreamTime(seconds: seconds)) - before).seconds
  }

  /// Moves in what the buffer holds.
  /// - Returns: where it stands then.
  func move(to time: StreamTime) -> StreamTime {
    guard let buffer else { return time }
    let now = buffer.move(to: time)
    silentTime = now
    if silentSince != nil { silentSince = loop.now }
    playback?.moved()
    watchSilentEnd()
    followTitles()
    return now
  }

  /// Sound that is buffered before it plays; nil for the rule of `PlayerWait`.
  var wait: StreamTime? {
    file == nil ? options.bufferWait.map { StreamTime($0) } : StreamTime(options.bufferWaitFile)
  }

  /// Goes to what has come last, but for what is to be there before it plays.
  /// - Throws: `stream.no_seek`.
  public func goLive() throws(StreamError) {
    guard hasPosition, let buffer else { throw StreamError(.noSeek, "nothing plays that could be moved") }
    guard file == nil else { throw StreamError(.noSeek, "a file is not live", hint: "use seek or forward") }
    _ = try move(by: (buffer.range.end - position - buffer.wanted).seconds)
  }

  /// Whether the buffer reaches so far: back when `seconds` is negative.
  public func canMove(by seconds: Double) -> Bool {
    guard hasPosition, let range = buffer?.range else { return false }
    if file != nil { return canGo(to: position + StreamTime(seconds: seconds)) }
    let target = position + StreamTime(seconds: seconds)
    return range.start <= target && target <= range.end
  }

  /// kbit/s: as the station tells, else as its frames are on average; nil before some seconds have come.
  public var bitRate: Int? { station.bitRate ?? buffer?.bitRate }

  /// What scripts read of the buffer; empty while there is none.
  public var figures: StreamFigures {
    buffer?.figures(heardAt: position) ?? StreamFigures(size: options.bufferBlocks)
  }
}

/// What scripts read of a stream's buffer.
public struct StreamFigures: Sendable {
  /// Blocks of 5 KiB.
  public var size: Int
  /// Blocks that hold something.
  public var used = 0
  /// The block that is heard.
  public var playing: Int?
  /// Seconds of sound that have not been heard.
  public var buffered = 0.0
  /// Seconds that it holds when it is full, at the rate of what is there.
  public var capacity = 0.0
  /// Seconds behind what has come last.
  public var timeShift = 0.0
  /// Byte of the received sound that is heard.
  public var byteOffset: Int?
}
