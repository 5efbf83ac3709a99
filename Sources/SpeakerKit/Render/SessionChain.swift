internal import AudioCore

/// A change of the gain of a session, or of a device under an overlay. Plain data.
struct GainChange: BitwiseCopyable, Equatable {
  /// The target in dB.
  let decibels: Double
  /// The target as a linear factor.
  let gain: Float
  /// The duration of the change in blocks, 1 or more.
  let blocks: Int
}

/// A gain that moves to its target in a straight line of decibels, exact to the block.
///
/// Each block changes it by the same factor, in a straight line within the block, and the last one ends on
/// the target to the bit. Plain data for the thread that renders.
struct GainFade: BitwiseCopyable {
  /// The ramp within a block.
  private var ramp: GainRamp
  /// The gains frame by frame, from the first one of the last block.
  private(set) var envelope: GainRamp
  private var change = GainChange(decibels: 0, gain: 1, blocks: 1)
  /// The current gain at the block boundary, in dB.
  private var decibels = 0.0
  private var gain = 1.0
  /// The change per block: added in dB, multiplied as a factor.
  private var step = 0.0
  private var ratio = 1.0
  private var blocksLeft = 0

  init(blockFrames: Int) {
    ramp = GainRamp(gain: 1, length: blockFrames)
    envelope = ramp
  }

  /// `true` if the gain can exceed 1 in the next block.
  var exceedsUnity: Bool { @_noLocks get { change.gain > 1 || gain > 1 || ramp.current > 1 } }

  /// Begins a change from the current gain.
  @_noLocks mutating func move(_ new: GainChange) {
    change = new
    blocksLeft = new.blocks > 1 ? new.blocks : 1
    step = (new.decibels - decibels) / Double(blocksLeft)
    ratio = Self.factor(decibels: step)
  }

  /// Jumps to the target: for a session that is not heard.
  @_noLocks mutating func settle() {
    blocksLeft = 0
    decibels = change.decibels
    gain = Double(change.gain)
    ramp.jump(to: change.gain)
  }

  /// Applies the gain to one block, and advances the change by that block.
  @_noLocks mutating func apply(to view: PCMView) {
    if blocksLeft > 0 {
      blocksLeft &-= 1
      decibels = blocksLeft == 0 ? change.decibels : decibels + step
      gain = blocksLeft == 0 ? Double(change.gain) : gain * ratio
      ramp.move(to: Float(gain))
    }
    envelope = ramp
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

/// The effects between a session's source and its speakers. For the thread that renders; created and released
/// on the loop, while no thread renders.
///
/// The one place for effects on a session: an effect belongs in `process` before the gain, as a property
/// whose `process` is `@_noLocks`, and has its share in `exceedsFullScale`, so that the limiter is in the
/// path when it must be. Its settings arrive as a `RenderCommand`.
struct SessionChain: ~Copyable {
  /// The session's equalizer.
  var equalizer: Equalizer
  /// The session's gain.
  var gain: GainFade
  private var limiter: Limiter

  /// Creates a chain for blocks of at most the channels of `format`.
  init(format: AudioFormat) {
    equalizer = Equalizer(format: format)
    gain = GainFade(blockFrames: format.framesPerBlock)
    limiter = Limiter(format: format)
  }

  /// `true` if the output could exceed full scale without the limiter. Filters that only cut shift phases,
  /// and so may raise a peak too.
  private var exceedsFullScale: Bool { @_noLocks get { gain.exceedsUnity || !equalizer.isTransparent } }

  /// Applies the settings at once: for a session that is not heard.
  @_noLocks mutating func settle() {
    equalizer.settle()
    gain.settle()
  }

  /// Processes a block in place; at unity the samples pass bit for bit.
  @_noLocks mutating func process(_ view: PCMView) {
    limiter.isActive = exceedsFullScale
    equalizer.process(view)
    gain.apply(to: view)
    limiter.process(view)
  }
}
