internal import Glibc

/// Computes the levels of bands of equal width: the spectrum of a piece of sound, for displays.
///
/// The channels are mixed, a Hann window is applied to the piece, and a Fourier transform follows, with two
/// points for each band. A sine of full scale in the middle of a band has 0 dBFS there. Band `k` of `n`, from
/// 0, lies around `k` / 2`n` of the sample rate.
///
/// Source: J. W. Cooley and J. W. Tukey, "An algorithm for the machine calculation of complex Fourier
/// series", 1965, in place with radix 2.
public struct BandLevels: Sendable {
  /// `true` if a spectrum may have `bands` bands: a power of two from 8 to 2048.
  public static func supports(bands: Int) -> Bool { 8...2048 ~= bands && bands & (bands - 1) == 0 }

  /// The number of bands.
  public let bands: Int
  private let roots: [(cosine: Double, sine: Double)]

  /// Creates the transform for `bands` bands.
  /// - Precondition: `supports(bands:)`.
  public init(bands: Int) {
    precondition(Self.supports(bands: bands), "\(bands) bands are not supported")
    self.bands = bands
    roots = (0..<bands).map { index in
      let angle = -Double.pi * Double(index) / Double(bands)
      return (cos(angle), sin(angle))
    }
  }

  /// Returns the levels in dBFS of the first 2`n` frames of `view`; missing frames count as silence.
  public func levels(of view: PCMView) -> [Double] {
    let size = 2 * bands
    let frames = min(size, view.frames)
    var real = [Double](repeating: 0, count: size)
    var imaginary = real
    var weight = 0.0
    for frame in 0..<frames {
      let window = 0.5 - 0.5 * cos(2 * Double.pi * (Double(frame) + 0.5) / Double(frames))
      var sum = 0.0
      for channel in 0..<view.channels { sum += Double(view.samples[frame * view.channels + channel]) }
      real[frame] = window * sum / Double(max(1, view.channels))
      weight += window
    }
    guard weight > 0 else { return [Double](repeating: -.infinity, count: bands) }
    transform(&real, &imaginary)
    return (0..<bands).map { band in
      let magnitude = (real[band] * real[band] + imaginary[band] * imaginary[band]).squareRoot()
      // A sine is half in the negative frequencies; a constant is not.
      return Decibels.level(ofAmplitude: magnitude * (band == 0 ? 1 : 2) / weight)
    }
  }

  private func transform(_ real: inout [Double], _ imaginary: inout [Double]) {
    let size = real.count
    let shift = Int.bitWidth - size.trailingZeroBitCount
    for index in 0..<size {
      let mirrored = Int(bitPattern: UInt(bitPattern: index).bitReversed >> UInt(shift))
      if mirrored > index { real.swapAt(index, mirrored) }
    }
    var half = 1
    while half < size {
      for start in stride(from: 0, to: size, by: 2 * half) {
        for offset in 0..<half {
          let root = roots[offset * (bands / half)]
          let (low, high) = (start + offset, start + offset + half)
          let turned = (
            real: real[high] * root.cosine - imaginary[high] * root.sine,
            imaginary: real[high] * root.sine + imaginary[high] * root.cosine
          )
          (real[high], imaginary[high]) = (real[low] - turned.real, imaginary[low] - turned.imaginary)
          (real[low], imaginary[low]) = (real[low] + turned.real, imaginary[low] + turned.imaginary)
        }
      }
      half *= 2
    }
  }
}

extension UInt {
  /// The bits in reverse order.
  fileprivate var bitReversed: UInt {
    var (rest, mirrored) = (self, UInt(0))
    for _ in 0..<UInt.bitWidth {
      mirrored = mirrored << 1 | rest & 1
      rest >>= 1
    }
    return mirrored
  }
}
