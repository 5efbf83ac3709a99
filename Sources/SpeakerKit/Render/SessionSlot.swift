internal import AudioCore

/// What the renderer knows of one session. Plain data; touched by the thread that renders only.
struct SessionSlot: BitwiseCopyable {
  /// What the slot does.
  enum Phase: BitwiseCopyable {
    /// It has no source.
    case idle
    /// Frames flow.
    case playing
    /// It has a source that stands still.
    case held
    /// Frames flow for one more block, falling to silence; then `After`.
    case fading(After)
  }
  /// What comes after a fade.
  enum After: BitwiseCopyable { case hold, drop, swap }

  var phase = Phase.idle
  var source: RenderSource?
  /// Takes the place of `source` after `fading(.swap)`.
  var next: RenderSource?
  var nextPaused = false
  /// Next frame of the source to be read.
  var frame = 0
  /// 1 while it sounds; moves when it pauses, resumes, stops.
  var gate: GainRamp
  /// Frames read into the session's block in this round.
  var count = 0
  /// Whether a live source has fallen silent because it has too few frames.
  var isDry = false

  init(blockFrames: Int) { gate = GainRamp(gain: 1, length: blockFrames) }

  /// Whether frames flow.
  var isSounding: Bool {
    @_noLocks get {
      switch phase {
      case .playing, .fading: true
      case .idle, .held: false
      }
    }
  }

  /// - Returns: cue that will not be read any more.
  @_noLocks mutating func start(_ new: RenderSource, paused: Bool) -> Int? {
    if isSounding {
      let superseded = next
      next = new
      nextPaused = paused
      phase = .fading(.swap)
      gate.move(to: 0)
      return superseded?.cue
    }
    let old = source
    install(new, paused: paused)
    return old?.cue
  }

  @_noLocks mutating func pause() {
    switch phase {
    case .playing:
      phase = .fading(.hold)
      gate.move(to: 0)
    case .fading(.swap): nextPaused = true
    case .fading, .idle, .held: break
    }
  }

  @_noLocks mutating func resume() {
    switch phase {
    case .held, .fading(.hold):
      phase = .playing
      gate.move(to: 1)
    case .fading(.swap): nextPaused = false
    case .fading, .idle, .playing: break
    }
  }

  /// - Returns: cues that will not be read any more.
  @_noLocks mutating func stop() -> (Int?, Int?) {
    let unused = next?.cue
    next = nil
    if isSounding {
      phase = .fading(.drop)
      gate.move(to: 0)
      return (unused, nil)
    }
    return (unused, drop())
  }

  /// The block is rendered, and the source had `isAtEnd`.
  /// - Returns: cue that will not be read any more.
  @_noLocks mutating func finishBlock(isAtEnd: Bool) -> Int? {
    guard case .fading(let after) = phase else { return isAtEnd ? drop() : nil }
    if !isAtEnd && gate.isMoving { return nil }
    switch after {
    case .hold:
      if isAtEnd { return drop() }
      phase = .held
      return nil
    case .drop:
      return drop()
    case .swap:
      let old = source?.cue
      if let next { install(next, paused: nextPaused) } else { phase = .idle }
      next = nil
      return old
    }
  }

  /// Lets a live source fall silent while it still has a block for that, and rise once it has plenty.
  /// - Parameter available: frames that it has.
  /// - Returns: whether frames are read for this block.
  @_noLocks mutating func flows(available: Int, isComplete: Bool, blockFrames: Int) -> Bool {
    if isDry {
      guard isComplete || available >= 10 &* blockFrames else { return false }
      isDry = false
      if case .playing = phase { gate.move(to: 1) }
    } else if !isComplete && available < 2 &* blockFrames {
      isDry = true
      // Only what has just begun has less than a block: after each block it was looked at.
      if available < blockFrames {
        gate.jump(to: 0)
        return false
      }
      gate.move(to: 0)
    }
    return true
  }

  @_noLocks private mutating func install(_ new: RenderSource, paused: Bool) {
    source = new
    frame = new.firstFrame
    isDry = false
    if paused {
      phase = .held
      gate.jump(to: 0)
      return
    }
    phase = .playing
    if new.fadesIn {
      gate.jump(to: 0)
      gate.move(to: 1)
    } else {
      gate.jump(to: 1)
    }
  }

  @_noLocks private mutating func drop() -> Int? {
    let old = source?.cue
    source = nil
    phase = .idle
    gate.jump(to: 1)
    return old
  }
}

/// What the renderer knows of one device. Plain data; touched by the thread that renders only.
struct DeviceSlot: BitwiseCopyable {
  /// The session that it renders; -1 for none.
  var session = -1
  /// The session that it renders once it has faded out of `session`; nil when it stays.
  var next: Int?
  /// The channel of a multichannel source that it renders; negative for the stereo pair.
  var channel = -1
  /// The channel that it renders once it has faded out of `channel`; nil when it stays.
  var nextChannel: Int?
  /// Role, balance, volume and mute.
  var mix: ChannelMixRamp
  /// Whether all of its block is silence since it was heard last.
  var isClear = false
  /// 1 while it is a member; moves when it joins and leaves, and around a change of its channel.
  var gate: GainRamp

  init(blockFrames: Int) {
    mix = ChannelMixRamp(.silence, length: blockFrames)
    gate = GainRamp(gain: 1, length: blockFrames)
  }

  /// Takes a new session; fades when something of either could be heard.
  @_noLocks mutating func move(to session: Int, wasSounding: Bool, willSound: Bool) {
    if session == self.session {
      if next != nil {
        next = nil
        if nextChannel == nil { gate.move(to: 1) }
      }
    } else if wasSounding {
      next = session
      gate.move(to: 0)
    } else {
      enter(session, sounding: willSound)
    }
  }

  /// Renders another channel of multichannel sources.
  /// - Parameter isHeard: true if such a source is heard: the device fades out before and in after the change.
  @_noLocks mutating func choose(_ channel: Int, isHeard: Bool) {
    if !isHeard {
      self.channel = channel
      nextChannel = nil
    } else if channel != self.channel {
      nextChannel = channel
      gate.move(to: 0)
    } else if nextChannel != nil {
      nextChannel = nil
      if next == nil { gate.move(to: 1) }
    }
  }

  /// Takes its new session and channel at once.
  @_noLocks mutating func enter(_ session: Int, sounding: Bool) {
    self.session = session
    next = nil
    if let nextChannel { channel = nextChannel }
    nextChannel = nil
    if sounding {
      gate.jump(to: 0)
      gate.move(to: 1)
    } else {
      gate.jump(to: 1)
    }
  }
}
