internal import AudioCore
public import EventLoop
internal import Reception
public import StreamCore

/// The play position: moves, rests, and is set within the buffered sound.
extension Stream {
  /// The time of the stream that is heard.
  public var position: StreamTime {
    if let heard = listener.playback?.position { return heard }
    // An end far ahead is no reason to disturb a resting reception.
    if let end = buffer?.rest?.end(at: loop.now), clock.moved(at: loop.now) < end {
      return clock.moved(at: loop.now)
    }
    return clock.time(at: loop.now, end: buffer?.range.end)
  }

  /// Sets the position to the first sound.
  func beginPosition() {
    sound.begin()
    clock.rest(at: file == nil ? buffer?.range.start ?? .zero : .zero)
  }

  /// Lets the position move, unless the listening session is paused.
  func run() {
    if let session = listener.silentSession {
      guard !session.isPaused else { return }
      session.report(.flows)
    }
    if listener.playback == nil, sound.isUsed { playSilently() }
    if listener.playback == nil {
      clock.run(from: loop.now)
      watchSilentEnd()
    }
    listener.meter?.player.run()
    if listener.playback != nil {
      watchReadOut()
      keepReserve()
    }
    followTitles()
  }

  /// Lets the position rest.
  func halt() {
    clock.rest(at: position)
    listener.meter?.player.halt()
    timers.silence?.cancel()
    timers.title?.cancel()
    timers.reserve?.cancel()
    listener.silentSession?.report(.waits)
  }

  /// Drops sound heard by the clock from the buffer: a decoder, if there is one, has read it.
  func passHeard() {
    if listener.playback == nil { buffer?.pass(to: clock.start) }
  }

  /// Moves the play position by seconds of sound, backwards if negative, within the buffer; if the server of
  /// a live stream still has earlier sound, as far as it and the size of the buffer allow.
  /// - Returns: the seconds that it moved.
  /// - Throws: `stream.no_seek` without a play position.
  public func move(by seconds: Double) throws(StreamError) -> Double {
    guard machine.hasPosition else { throw StreamError(.noSeek, "nothing plays that could be moved") }
    let (before, wanted) = (position, position + StreamTime(seconds: seconds))
    let new = if file != nil { try moveInFile(to: wanted) } else { moveLive(to: wanted) }
    let moved = (new - before).seconds
    emit(.position(by: moved))
    return moved
  }

  /// Moves in the buffered sound, or before it, as far as the server has earlier sound: the player waits
  /// then.
  /// - Returns: the new position.
  private func moveLive(to time: StreamTime) -> StreamTime {
    guard let target = buffer?.awaitEarlier(from: time) else {
      return move(to: time)
    }
    halt()
    clock.rest(at: target)
    listener.playback?.moved()
    perform(machine.leftBuffer())
    receiver?.receiveEarlier(from: target)
    return target
  }

  /// Resumes a player that waits for sound from `time` on before the buffer: it has come, or all of it that
  /// the server has.
  func earlierCame(
    from time: StreamTime, _ new: [(title: ICYMetadata, time: StreamTime)], _ error: StreamError?
  ) {
    guard let buffer else { return }
    if feed == nil { for (title, time) in new { titles.insert(StreamTitle(title), from: time) } }
    guard buffer.awaited == time else { return }
    if let error { emit(.failed(error)) }
    _ = move(to: max(time, buffer.range.start))
  }

  /// Moves in the buffered sound. A player that has waited for sound plays on if there is enough.
  /// - Returns: the new position.
  func move(to time: StreamTime) -> StreamTime {
    guard let buffer else { return time }
    let wasAway = buffer.awaited != nil
    let now = buffer.move(to: time)
    clock.move(to: now, at: loop.now)
    listener.playback?.moved()
    watchSilentEnd()
    followTitles()
    keepReserve()
    if buffer.resume() || wasAway { perform(machine.returned(isFilling: isFilling)) }
    return now
  }

  /// The sound that is buffered before it plays; nil for the rule of `PlayerWait`.
  var wait: StreamTime? {
    file == nil ? options.bufferWait.map { StreamTime($0) } : StreamTime(options.bufferWaitFile)
  }

  /// Moves to the newest sound, except the part that is buffered before it plays, and in HLS the part that is
  /// heard until the next segment comes. A player that is nearer stays.
  /// - Throws: `stream.no_seek`.
  public func goLive() throws(StreamError) {
    guard machine.hasPosition, let buffer else {
      throw StreamError(.noSeek, "nothing plays that could be moved")
    }
    guard file == nil else { throw StreamError(.noSeek, "a file is not live", hint: "use seek or forward") }
    let before = position
    guard buffer.live > before || buffer.awaited != nil else { return }
    // Never before the buffered sound: earlier sound would have to come first.
    emit(.position(by: (move(to: max(buffer.live, buffer.range.start)) - before).seconds))
  }

  /// Returns `true` if `move` reaches that far: backwards if `seconds` is negative.
  public func canMove(by seconds: Double) -> Bool {
    guard machine.hasPosition, let range = buffer?.range else { return false }
    let target = position + StreamTime(seconds: seconds)
    if file != nil { return canGo(to: target) }
    return (buffer?.earliest ?? range.start) <= target && target <= range.end
  }

  /// The rate in kbit/s: that of the station, else the average of its frames; nil during the first seconds.
  public var bitRate: Int? { station.bitRate ?? buffer?.bitRate }

  /// The figures of the buffer for scripts; empty without a buffer.
  public var figures: StreamFigures {
    buffer?.figures(heardAt: position) ?? StreamFigures(size: bufferBlocks)
  }
}
