/// A card's or a house's progress: the frame of the house that is heard at a time.
struct ClockReading: Equatable {
  /// The time of the reading, in ns.
  var time: Int64
  /// The index of the frame that is heard then, counted from the first block of the house.
  var frame: Double

  /// Returns the frame that is heard at another time, at `rate` frames per second.
  func frame(at other: Int64, rate: Double) -> Double { frame + Double(other - time) * rate / 1e9 }
}

/// Keeps a sound card in step with the clock of the house: it joins with silence, or by dropping frames that
/// the house has heard already, and then follows by the ratio at which its sound is resampled. Has no I/O and
/// no clock.
///
/// The error is the time by which the card is behind the house, in frames. It is smoothed and drives a
/// proportional-integral controller with a double pole at 1/10 s: a card that is 200 ppm off is 0.7 ms behind
/// at most, for some seconds, until the integral, which is the drift between the clocks, has been learned.
///
/// Source: F. Gardner, "Phaselock Techniques", 3rd edition, chapter 2 (second-order type-2 loop, damping 1).
struct ClockFollower {
  enum Phase: Equatable {
    /// No sound, or out of step: the next frame waits for its moment.
    case joining(waited: Int64)
    /// In step; `error` is the smoothed one.
    case following(error: Double, since: Int64)
    /// Not followed: neither the house nor the card has a clock.
    case free
  }

  /// The next action with the frames at hand, while the card joins.
  enum Entry: Equatable {
    /// Keep the card running with silence, and ask again.
    case wait
    /// Write these frames of silence, then the sound.
    case silence(frames: Int)
    /// Drop these frames, whose moment has passed; if there are fewer, ask again with the next ones.
    case skip(frames: Int)
    /// Write the sound.
    case play
  }

  /// The next action while the card plays.
  enum Correction: Equatable {
    /// Resample at this number of frames of the house per frame of the card.
    case resample(ratio: Double)
    /// Join again: the card lost its step, as after an underrun.
    case rejoin
  }

  /// The largest correction, as a part of 1: a crystal is at most 200 ppm off.
  static let greatestCorrection = 0.001
  /// The time in ns after which a card that waits for the clock of the house plays without it.
  static let greatestWait: Int64 = 500_000_000
  /// The angular frequency of the control loop in 1/s.
  private static let bandwidth = 0.1
  /// The time constant of the smoothing in seconds.
  private static let smoothing = 1.0
  /// The smoothed error in seconds above which the card joins again.
  private static let greatestError = 0.002
  /// Single error in seconds above which the card joins again: an underrun, not jitter.
  private static let greatestJump = 0.05

  private(set) var phase = Phase.joining(waited: 0)
  /// The learned drift: by how much the house's clock is faster than the card's, as a part of 1. Outlives
  /// pauses.
  private(set) var drift = 0.0
  private let rate: Double

  /// Creates the follower of a card of `sampleRate` frames per second.
  init(sampleRate: Int) { rate = Double(sampleRate) }

  /// Falls out of step, as in a pause: the next frame joins again.
  mutating func rest() { phase = .joining(waited: 0) }

  /// Stops following until the next rest.
  mutating func release() { phase = .free }

  /// Returns how a frame enters the card in step with the house.
  /// - Parameters:
  ///   - frame: index of the frame.
  ///   - delay: frames in the card, heard before the next one that is written.
  ///   - now: the time of `delay`, in ns.
  ///   - house: the clock of the house; nil while it does not run.
  ///   - elapsed: ns since the previous call, 0 at first.
  mutating func enter(_ frame: Int, delay: Int, now: Int64, house: ClockReading?, elapsed: Int64) -> Entry {
    guard case .joining(let waited) = phase else { return .play }
    guard let house else {
      phase = .joining(waited: waited + elapsed)
      guard waited + elapsed >= Self.greatestWait else { return .wait }
      phase = .free
      return .play
    }
    let gap = Double(frame) - house.frame(at: now, rate: rate) - Double(delay)
    if gap < -0.5 { return .skip(frames: Int((-gap).rounded())) }
    phase = .following(error: 0, since: now)
    return gap < 0.5 ? .play : .silence(frames: Int(gap.rounded()))
  }

  /// Returns the correction after a piece of sound was written.
  /// - Parameters:
  ///   - card: progress of the card.
  ///   - house: the clock of the house; nil while it does not run.
  mutating func follow(_ card: ClockReading, house: ClockReading?) -> Correction {
    guard case .following(var error, let since) = phase else { return .resample(ratio: 1) }
    guard let house else {
      phase = .following(error: error, since: card.time)
      return .resample(ratio: 1 + drift)
    }
    let measured = house.frame(at: card.time, rate: rate) - card.frame
    let elapsed = max(0, min(1, Double(card.time - since) / 1e9))
    error += (measured - error) * elapsed / (Self.smoothing + elapsed)
    if abs(error) > Self.greatestError * rate || abs(measured) > Self.greatestJump * rate {
      rest()
      return .rejoin
    }
    phase = .following(error: error, since: card.time)
    drift = Self.limited(drift + Self.bandwidth * Self.bandwidth * error / rate * elapsed)
    return .resample(ratio: 1 + Self.limited(drift + 2 * Self.bandwidth * error / rate))
  }

  private static func limited(_ correction: Double) -> Double {
    max(-greatestCorrection, min(greatestCorrection, correction))
  }
}
