internal import Glibc

/// Conversion between decibels and amplitudes.
public enum Decibels {
  /// Returns the factor for samples of a gain in dB: 10^(dB/20).
  public static func gain(_ decibels: Double) -> Float { Float(pow(10, decibels / 20)) }

  /// Returns the level of an amplitude against full scale (1), in dBFS; −infinity for 0.
  public static func level(ofAmplitude amplitude: Double) -> Double {
    amplitude > 0 ? 20 * log10(amplitude) : -.infinity
  }
}
