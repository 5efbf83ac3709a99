internal import EventLoop

/// Resting receptions: frames that only a clock follows are appended when the buffer is next read.
extension StreamBuffer {
  /// A reception whose frames are appended when the buffer is next read: that of a simulated station that
  /// sends steadily.
  struct Rest {
    /// The moment of the last frame that was appended.
    let since: Instant
    /// The end of the rest.
    let until: Instant
    /// The least end of the buffer at `since`, if every frame received by then were appended.
    let end: StreamTime
    /// Appends the frames received so far, and ends the rest.
    let catchUp: @Sendable () -> Void

    /// The least end of the buffer at `now`.
    func end(at now: Instant) -> StreamTime { end + StreamTime(since.duration(to: now)) }
  }

  /// `true` if only a clock follows the frames: they may be appended later, all at once.
  var mayRest: Bool {
    state.withLock {
      !$0.supply.isFilling && !$0.supply.isComplete && !$0.keepsUnheard && $0.reader.wake == nil
        && $0.file.high == nil
    }
  }

  /// Lets the reception rest, or ends its rest with nil.
  func rest(_ rest: Rest?) { state.withLock { $0.rest = rest } }

  /// The resting reception; nil while frames are appended as they come.
  var rest: Rest? { state.withLock { $0.rest } }

  /// Makes a resting reception append the frames received so far.
  func catchUp() { state.withLock { $0.rest }?.catchUp() }
}
