/// Keeps samples below a ceiling where equalizer, gain or mixing can exceed full scale.
///
/// Peak limiting with look-ahead inside the block, so nothing is delayed: the peaks of a block are found
/// first, the gain (one for all channels, so the image stays) then falls in a straight line during the
/// `attack` frames before a peak and returns exponentially after it. The output is the input times a gain; it
/// is not clipped. A peak nearer than `attack` to the start of its block leaves less room, down to zero in
/// the block's first frame: there the gain steps at once. No sample exceeds the ceiling.
///
/// With `isActive` false and the gain back at 1, samples pass bit for bit. Owns its scratch memory; created
/// away from the audio thread, on which `process` runs.
public struct Limiter: ~Copyable {
  /// The default ceiling: −0.3 dBFS.
  public static let defaultCeiling = Decibels.gain(-0.3)

  /// `true` if peaks are limited. After it is turned off, a lowered gain still returns to 1 smoothly.
  public var isActive: Bool
  /// The gain of the last frame, 1 while nothing is limited.
  public var gain: Float { @_noLocks get { 1 - reduction } }

  /// 1 minus the gain; kept instead of the gain, which lacks the digits to approach 1 slowly.
  private var reduction: Float = 0
  private let ceiling: Float
  private let attack: Int
  /// The factor of the reduction per frame.
  private let release: Float
  private let gains: UnsafeMutablePointer<Float>
  private let capacity: Int

  /// Creates a limiter for blocks of `format`; longer views are processed in pieces.
  /// - Parameters:
  ///   - ceiling: the largest magnitude of the output.
  ///   - attack: the seconds before a peak in which the gain falls.
  ///   - release: the seconds in which a lowered gain recovers by 63 %.
  public init(
    format: AudioFormat, ceiling: Float = Limiter.defaultCeiling, attack: Double = 0.0015,
    release: Double = 0.1, isActive: Bool = false
  ) {
    let rate = Double(format.sampleRate)
    self.isActive = isActive
    self.ceiling = ceiling
    self.attack = max(1, Int(rate * attack))
    self.release = Float(1 - 1 / max(2, rate * release))
    capacity = max(1, format.framesPerBlock)
    gains = .allocate(capacity: capacity)  // freed in deinit
    gains.initialize(repeating: 1, count: capacity)
  }

  deinit { gains.deallocate() }

  /// Limits the frames of `view` in place.
  @_noLocks public mutating func process(_ view: PCMView) {
    if !isActive && reduction == 0 { return }
    var rest = view
    while rest.frames > 0 {
      let piece = rest.prefix(capacity)
      let limits = findLimits(of: piece)
      if limits || reduction != 0 { apply(to: piece) }
      rest = rest.dropFirst(capacity)
    }
  }

  /// Fills `gains` with the largest allowed factor of each frame.
  /// - Returns: `true` if any of them is below 1.
  @_noLocks private func findLimits(of view: PCMView) -> Bool {
    var limits = false
    var slope: Float = 0
    var allowed: Float = 1
    var frame = view.frames
    while frame > 0 {
      frame &-= 1
      var peak: Float = 0
      var channel = 0
      while channel < view.channels {
        let magnitude = view.samples[frame &* view.channels &+ channel].magnitude
        if magnitude > peak { peak = magnitude }
        channel &+= 1
      }
      allowed = allowed + slope < 1 ? allowed + slope : 1
      let most = isActive && peak > ceiling ? ceiling / peak : 1
      if most < allowed {
        allowed = most
        slope = (1 - most) / Float(attack)
        limits = true
      }
      gains[frame] = allowed
    }
    return limits
  }

  @_noLocks private mutating func apply(to view: PCMView) {
    var sample = view.samples
    var frame = 0
    while frame < view.frames {
      let left = reduction * release
      let rested: Float = left < 1e-6 ? 0 : left
      let needed = 1 - gains[frame]
      reduction = needed > rested ? needed : rested
      var channel = 0
      while channel < view.channels {
        sample[channel] *= gain
        channel &+= 1
      }
      sample += view.channels
      frame &+= 1
    }
  }
}
