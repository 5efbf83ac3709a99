internal import EventLoop

/// Receptions that rest: frames that nobody but a clock follows are appended when they are looked for.
extension StreamBuffer {
  /// A reception whose frames are appended when they are looked for: that of a simulated station that sends on and on.
  struct Rest {
    /// The moment of the last frame that was appended.
    let since: Instant
    /// The moment up to which it goes on.
    let until: Instant
    /// The least end of the buffer at `since`, were every frame appended that has come by then.
    let end: StreamTime
    /// Appends the frames that have come, and ends the rest.
    let catchUp: @Sendable () -> Void

    /// The least end of the buffer at `now`.
    func end(at now: Instant) -> StreamTime { end + StreamTime(since.duration(to: now)) }
  }

  /// `true` if nobody but a clock follows the frames that come: they may be appended later, all at once.
  var mayRest: Bool {
    state.withLock {
      !$0.supply.isFilling && !$0.supply.isComplete && !$0.keepsUnheard && $0.reader.wake == nil
        && $0.file.high == nil
    }
  }

  /// Lets the reception rest, or ends its rest with nil.
  func rest(_ rest: Rest?) { state.withLock { $0.rest = rest } }

  /// The reception that rests; nil while frames are appended as they come.
  var rest: Rest? { state.withLock { $0.rest } }

  /// Has a reception that rests append what has come.
  func catchUp() { state.withLock { $0.rest }?.catchUp() }
}
