internal import Glibc

/// Test signals, one channel each.
public enum Signal {
  /// Returns a sine of `frequency` Hz that starts at 0.
  public static func sine(
    _ frequency: Double, amplitude: Double = 1, frames: Int, sampleRate: Int
  ) -> [Float] {
    (0..<frames).map { frame in
      Float(amplitude * sin(2 * .pi * frequency * Double(frame) / Double(sampleRate)))
    }
  }

  /// Returns `frames` samples of one value.
  public static func constant(_ value: Float, frames: Int) -> [Float] {
    [Float](repeating: value, count: frames)
  }

  /// Returns white noise, evenly distributed in ±`amplitude`; the same for the same seed, everywhere.
  public static func noise(seed: UInt64, amplitude: Float = 1, frames: Int) -> [Float] {
    var random = SeededRandom(seed: seed)
    return (0..<frames).map { _ in Float.random(in: -amplitude...amplitude, using: &random) }
  }
}

/// Random numbers that are the same in every process. Source: SplitMix64, S. Vigna, 2015.
public struct SeededRandom: RandomNumberGenerator, Sendable {
  private var state: UInt64

  /// The sequence of `seed`.
  public init(seed: UInt64) { state = seed }

  /// Returns the next number.
  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }

  /// Returns `count` random bytes.
  public mutating func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) }
  }
}
