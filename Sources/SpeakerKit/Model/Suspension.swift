internal import EventLoop

/// What a suspended session does and leaves: its `state` is what will be restored.
extension Session {
  /// Whether an interruption has all its speakers. `play`, `pause`, `resume` and `stop` then change what it will do
  /// when it has them back; it is silent until then, and its position stands still.
  public var isSuspended: Bool { suspensions > 0 }

  /// Whether frames flow.
  var isRunning: Bool { state == .playing && !isSuspended }

  func suspend() {
    suspensions += 1
    guard suspensions == 1 else { return }
    if state == .playing { driver.pause(id) }
    runningChanged()
    house?.reportPlaying()
  }

  /// - Returns: whether it goes on.
  func unsuspend() -> Bool {
    suspensions -= 1
    guard suspensions == 0 else { return false }
    if state == .playing { driver.resume(id) }
    runningChanged()
    house?.reportPlaying()
    return true
  }

  /// Clocks follow, and fades.
  func runningChanged() {
    armSeconds()
    watchSilence()
    playClock.run(isRunning, at: loop.now)
    fading.wake(.idle)
  }
}
