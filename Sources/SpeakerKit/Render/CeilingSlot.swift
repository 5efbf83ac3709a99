internal import AudioCore

/// The largest factor by which a device amplifies its sessions: the limit of a speaker in the mix. Plain data; touched by
/// the thread that renders only.
struct CeilingSlot: BitwiseCopyable {
  /// The largest factor.
  private var limit: GainRamp
  /// The part of the lowering that is applied: 0 without a ceiling, and on its way over the first and the last block.
  private var share: GainRamp

  init(blockFrames: Int) {
    limit = GainRamp(gain: 1, length: blockFrames)
    share = GainRamp(gain: 0, length: blockFrames)
  }

  /// `true` if the ceiling may lower the sound.
  var isActive: Bool { @_noLocks get { !share.isSilent } }

  /// Sets the ceiling; negative for none.
  /// - Parameter isHeard: `true` if the device sounds: the change is a ramp.
  @_noLocks mutating func set(_ gain: Float, isHeard: Bool) {
    if gain < 0 {
      share.move(to: 0)
    } else {
      if isActive { limit.move(to: gain) } else { limit.jump(to: gain) }
      share.move(to: 1)
    }
    if !isHeard { settle() }
  }

  /// Ends the ramps: for a device that is not heard.
  @_noLocks mutating func settle() {
    limit.jump(to: limit.target)
    share.jump(to: share.target)
  }

  /// Advances by one frame, and returns the factor that lowers a frame which is amplified by `factor`; 1 for one below
  /// the ceiling.
  @_noLocks mutating func next(_ factor: Float) -> Float {
    let (limit, share) = (limit.next(), share.next())
    // A factor that equals the ceiling but for its last digits passes bit for bit.
    if factor <= limit * 1.000001 { return 1 }
    return 1 - share * (1 - limit / factor)
  }
}
