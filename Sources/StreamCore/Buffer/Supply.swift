internal import EventLoop

/// The supply of a player with the sound of its buffer.
///
/// | supply | enough has come | a frame is read, or the player moved | nothing to read | nothing left | no frame follows |
/// | --- | --- | --- | --- | --- | --- |
/// | filling, dry | flowing | | | dry | complete |
/// | flowing | | | read out | dry | complete |
/// | read out | | flowing | | dry | ended |
/// | complete | | | ended | | |
/// | ended | | complete | | | |
///
/// A seek leads from any state to filling.
enum Supply: Equatable {
  /// The player waits until enough is buffered: before its first sound, and after a seek.
  case filling
  /// The player has nothing left, and waits until enough is buffered.
  case dry
  /// The player reads frames as they come.
  case flowing
  /// The player has read every frame; the last may still sound.
  case readOut
  /// No frame follows those in the buffer.
  case complete
  /// No frame follows, and the player has read every one.
  case ended

  /// `true` if the player waits until enough is buffered.
  var isFilling: Bool { self == .filling || self == .dry }

  /// `true` if no frame follows.
  var isComplete: Bool { self == .complete || self == .ended }

  /// Lets a waiting player read, as enough is buffered.
  /// - Returns: `true` if the player waited.
  mutating func resume() -> Bool {
    guard isFilling else { return false }
    self = .flowing
    return true
  }

  /// Notes that there are frames to read: one has been read, or the player was moved.
  mutating func continueReading() {
    switch self {
    case .readOut: self = .flowing
    case .ended: self = .complete
    case .filling, .dry, .flowing, .complete: break
    }
  }

  /// Notes that the player found nothing to read.
  /// - Returns: `true` if it had something before.
  mutating func readAll() -> Bool {
    switch self {
    case .flowing: self = .readOut
    case .complete: self = .ended
    case .filling, .dry, .readOut, .ended: return false
    }
    return true
  }

  /// Makes the player wait, as it has heard everything, unless no frame follows.
  mutating func runDry() { if !isComplete { self = .dry } }

  /// Notes that no frame follows: the player reads the frames in the buffer.
  /// - Returns: `true` if the player waited.
  mutating func complete() -> Bool {
    let wasFilling = isFilling
    self = self == .readOut || self == .ended ? .ended : .complete
    return wasFilling
  }
}

/// The supply of the buffer's player.
extension StreamBuffer {
  /// `true` if no frame follows.
  package var isComplete: Bool { state.withLock { $0.supply.isComplete } }

  /// `true` if the player waits for more.
  package var isFilling: Bool { state.withLock { $0.isWaiting } }

  /// `true` if the player has heard everything, and waits until enough is buffered.
  var isDry: Bool { state.withLock { $0.supply == .dry } }

  /// `true` if everything was read, and more may follow.
  package var isReadOut: Bool { withFrames { $0.supply == .readOut && $0.cursor >= $0.packets.end } }

  /// Makes the player wait for enough, as all frames read have been heard.
  /// - Returns: `false` if more has come meanwhile, or nothing follows.
  package func runDry() -> Bool {
    withFrames { state in
      let supply = state.supply
      guard !supply.isComplete, !supply.isFilling, state.cursor >= state.packets.end else { return false }
      state.supply.runDry()
      return true
    }
  }

  /// The state of a player that has heard nearly everything.
  package enum Drained {
    /// The player has more than `rest` left.
    case more
    /// The sound is used up: the player waits.
    case waiting
    /// The sound of a file is used up, and its reception has not ended.
    case ending
    /// The end: no sound is left, and none follows.
    case ended
  }

  /// Makes the player wait for enough if it has heard all but `rest` at `time`. Decided in one step, so that
  /// a player never waits for sound that has come meanwhile, and never finds the same rest again.
  package func drain(at time: StreamTime, rest: StreamTime) -> Drained {
    withFrames { state in
      let end = state.packets.time(at: state.packets.end)
      guard min(end, state.file.heard?.end ?? end) - time <= rest else { return .more }
      guard !state.supply.isComplete else { return .ended }
      if let last = state.file.heard?.end, last - time <= rest { return .ending }
      state.cursor = state.packets.end
      state.beginReader()
      state.supply.runDry()
      return .waiting
    }
  }

  /// The sound that must be buffered before the player starts.
  var wanted: StreamTime { state.withLock { $0.wait.time } }

  /// Sets the sound that must be buffered when the player waits; nil for the rule of `PlayerWait`.
  /// - Returns: `true` if the player waited, and `wanted` is buffered now.
  package func want(_ wanted: StreamTime?) -> Bool { want { $0.requested = wanted } }

  /// Lets a waiting player read if enough is buffered, as after a move.
  /// - Returns: `true` if the player waited, and enough is buffered now.
  package func resume() -> Bool { want { _ in } }

  private func want(_ change: (inout PlayerWait) -> Void) -> Bool {
    let (isEnough, wake) = withFrames { state -> (Bool, (@Sendable () -> Void)?) in
      change(&state.wait)
      guard state.ahead > .zero, state.ahead >= state.wait.time, state.supply.resume() else {
        return (false, nil)
      }
      return (true, state.reader.wake)
    }
    wake?()
    return isEnough
  }
}
