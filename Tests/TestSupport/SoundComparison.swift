internal import Glibc

/// The position of a sound in another one.
public struct Alignment: Sendable, Equatable {
  /// The delay in frames behind the reference, to a fraction of a frame; negative when earlier.
  public let delay: Double
  /// The cross-correlation at that delay, 1 for identical sounds and 0 for unrelated ones.
  public let correlation: Double

  /// The delay, rounded to a whole number of frames.
  public var frames: Int { Int(delay.rounded()) }
}

extension Sound {
  /// Finds `self` in `reference` by cross-correlation of the sum of channels.
  ///
  /// The whole sounds are correlated by Fourier transform; a parabola through the three highest points yields
  /// the fraction of a frame (good to some hundredths for sound that is not near half the sample rate).
  public func alignment(to reference: Sound) -> Alignment {
    let (own, other) = (mixed(), reference.mixed())
    var size = 1
    while size < own.count + other.count { size *= 2 }
    var a = Spectrum(own, size: size)
    let b = Spectrum(other, size: size)
    a.multiply(byConjugateOf: b)
    let correlation = a.inverse()
    guard let peak = correlation.indices.max(by: { correlation[$0] < correlation[$1] }) else {
      return Alignment(delay: 0, correlation: 0)
    }
    let before = correlation[(peak + size - 1) % size]
    let after = correlation[(peak + 1) % size]
    let curve = before - 2 * correlation[peak] + after
    let fraction = curve == 0 ? 0 : 0.5 * (before - after) / curve
    let energy = (own.reduce(0) { $0 + $1 * $1 } * other.reduce(0) { $0 + $1 * $1 }).squareRoot()
    let whole = peak > size / 2 ? peak - size : peak
    return Alignment(
      delay: Double(whole) + fraction, correlation: energy > 0 ? correlation[peak] / energy : 0)
  }

  /// Returns the energy of the difference against the energy of `reference`, in dB; −infinity when equal.
  ///
  /// Compares the frames that both have when `self` is delayed by `delay` frames, over all channels.
  public func errorToSignal(against reference: Sound, delay: Int = 0) -> Double {
    var (difference, signal) = (0.0, 0.0)
    let frames = max(0, -delay)..<max(max(0, -delay), min(reference.frameCount, frameCount - delay))
    for (own, other) in zip(channels, reference.channels) {
      for frame in frames {
        let error = Double(own[frame + delay]) - Double(other[frame])
        difference += error * error
        signal += Double(other[frame]) * Double(other[frame])
      }
    }
    return difference == 0 ? -.infinity : 10 * log10(difference / signal)
  }

  /// Returns the level of each block of `seconds` in dBFS (rms over all channels, 0 is a full square wave);
  /// the last block may
  /// be shorter.
  public func levels(blockSeconds seconds: Double = 0.02) -> [Double] {
    let length = max(1, Int(seconds * Double(sampleRate)))
    return stride(from: 0, to: frameCount, by: length).map { start in
      let end = min(frameCount, start + length)
      var sum = 0.0
      for channel in channels {
        for frame in start..<end { sum += Double(channel[frame]) * Double(channel[frame]) }
      }
      return 10 * log10(sum / Double((end - start) * channels.count))
    }
  }

  /// Level of the whole sound in dBFS (rms over all channels).
  public var level: Double {
    levels(blockSeconds: Double(frameCount + 1) / Double(sampleRate)).first ?? -.infinity
  }

  /// Largest magnitude of a sample.
  public var peak: Float { channels.reduce(0) { $1.reduce($0) { max($0, $1.magnitude) } } }

  /// Largest difference between neighbouring samples of a channel.
  public var largestStep: Float {
    channels.reduce(0) { largest, channel in
      zip(channel, channel.dropFirst()).reduce(largest) { max($0, ($1.1 - $1.0).magnitude) }
    }
  }

  /// Returns the frames with an audible click: the second difference exceeds its surroundings of 3 ms by a
  /// factor of `factor`, and is at least `floor` (−60 dBFS).
  ///
  /// Suited to tones and music without sharp attacks; noise has a second difference that hides clicks.
  public func clicks(factor: Float = 12, floor: Float = 0.001) -> [Int] {
    let reach = max(8, sampleRate * 3 / 1000)
    var found: Set<Int> = []
    for channel in channels where channel.count > 2 {
      let bends: [Float] = (1..<(channel.count - 1)).map { frame in
        let around: Float = channel[frame - 1] + channel[frame + 1]
        return around - 2 * channel[frame]
      }
      var energy = [0.0]
      for bend in bends { energy.append((energy.last ?? 0) + Double(bend) * Double(bend)) }
      for index in bends.indices where bends[index].magnitude >= floor {
        let (first, last) = (max(0, index - reach), min(bends.count, index + reach + 1))
        let (near, far) = (max(first, index - 2), min(last, index + 3))
        let others = energy[last] - energy[first] - (energy[far] - energy[near])
        let count = last - first - (far - near)
        guard count > 0 else { continue }
        let usual = Float((max(0, others) / Double(count)).squareRoot())
        if bends[index].magnitude > factor * usual { found.insert(index + 1) }
      }
    }
    return found.sorted()
  }

  /// Returns the sum of all channels.
  private func mixed() -> [Double] {
    (0..<frameCount).map { frame in channels.reduce(0) { $0 + Double($1[frame]) } }
  }
}
