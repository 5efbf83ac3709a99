public import EventLoop
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

extension SeededRandom {
  /// Returns `count` random bytes.
  public mutating func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) }
  }
}
