package import EventLoop

/// Resting receptions: frames that only a clock follows are appended when the buffer is next read.
extension StreamBuffer {
  /// A reception whose frames are appended when the buffer is next read: that of a simulated station that
  /// sends steadily.
  package struct Rest {
    /// The moment of the last frame that was appended.
    package let since: Instant
    /// The end of the rest.
    package let until: Instant
    /// The least end of the buffer at `since`, if every frame received by then were appended.
    package let end: StreamTime
    /// Appends the frames received so far, and ends the rest.
    let catchUp: @Sendable () -> Void

    package init(
      since: Instant, until: Instant, end: StreamTime, catchUp: @escaping @Sendable () -> Void
    ) {
      (self.since, self.until, self.end, self.catchUp) = (since, until, end, catchUp)
    }

    /// The least end of the buffer at `now`.
    package func end(at now: Instant) -> StreamTime { end + StreamTime(since.duration(to: now)) }
  }

  /// `true` if only a clock follows the frames: they may be appended later, all at once.
  package var mayRest: Bool {
    state.withLock {
      !$0.supply.isFilling && !$0.supply.isComplete && !$0.keepsUnheard && $0.reader.wake == nil
        && $0.file.high == nil
    }
  }

  /// Lets the reception rest, or ends its rest with nil.
  package func rest(_ rest: Rest?) { state.withLock { $0.rest = rest } }

  /// The resting reception; nil while frames are appended as they come.
  package var rest: Rest? { state.withLock { $0.rest } }

  /// Makes a resting reception append the frames received so far.
  func catchUp() { state.withLock { $0.rest }?.catchUp() }
}
