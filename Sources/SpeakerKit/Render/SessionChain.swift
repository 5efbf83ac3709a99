internal import AudioCore

/// Where a session's gain goes. Plain data.
struct GainChange: BitwiseCopyable, Equatable {
  /// In dB, for the way there.
  let decibels: Double
  /// The factor that this means.
  let gain: Float
  /// Blocks that the way takes, 1 or more.
  let blocks: Int
}

/// A gain that goes to its target in a straight line of decibels, exact to the block.
///
/// Each block moves on by the same factor, in a straight line within it, and the last one ends on the target to the
/// bit. Plain data for the thread that renders.
struct GainFade: BitwiseCopyable {
  /// The ramp within a block.
  private var ramp: GainRamp
  private var change = GainChange(decibels: 0, gain: 1, blocks: 1)
  /// Where it is, at a block's border.
  private var decibels = 0.0
  private var gain = 1.0
  /// What each block adds, and multiplies by.
  private var step = 0.0
  private var ratio = 1.0
  private var blocksLeft = 0

  init(blockFrames: Int) { ramp = GainRamp(gain: 1, length: blockFrames) }

  /// Whether what goes through may become louder.
  var exceedsUnity: Bool { @_noLocks get { change.gain > 1 || gain > 1 || ramp.current > 1 } }

  /// Begins to go where `new` says, from where it is.
  @_noLocks mutating func move(_ new: GainChange) {
    change = new
    blocksLeft = new.blocks > 1 ? new.blocks : 1
    step = (new.decibels - decibels) / Double(blocksLeft)
    ratio = Self.factor(decibels: step)
  }

  /// Takes its target at once: for what is not heard.
  @_noLocks mutating func settle() {
    blocksLeft = 0
    decibels = change.decibels
    gain = Double(change.gain)
    ramp.jump(to: change.gain)
  }

  /// Moves on by one block.
  @_noLocks mutating func apply(to view: PCMView) {
    if blocksLeft > 0 {
      blocksLeft &-= 1
      decibels = blocksLeft == 0 ? change.decibels : decibels + step
      gain = blocksLeft == 0 ? Double(change.gain) : gain * ratio
      ramp.move(to: Float(gain))
    }
    ramp.apply(to: view)
  }

  /// 10^(dB/20) as a power series; the C library's `pow` is out of reach here. 64 terms are exact for 120 dB.
  @_noLocks private static func factor(decibels: Double) -> Double {
    let x = decibels * 0.115_129_254_649_702_28
    var (sum, term, n) = (1.0, 1.0, 1.0)
    while n < 64 {
      term *= x / n
      sum += term
      n += 1
    }
    return sum
  }
}

/// What a session's block goes through between its source and its speakers. For the thread that renders; made and
/// released on the loop, while nobody renders.
///
/// This is the one place for effects on a session: what changes its sound stands in `process` before the gain, as a
/// property whose `process` is `@_noLocks`, and has its share in `exceedsFullScale`, so that the limiter is in the path
/// when it must be. Its settings come as a `RenderCommand`.
struct SessionChain: ~Copyable {
  /// The session's equalizer.
  var equalizer: Equalizer
  /// The session's gain.
  var gain: GainFade
  private var limiter: Limiter

  /// A chain for blocks of at most the channels of `format`.
  init(format: AudioFormat) {
    equalizer = Equalizer(format: format)
    gain = GainFade(blockFrames: format.framesPerBlock)
    limiter = Limiter(format: format)
  }

  /// Whether what leaves could be above full scale without the limiter. Filters that only cut shift phases, and so may
  /// raise a peak too.
  private var exceedsFullScale: Bool { @_noLocks get { gain.exceedsUnity || !equalizer.isTransparent } }

  /// Takes its settings at once: for what is not heard.
  @_noLocks mutating func settle() {
    equalizer.settle()
    gain.settle()
  }

  /// Changes a block in place; at unity bit for bit nothing.
  @_noLocks mutating func process(_ view: PCMView) {
    limiter.isActive = exceedsFullScale
    equalizer.process(view)
    gain.apply(to: view)
    limiter.process(view)
  }
}
