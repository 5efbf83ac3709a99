/// The channels of a session that a speaker renders.
public enum ChannelRole: String, Sendable, CaseIterable {
  /// The left channel to the left output, the right one to the right output.
  case stereo
  /// The left channel to both outputs.
  case left
  /// The right channel to both outputs.
  case right
  /// The mean of both channels, (L + R)/2, to both outputs.
  case mono
  /// The front left channel of a 5.1 layout to both outputs, like the five roles that follow; L of a stereo
  /// source.
  case frontLeft = "front_left"
  /// The front right channel of a 5.1 layout; R of a stereo source.
  case frontRight = "front_right"
  /// The centre channel of a 5.1 layout; (L + R)/2 of a stereo source.
  case center
  /// The channel of low frequencies, unfiltered; (L + R)/2 of a stereo source.
  case lfe
  /// The left surround channel of a 5.1 layout; L of a stereo source.
  case surroundLeft = "surround_left"
  /// The right surround channel of a 5.1 layout; R of a stereo source.
  case surroundRight = "surround_right"

  /// The role's own channel in frames of `AudioFormat.surround`; nil for a role that renders the stereo pair.
  public var channel: Int? {
    switch self {
    case .stereo, .left, .right, .mono: nil
    case .frontLeft: 2
    case .frontRight: 3
    case .center: 4
    case .lfe: 5
    case .surroundLeft: 6
    case .surroundRight: 7
    }
  }
}

/// The mix of a stereo session for a speaker's two outputs: a gain from each channel to each output.
///
/// Role, balance, volume and mute of a speaker end up in these four numbers:
/// `left = leftToLeft·L + rightToLeft·R`, `right = leftToRight·L + rightToRight·R`.
public struct ChannelMix: BitwiseCopyable, Sendable, Equatable {
  /// The gain from the session's left channel to the speaker's left output.
  public var leftToLeft: Float
  /// The gain from the session's right channel to the speaker's left output.
  public var rightToLeft: Float
  /// The gain from the session's left channel to the speaker's right output.
  public var leftToRight: Float
  /// The gain from the session's right channel to the speaker's right output.
  public var rightToRight: Float

  /// The valid balances; 0 is neutral, negative is to the left.
  public static let balanceRange = -6...6

  /// Creates a mix of four gains.
  @_noLocks public init(leftToLeft: Float, rightToLeft: Float, leftToRight: Float, rightToRight: Float) {
    self.leftToLeft = leftToLeft
    self.rightToLeft = rightToLeft
    self.leftToRight = leftToRight
    self.rightToRight = rightToRight
  }

  /// Creates the mix for `role`, `balance` and a gain.
  ///
  /// Balance lowers the output on the other side by a sixth of its amplitude per step and does not change the
  /// near side: at 3 the left output is at one half (−6 dB), at 6 it is silent, at 0 both are exactly
  /// neutral.
  /// - Parameter gain: the overall factor, from volume and mute.
  /// - Precondition: `balanceRange` contains `balance`; callers validate input first.
  public init(role: ChannelRole, balance: Int = 0, gain: Float = 1) {
    precondition(Self.balanceRange.contains(balance), "balance \(balance) is outside -6...6")
    let left = gain * Float(6 - max(balance, 0)) / 6
    let right = gain * Float(6 + min(balance, 0)) / 6
    switch role {
    case .stereo: self.init(leftToLeft: left, rightToLeft: 0, leftToRight: 0, rightToRight: right)
    case .left, .frontLeft, .surroundLeft:
      self.init(leftToLeft: left, rightToLeft: 0, leftToRight: right, rightToRight: 0)
    case .right, .frontRight, .surroundRight:
      self.init(leftToLeft: 0, rightToLeft: left, leftToRight: 0, rightToRight: right)
    case .mono, .center, .lfe:
      self.init(leftToLeft: left / 2, rightToLeft: left / 2, leftToRight: right / 2, rightToRight: right / 2)
    }
  }

  /// Both channels unchanged, bit for bit.
  public static let unity = ChannelMix(leftToLeft: 1, rightToLeft: 0, leftToRight: 0, rightToRight: 1)
  /// Silence: four gains of 0.
  public static let silence = ChannelMix(leftToLeft: 0, rightToLeft: 0, leftToRight: 0, rightToRight: 0)

  /// The largest factor from the session to an output, where both of its channels are the same.
  public var peak: Float {
    @_noLocks get {
      let left = leftToLeft.magnitude + rightToLeft.magnitude
      let right = leftToRight.magnitude + rightToRight.magnitude
      return left > right ? left : right
    }
  }

  var isUnity: Bool {
    @_noLocks get { leftToLeft == 1 && rightToRight == 1 && rightToLeft == 0 && leftToRight == 0 }
  }

  var isSilence: Bool {
    @_noLocks get { leftToLeft == 0 && rightToRight == 0 && rightToLeft == 0 && leftToRight == 0 }
  }

  /// Returns `self + other·factor`, gain by gain.
  @_noLocks func adding(_ other: ChannelMix, times factor: Float) -> ChannelMix {
    ChannelMix(
      leftToLeft: leftToLeft + other.leftToLeft * factor,
      rightToLeft: rightToLeft + other.rightToLeft * factor,
      leftToRight: leftToRight + other.leftToRight * factor,
      rightToRight: rightToRight + other.rightToRight * factor)
  }
}

/// A channel mix that moves to its target in straight lines, as `GainRamp` does for one gain.
///
/// So volume, mute, role and balance of a speaker may change in any combination without a click. At rest in
/// `ChannelMix.unity` stereo passes bit for bit; at rest in silence nothing is computed.
///
/// A trivial value for one thread; every function is for the audio thread.
public struct ChannelMixRamp: BitwiseCopyable, Sendable {
  /// The mix that the ramp moves to, or holds at rest.
  public private(set) var target: ChannelMix
  /// The number of frames of a move.
  public let length: Int
  private var step = ChannelMix.silence
  private var remaining = 0

  /// Creates a ramp at rest at `mix`.
  /// - Parameter length: the number of frames of a move: `AudioFormat.framesPerBlock`.
  public init(_ mix: ChannelMix, length: Int) {
    target = mix
    self.length = length > 0 ? length : 1
  }

  /// The mix of the last frame processed.
  public var current: ChannelMix { @_noLocks get { target.adding(step, times: -Float(remaining)) } }

  /// `true` if a move is under way.
  public var isMoving: Bool { @_noLocks get { remaining > 0 } }

  /// `true` if the ramp is at rest in silence: input is inaudible, now and until the next move.
  public var isSilent: Bool { @_noLocks get { remaining == 0 && target.isSilence } }

  /// Advances by one frame that is not computed, and returns its mix.
  @_noLocks public mutating func next() -> ChannelMix {
    if remaining > 0 { remaining &-= 1 }
    return current
  }

  /// Starts a move from the current mix to `mix`. A move to the current target changes nothing.
  @_noLocks public mutating func move(to mix: ChannelMix) {
    if target.adding(mix, times: -1).isSilence { return }
    let difference = mix.adding(current, times: -1)
    let still = ChannelMix(leftToLeft: 0, rightToLeft: 0, leftToRight: 0, rightToRight: 0)
    step = still.adding(difference, times: 1 / Float(length))
    target = mix
    remaining = length
  }

  /// Sets `mix` at once, without a ramp; for sound that is inaudible at the moment.
  @_noLocks public mutating func jump(to mix: ChannelMix) {
    target = mix
    remaining = 0
  }

  /// Adds the frames of `source`, mixed, to those of `destination`, which is stereo.
  /// - Parameter channel: the channel of `source` that replaces both sides of its stereo pair; negative for
  ///   the pair, its first two channels. The gains of a role with a channel of its own add up to 1 on each
  ///   output.
  @_noLocks public mutating func mix(_ source: PCMView, into destination: PCMView, channel: Int = -1) {
    let isOwn = channel >= 0 && channel < source.channels
    let (left, right) = isOwn ? (channel, channel) : (0, 1)
    let frames = source.frames < destination.frames ? source.frames : destination.frames
    let moved = remaining < frames ? remaining : frames
    var frame = 0
    while frame < moved {
      remaining &-= 1
      Self.add(source, left, right, to: destination, frame, current)
      frame &+= 1
    }
    if moved == frames || target.isSilence { return }
    if target.isUnity && source.channels == 2 {
      destination.dropFirst(moved).add(source.dropFirst(moved))
      return
    }
    while frame < frames {
      Self.add(source, left, right, to: destination, frame, target)
      frame &+= 1
    }
  }

  @_noLocks private static func add(
    _ source: PCMView, _ left: Int, _ right: Int, to destination: PCMView, _ frame: Int, _ mix: ChannelMix
  ) {
    let samples = source.samples + frame &* source.channels
    let (left, right) = (samples[left], samples[right])
    destination.samples[frame &* 2] += left * mix.leftToLeft + right * mix.rightToLeft
    destination.samples[frame &* 2 &+ 1] += left * mix.leftToRight + right * mix.rightToRight
  }
}
