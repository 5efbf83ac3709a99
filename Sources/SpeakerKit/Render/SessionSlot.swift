internal import AudioCore

/// The renderer's state of one session. Plain data; touched by the thread that renders only.
struct SessionSlot: BitwiseCopyable {
  /// The state of the slot.
  enum Phase: BitwiseCopyable {
    /// No source.
    case idle
    /// Frames flow.
    case playing
    /// The source is paused.
    case held
    /// Frames flow for one more block while fading out; then `After`.
    case fading(After)
  }
  /// Action at the end of a fade.
  enum After: BitwiseCopyable { case hold, drop, swap }

  var phase = Phase.idle
  var source: RenderSource?
  /// Replaces `source` after `fading(.swap)`.
  var next: RenderSource?
  var nextPaused = false
  /// The index in the source of the next frame to be read.
  var frame = 0
  /// The gain of the fades on pause, resume and stop; 1 while the session sounds.
  var gate: GainRamp
  /// The number of frames read into the session's current block.
  var count = 0
  /// `true` if a live source has fallen silent because it has too few frames.
  var isStarved = false

  init(blockFrames: Int) { gate = GainRamp(gain: 1, length: blockFrames) }

  /// `true` if frames flow.
  var isSounding: Bool {
    @_noLocks get {
      switch phase {
      case .playing, .fading: true
      case .idle, .held: false
      }
    }
  }

  /// Starts a source, after a fade of one block where another one sounds.
  /// - Returns: the cue that will not be read any more.
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

  /// Stops the session, after a fade of one block where it sounds.
  /// - Returns: the cues that will not be read any more.
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

  /// Completes a block.
  /// - Parameter isAtEnd: `true` if the source has no further frames.
  /// - Returns: the cue that will not be read any more.
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

  /// Fades a live source out while it still has a block for that, and in again once it has plenty.
  /// - Parameter available: frames that the source has decoded.
  /// - Returns: `true` if frames are read for this block.
  @_noLocks mutating func flows(available: Int, isComplete: Bool, blockFrames: Int) -> Bool {
    if isStarved {
      guard isComplete || available >= 10 &* blockFrames else { return false }
      isStarved = false
      if case .playing = phase { gate.move(to: 1) }
    } else if !isComplete && available < 2 &* blockFrames {
      isStarved = true
      // Fewer frames than a block occur only at the start: the level is checked after each block.
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
    isStarved = false
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

/// The renderer's state of one device. Plain data; touched by the thread that renders only.
struct DeviceSlot: BitwiseCopyable {
  /// The session that the device renders; -1 for none.
  var session = -1
  /// The session rendered after the fade out of `session`; nil without a change.
  var next: Int?
  /// The rendered channel of a multichannel source; negative for the stereo pair.
  var channel = -1
  /// The channel rendered after the fade out of `channel`; nil without a change.
  var nextChannel: Int?
  /// Role, balance, volume and mute.
  var mix: ChannelMixRamp
  /// `true` if the whole block has been cleared since the device was last heard.
  var isClear = false
  /// The gain of the fades around a change of session or channel; 1 otherwise.
  var gate: GainRamp
  /// The sound over that of `session`.
  var overlay: OverlaySlot
  /// The gain of `session` under an overlay, 1 without one.
  var duck: GainFade
  /// The limit of all gains together.
  var ceiling: CeilingSlot

  init(blockFrames: Int) {
    overlay = OverlaySlot(blockFrames: blockFrames)
    duck = GainFade(blockFrames: blockFrames)
    ceiling = CeilingSlot(blockFrames: blockFrames)
    mix = ChannelMixRamp(.silence, length: blockFrames)
    gate = GainRamp(gain: 1, length: blockFrames)
  }

  /// Moves the device to a session; fades when either session sounds.
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

  /// Selects another channel of multichannel sources.
  /// - Parameter isHeard: `true` if such a source is heard: the device fades out before the change and in
  ///   after it.
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

  /// Enters a session, and the pending channel, at once.
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

/// A session that a device renders over its own, such as an announcement. Plain data; touched by the thread that renders
/// only.
struct OverlaySlot: BitwiseCopyable {
  /// The session; -1 for none.
  private(set) var session = -1
  /// Role, balance, volume and mute; silence at the end of its fade out.
  var mix: ChannelMixRamp
  /// The session after the fade out of `session`, and its mix; nil without a change.
  private var next: Int?
  private var nextMix = ChannelMix.silence
  private let silence = ChannelMix.silence

  init(blockFrames: Int) { mix = ChannelMixRamp(.silence, length: blockFrames) }

  /// Sets the session, or its mix.
  /// - Parameter isSounding: `true` if the session so far sounds: it fades out before another one.
  @_noLocks mutating func set(_ session: Int, _ mix: ChannelMix, isSounding: Bool) {
    if session == self.session && next == nil {
      if isSounding { self.mix.move(to: mix) } else { self.mix.jump(to: mix) }
      return
    }
    next = session
    nextMix = mix
    if isSounding { self.mix.move(to: silence) } else { enter(isSounding: false) }
  }

  /// Enters the next session once the one so far is silent.
  /// - Parameters:
  ///   - isSounding: `true` if the session so far sounds.
  ///   - willSound: `true` if the next one sounds already: it fades in.
  @_noLocks mutating func finishBlock(isSounding: Bool, willSound: Bool) {
    if next != nil && (mix.isSilent || !isSounding) { enter(isSounding: willSound) }
  }

  /// The session that the device is to render.
  var target: Int {
    @_noLocks get {
      if let next { return next }
      return session
    }
  }

  @_noLocks private mutating func enter(isSounding: Bool) {
    session = target
    next = nil
    mix.jump(to: isSounding ? silence : nextMix)
    if isSounding { mix.move(to: nextMix) }
  }
}
