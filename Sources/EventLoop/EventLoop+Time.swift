internal import Glibc

extension EventLoop {
  /// The loop's own time: since it was made, monotonic. The loop's thread.
  public var now: Instant { Instant(nanoseconds: isVirtual ? virtualNow : monotonicNow) }

  /// The civil time. Under virtual time the start plus the virtual time elapsed. The loop's thread.
  public var wallNow: WallTime {
    isVirtual
      ? virtualStart.advanced(by: .nanoseconds(virtualNow))
      : WallTime(nanoseconds: nanoseconds(of: CLOCK_REALTIME))
  }

  var monotonicNow: Int64 { nanoseconds(of: CLOCK_MONOTONIC) - origin }

  /// Calls `body` after `delay`, once; at the next opportunity when `delay` is not positive. The loop's
  /// thread.
  /// - Parameter keepsAlive: `true` if `run` waits for the timer when nothing else is left.
  @discardableResult
  public func after(
    _ delay: Duration, keepsAlive: Bool = true, _ body: @escaping () -> Void
  ) -> LoopTimer {
    assertOnLoop()
    let due = now.advanced(by: max(delay, .zero))
    return timers.add(due: due.nanoseconds, keepsAlive: keepsAlive, body)
  }

  /// Calls `body` at `instant`, once; at the next opportunity when that has passed. Timers fire by time, and
  /// those for the same moment in the order in which they were made. The loop's thread.
  @discardableResult
  public func at(_ instant: Instant, _ body: @escaping () -> Void) -> LoopTimer {
    assertOnLoop()
    return timers.add(due: instant.nanoseconds, body)
  }

  /// Calls `body` when the wall clock shows `wall` or more, once, and never before; at the next opportunity
  /// when that has passed. Follows changes of the wall clock, and the sleep of the machine. The loop's
  /// thread.
  @discardableResult
  public func at(_ wall: WallTime, _ body: @escaping () -> Void) -> LoopTimer {
    assertOnLoop()
    if isVirtual {
      return timers.add(due: wall.nanoseconds.subtractingHeld(virtualStart.nanoseconds), body)
    }
    return civilTimers.add(due: wall.nanoseconds, body)
  }

  /// Calls `body` after everything that is ready now. The loop's thread.
  public func next(_ body: @escaping () -> Void) {
    assertOnLoop()
    append(.work(body))
  }
}
