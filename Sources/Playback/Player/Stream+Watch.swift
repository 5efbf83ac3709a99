internal import AudioCore
internal import EventLoop
internal import StreamCore

/// The end of the received sound: a player has run dry there, or a file has been heard.
extension Stream {
  /// The sound that counts as heard when a player without a decoder is checked: less than a frame of any
  /// codec.
  private static let silentRest = StreamTime(seconds: 0.02)
  /// The sound ahead of the position that a resting reception guarantees: a player can't run dry in that
  /// rest.
  private static let restLead = StreamTime(seconds: 0.1)
  /// The sound left to a decoding player when it counts as dry: it is silent before later sound is decoded.
  private static let dryRest = StreamTime(seconds: 0.1)

  /// Checks whether a player that reads nothing has heard everything, and again when it should have.
  func watchSilentEnd() {
    timers.silence?.cancel()
    // While the buffer fills, as after a seek, the player waits already.
    guard listener.playback == nil, clock.since != nil, let buffer, !buffer.isFilling else { return }
    if let rest = buffer.rest, rest.until > loop.now,
      clock.moved(at: loop.now) + Self.restLead < rest.end(at: loop.now)
    {
      return watchSilentEnd(in: loop.now.duration(to: rest.until))
    }
    if buffer.heldBackUntil != nil { buffer.pass(to: position) }
    let left = (buffer.range.end - position).seconds
    guard left <= Self.silentRest.seconds else {
      // Sound that is held back is needed before the end.
      let next = buffer.heldBackUntil.map { max(0.05, left - $0.seconds + 0.05) } ?? left
      return watchSilentEnd(in: Duration(inSeconds: min(left, next)))
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
    timers.silence = loop.after(time, keepsAlive: loop.isVirtual) { [weak self] in self?.watchSilentEnd() }
  }

  /// Checks whether all sound that was read has been heard. A decoder reads ahead of the position: its player
  /// has run dry if no frame has come by the time that the last is heard.
  /// - Parameter before: the position at the last check; if it has not moved since, it is at the end.
  func watchReadOut(before: StreamTime? = nil) {
    timers.readOut?.cancel()
    guard let buffer, machine.isPlaying, !machine.isSuspended else { return }
    if buffer.isFollowed, buffer.isComplete { return awaitEnd() }
    guard buffer.isReadOut else { return }
    let position = position
    let left = buffer.range.end - position
    guard left > Self.dryRest, position != before else {
      if buffer.runDry() { ranDry() }
      return
    }
    let time = max(.milliseconds(100), Duration(inSeconds: (left - Self.dryRest).seconds))
    timers.readOut = loop.after(time, keepsAlive: false) { [weak self] in
      self?.watchReadOut(before: position)
    }
  }

  /// Waits until a file that was read to its end has been heard, and then plays the next file of its list.
  private func awaitEnd(heardBefore: StreamTime? = nil) {
    timers.end?.cancel()
    guard machine.isPlaying, !machine.isSuspended, let buffer, buffer.isFollowed, buffer.isComplete else {
      return
    }
    let (position, end) = (position, buffer.range.end)
    // A player may end slightly before the file's own length, and its position is then an estimate that
    // varies.
    if end <= position + StreamTime(seconds: 0.02) || heardBefore.map({ position <= $0 }) == true {
      return finish()
    }
    let left = max(0.05, (end - position).seconds)
    timers.end = loop.after(Duration(inSeconds: left), keepsAlive: false) { [weak self] in
      self?.awaitEnd(heardBefore: position)
    }
  }

  func ranDry() { perform(machine.ranDry()) }
}
