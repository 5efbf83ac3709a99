internal import EventLoop

/// The suspension of a session: its `state` is the one to be restored.
extension Session {
  /// `true` if an interruption has all its speakers. `play`, `pause`, `resume` and `stop` then change the
  /// state in which it continues once it has them back; until then it is silent, and its position does not
  /// move.
  public var isSuspended: Bool { suspensions > 0 }

  /// `true` if frames flow.
  var isRunning: Bool { state == .playing && !isSuspended }

  func suspend() {
    suspensions += 1
    guard suspensions == 1 else { return }
    if state == .playing, let stream { driver.pause(stream) }
    runningChanged()
    house?.reportPlaying()
  }

  /// Ends one suspension.
  /// - Returns: `true` if it was the last one, and the session continues.
  func unsuspend() -> Bool {
    suspensions -= 1
    guard suspensions == 0 else { return false }
    if state == .playing, let stream { driver.resume(stream) }
    runningChanged()
    house?.reportPlaying()
    return true
  }

  /// Updates clocks, timers and fades after a change of `isRunning`.
  func runningChanged() {
    armSeconds(hasResumed: isRunning)
    applyTurns()
    watchSilence()
    playClock.run(isRunning, at: loop.now)
    watchGain()
    fading.settle(.success(()))
  }
}
