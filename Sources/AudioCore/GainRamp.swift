/// A gain that moves to its target in a straight line, one step per frame, so that no change of it clicks.
///
/// The line has `length` frames (one block of 20 ms) however the frames are cut into blocks; its last frame
/// has exactly the target. Starting, stopping, joining and leaving are moves from and to 0. At rest at 1
/// samples pass bit for bit; at rest at 0 nothing is computed.
///
/// A trivial value for one thread; every function but the initializer is for the audio thread.
public struct GainRamp: BitwiseCopyable, Sendable {
  /// The gain that the ramp moves to, or holds at rest.
  public private(set) var target: Float
  /// The number of frames of a move.
  public let length: Int
  /// The change per frame of the current move.
  private var step: Float = 0
  /// The frames left of the current move.
  private var remaining = 0

  /// Creates a ramp at rest at `gain`.
  /// - Parameter length: the number of frames of a move: `AudioFormat.framesPerBlock`.
  @_noLocks public init(gain: Float, length: Int) {
    target = gain
    self.length = length > 0 ? length : 1
  }

  /// The gain of the last frame processed.
  public var current: Float { @_noLocks get { target - step * Float(remaining) } }

  /// `true` if a move is under way.
  public var isMoving: Bool { @_noLocks get { remaining > 0 } }

  /// `true` if the ramp is at rest at 0: input is inaudible, now and until the next move.
  public var isSilent: Bool { @_noLocks get { remaining == 0 && target == 0 } }

  /// Starts a move from the current gain to `gain`. A move to the current target changes nothing.
  @_noLocks public mutating func move(to gain: Float) {
    if gain == target { return }
    let start = current
    target = gain
    step = (gain - start) / Float(length)
    remaining = length
  }

  /// Sets `gain` at once, without a ramp; for sound that is inaudible at the moment.
  @_noLocks public mutating func jump(to gain: Float) {
    target = gain
    remaining = 0
  }

  /// Advances by one frame and returns its gain.
  @_noLocks public mutating func next() -> Float {
    if remaining > 0 { remaining &-= 1 }
    return current
  }

  /// Advances by `frames` frames that are not computed.
  @_noLocks public mutating func skip(frames: Int) {
    remaining = frames < remaining ? remaining &- frames : 0
  }

  /// Multiplies the frames of `view` by the gain.
  @_noLocks public mutating func apply(to view: PCMView) {
    let moved = remaining < view.frames ? remaining : view.frames
    var sample = view.samples
    var frame = 0
    while frame < moved {
      let gain = next()
      var channel = 0
      while channel < view.channels {
        sample[channel] *= gain
        channel &+= 1
      }
      sample += view.channels
      frame &+= 1
    }
    if moved == view.frames || target == 1 { return }
    let rest = view.dropFirst(moved)
    if target == 0 { rest.clear() } else { rest.scale(by: target) }
  }

  /// Adds the frames of `source`, times the gain, to those of `destination`.
  @_noLocks public mutating func mix(_ source: PCMView, into destination: PCMView) {
    let frames = source.frames < destination.frames ? source.frames : destination.frames
    let moved = remaining < frames ? remaining : frames
    var from = source.samples
    var to = destination.samples
    var frame = 0
    while frame < moved {
      let gain = next()
      var channel = 0
      while channel < source.channels {
        to[channel] += from[channel] * gain
        channel &+= 1
      }
      from += source.channels
      to += source.channels
      frame &+= 1
    }
    if moved == frames || target == 0 { return }
    let rest = destination.dropFirst(moved)
    if target == 1 {
      rest.add(source.dropFirst(moved))
    } else {
      rest.add(source.dropFirst(moved), gain: target)
    }
  }
}
