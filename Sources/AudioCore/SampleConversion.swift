/// Conversion between float samples (full scale ±1) and whole numbers.
///
/// Reading divides by 2^(bits−1), which is exact for 16 and 24 bits; writing multiplies by it, rounds to the
/// nearest (halves to even) and clamps, so 16 and 24 bits survive a round trip unchanged, and +1 becomes the
/// largest number. No dither: a 16-bit sink receives the bits of a 16-bit source. NaN becomes 0. For any
/// thread.
public enum SampleConversion {
  /// Converts a 16-bit number, exactly.
  @_noLocks public static func float(_ sample: Int16) -> Float { Float(sample) * 0x1p-15 }

  /// Converts a 24-bit number, exactly.
  /// - Parameter sample: 24 bits with their sign: −8,388,608...8,388,607.
  @_noLocks public static func float(int24 sample: Int32) -> Float { Float(sample) * 0x1p-23 }

  /// Converts a 32-bit number; bits beyond the 24 of a Float32 are lost.
  @_noLocks public static func float(_ sample: Int32) -> Float { Float(sample) * 0x1p-31 }

  /// Returns the nearest 16-bit number.
  @_noLocks public static func int16(_ sample: Float) -> Int16 {
    Int16(truncatingIfNeeded: rounded(sample, scale: 0x1p15))
  }

  /// Returns the nearest 24-bit number.
  /// - Returns: 24 bits with their sign: −8,388,608...8,388,607.
  @_noLocks public static func int24(_ sample: Float) -> Int32 { rounded(sample, scale: 0x1p23) }

  /// Returns the nearest 32-bit number.
  @_noLocks public static func int32(_ sample: Float) -> Int32 { rounded(sample, scale: 0x1p31) }

  /// Converts `count` samples.
  @_noLocks public static func convert(
    _ source: UnsafePointer<Int16>, to destination: UnsafeMutablePointer<Float>, count: Int
  ) {
    var index = 0
    while index < count {
      destination[index] = float(source[index])
      index &+= 1
    }
  }

  /// Converts `count` samples.
  @_noLocks public static func convert(
    _ source: UnsafePointer<Float>, to destination: UnsafeMutablePointer<Int16>, count: Int
  ) {
    var index = 0
    while index < count {
      destination[index] = int16(source[index])
      index &+= 1
    }
  }

  /// Returns the nearest whole number of `sample · scale` within ±`scale`.
  ///
  /// Adding and subtracting 1.5·2^52 leaves no room for a fraction, so the processor's own rounding (to
  /// nearest, halves to even) does the work; `rounded()` is not available to `@_noLocks` code.
  @_noLocks private static func rounded(_ sample: Float, scale: Double) -> Int32 {
    let scaled = Double(sample) * scale
    if scaled >= scale - 1 { return Int32(scale - 1) }
    if scaled <= -scale { return Int32(-scale) }
    if scaled != scaled { return 0 }
    return Int32((scaled + 0x1.8p52) - 0x1.8p52)
  }
}
