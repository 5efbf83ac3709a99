internal import Glibc

/// Conversion between decibels and amplitudes.
public enum Decibels {
  /// The valid gains of sessions and streams, in dB. The lowest can't be distinguished from silence at 16
  /// bits.
  public static let gainRange = -90.0...12.0
  /// `gainRange` in messages.
  public static var gainRangeText: String { "\(Int(gainRange.lowerBound))...\(Int(gainRange.upperBound))" }

  /// Returns the factor for samples of a gain in dB: 10^(dB/20).
  public static func gain(_ decibels: Double) -> Float { Float(pow(10, decibels / 20)) }

  /// Returns the level of an amplitude relative to full scale (1), in dBFS; −infinity for 0.
  public static func level(ofAmplitude amplitude: Double) -> Double {
    amplitude > 0 ? 20 * log10(amplitude) : -.infinity
  }
}

/// The gain of a speaker's volume, 0 to 50.
///
/// gain = 10^(−0.9·(50 − v)/20): 50 is unity, a step is 0.9 dB, and 0 is silence instead of −45 dB.
public enum VolumeLaw {
  /// The valid volumes.
  public static let range = 0...50

  /// Returns the factor for samples at `volume`: exactly 0 at 0 and exactly 1 at 50.
  /// - Precondition: `range` contains `volume`; callers validate input first.
  public static func gain(at volume: Int) -> Float {
    precondition(range.contains(volume), "volume \(volume) is outside \(range)")
    guard volume > 0 else { return 0 }
    return Float(pow(10, -0.9 * Double(range.upperBound - volume) / 20))
  }
}
