internal import EventLoop

/// The time by which a reception waits and reckons what is missing: that of its loop, unless it is given another, which
/// runs faster or moves only when it is told to.
struct ReceptionClock: Sendable {
  /// The time. Called on the thread of the loop.
  let now: @Sendable (EventLoop) -> Instant
  /// How long the loop sleeps until a moment; nil when `clockMoved` tells that it may have come.
  let sleep: @Sendable (_ until: Instant, EventLoop) -> Duration?

  /// The loop's own.
  static let loop = ReceptionClock(now: { $0.now }, sleep: { due, loop in loop.now.duration(to: due) })

  /// One that runs `factor` times as fast as the loop's.
  static func faster(_ factor: Int) -> ReceptionClock {
    @Sendable func now(_ loop: EventLoop) -> Instant {
      Instant(nanoseconds: loop.now.nanoseconds * Int64(factor))
    }
    return ReceptionClock(now: now, sleep: { due, loop in now(loop).duration(to: due) / factor })
  }

  /// One that shows `now` and is moved by others.
  static func moved(_ now: @escaping @Sendable () -> Instant) -> ReceptionClock {
    ReceptionClock(now: { _ in now() }, sleep: { due, _ in due <= now() ? .zero : nil })
  }
}
