internal import Glibc

extension EventLoop {
  /// The loop's own time: since its creation, monotonic. The loop's thread.
  public var now: Instant { Instant(nanoseconds: isVirtual ? virtualNow : monotonicNow) }

  /// The civil time. Under virtual time the start plus the elapsed virtual time. The loop's thread.
  public var wallNow: WallTime {
    isVirtual
      ? WallTime(nanoseconds: virtualStart.nanoseconds.addingHeld(virtualNow))
      : WallTime(nanoseconds: nanoseconds(of: CLOCK_REALTIME))
  }

  var monotonicNow: Int64 { nanoseconds(of: CLOCK_MONOTONIC) - origin }

  /// Calls `body` after `delay`, once; at the next opportunity if `delay` is not positive. The loop's thread.
  /// - Parameter keepsAlive: `true` if `run` waits for the timer when nothing else is left.
  @discardableResult
  public func after(
    _ delay: Duration, keepsAlive: Bool = true, _ body: @escaping () -> Void
  ) -> LoopTimer {
    assertOnLoop()
    let due = now.advanced(by: max(delay, .zero))
    return timers.add(due: due.nanoseconds, keepsAlive: keepsAlive, body)
  }

  /// Calls `body` at `instant`, once; at the next opportunity if it has passed. Timers fire by time, and
  /// those for the same moment in the order of their creation. The loop's thread.
  @discardableResult
  public func at(_ instant: Instant, _ body: @escaping () -> Void) -> LoopTimer {
    assertOnLoop()
    return timers.add(due: instant.nanoseconds, body)
  }

  /// Calls `body` when the wall clock shows `wall` or more, once, and never before; at the next opportunity
  /// if it has passed. Follows changes of the wall clock, and the sleep of the machine. The loop's thread.
  /// - Parameter keepsAlive: `true` if `run` waits for the timer when nothing else is left.
  @discardableResult
  public func at(
    _ wall: WallTime, keepsAlive: Bool = true, _ body: @escaping () -> Void
  ) -> LoopTimer {
    assertOnLoop()
    if isVirtual {
      return timers.add(
        due: wall.nanoseconds.subtractingHeld(virtualStart.nanoseconds), keepsAlive: keepsAlive,
        followsWall: true, body)
    }
    return civilTimers.add(due: wall.nanoseconds, keepsAlive: keepsAlive, body)
  }

  /// Calls `body` whenever the wall clock turns out to have been set by more than a second, before the timers
  /// that become due by it: with the time by which it was set, negative for backwards. The sleep of the
  /// machine counts as set forward. Detected while there are timers by the wall clock. The loop's thread.
  public func onClockSet(_ body: @escaping (Duration) -> Void) {
    assertOnLoop()
    clockListeners.append(body)
  }

  /// Sets the wall clock of a loop under virtual time forward or backwards, as a daemon of the machine may
  /// do.
  package func setVirtualClock(by time: Duration) {
    assertOnLoop()
    precondition(isVirtual, "the clock of the machine is not ours")
    virtualStart = virtualStart.advanced(by: time)
    timers.moveWallTimers(by: -time.nanoseconds)
    for listener in clockListeners { listener(time) }
  }

  /// Compares the wall clock with the monotonic one, and reports a difference.
  func followClock() {
    let lead = nanoseconds(of: CLOCK_REALTIME) - nanoseconds(of: CLOCK_MONOTONIC)
    let change = lead.subtractingHeld(wallLead)
    wallLead = lead
    guard change.magnitude > 1_000_000_000 else { return }
    for listener in clockListeners { listener(.nanoseconds(change)) }
  }

  /// Calls `body` after everything that is ready now. The loop's thread.
  public func next(_ body: @escaping () -> Void) {
    assertOnLoop()
    append(.work(body))
  }
}
