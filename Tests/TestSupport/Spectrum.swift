internal import Glibc

/// A discrete Fourier transform, in place. Source: J. Cooley, J. Tukey, 1965 (radix 2, decimation in time).
struct Spectrum {
  private var real: [Double]
  private var imaginary: [Double]

  /// The transform of `signal` with zeros up to `size`, a power of two.
  init(_ signal: [Double], size: Int) {
    real = signal + [Double](repeating: 0, count: size - signal.count)
    imaginary = [Double](repeating: 0, count: size)
    transform(sign: -1)
  }

  /// Magnitudes of the lower half.
  var magnitudes: [Double] {
    (0..<(real.count / 2)).map { (real[$0] * real[$0] + imaginary[$0] * imaginary[$0]).squareRoot() }
  }

  mutating func multiply(byConjugateOf other: Spectrum) {
    for index in real.indices {
      let (a, b, c, d) = (real[index], imaginary[index], other.real[index], -other.imaginary[index])
      real[index] = a * c - b * d
      imaginary[index] = a * d + b * c
    }
  }

  /// Returns the real part of the signal that has this spectrum.
  func inverse() -> [Double] {
    var copy = self
    copy.transform(sign: 1)
    return copy.real.map { $0 / Double(real.count) }
  }

  private mutating func transform(sign: Double) {
    let size = real.count
    let roots = (0..<max(1, size / 2)).map { index in
      let angle = sign * 2 * .pi * Double(index) / Double(size)
      return (cos(angle), sin(angle))
    }
    real.withUnsafeMutableBufferPointer { real in
      imaginary.withUnsafeMutableBufferPointer { imaginary in
        Self.sortByReversedBits(real, imaginary)
        roots.withUnsafeBufferPointer { Self.combine(real, imaginary, roots: $0) }
      }
    }
  }

  private static func sortByReversedBits(
    _ real: UnsafeMutableBufferPointer<Double>, _ imaginary: UnsafeMutableBufferPointer<Double>
  ) {
    var reversed = 0
    for index in 1..<max(1, real.count) {
      var bit = real.count >> 1
      while reversed & bit != 0 {
        reversed ^= bit
        bit >>= 1
      }
      reversed ^= bit
      if index < reversed {
        real.swapAt(index, reversed)
        imaginary.swapAt(index, reversed)
      }
    }
  }

  private static func combine(
    _ real: UnsafeMutableBufferPointer<Double>, _ imaginary: UnsafeMutableBufferPointer<Double>,
    roots: UnsafeBufferPointer<(Double, Double)>
  ) {
    var half = 1
    while half < real.count {
      let step = real.count / (2 * half)
      var start = 0
      while start < real.count {
        var offset = 0
        while offset < half {
          let (cosine, sine) = roots[offset * step]
          let (low, high) = (start + offset, start + offset + half)
          let turnedReal = real[high] * cosine - imaginary[high] * sine
          let turnedImaginary = real[high] * sine + imaginary[high] * cosine
          real[high] = real[low] - turnedReal
          imaginary[high] = imaginary[low] - turnedImaginary
          real[low] += turnedReal
          imaginary[low] += turnedImaginary
          offset += 1
        }
        start += 2 * half
      }
      half *= 2
    }
  }
}
