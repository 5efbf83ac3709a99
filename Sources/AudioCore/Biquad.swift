internal import Glibc

/// A filter of second order, with a0 = 1.
struct Biquad: BitwiseCopyable, Sendable {
  private var b0 = 1.0
  private var b1 = 0.0
  private var b2 = 0.0
  private var a1 = 0.0
  private var a2 = 0.0

  init() {}

  /// Creates a peak of one octave between the frequencies of half its gain in dB.
  init(peak frequency: Double, gain: Double, sampleRate: Double) {
    let omega: Double = 2 * Double.pi * frequency / sampleRate
    let amplitude = pow(10, gain / 40)
    let width: Double = log(2) / 2 * omega / sin(omega)
    let alpha = sin(omega) * sinh(width)
    let a0 = 1 + alpha / amplitude
    b0 = (1 + alpha * amplitude) / a0
    b1 = -2 * cos(omega) / a0
    b2 = (1 - alpha * amplitude) / a0
    a1 = b1
    a2 = (1 - alpha / amplitude) / a0
  }

  /// Creates a low-pass or high-pass with a quality of 1/√2: Butterworth's, -3.01 dB at `frequency`.
  init(pass kind: PassFilter.Kind, frequency: Double, sampleRate: Double) {
    let omega: Double = 2 * Double.pi * frequency / sampleRate
    let alpha: Double = sin(omega) * 0.5.squareRoot()
    let a0 = 1 + alpha
    switch kind {
    case .low:
      b1 = (1 - cos(omega)) / a0
      b0 = b1 / 2
    case .high:
      b1 = -(1 + cos(omega)) / a0
      b0 = -b1 / 2
    }
    b2 = b0
    a1 = -2 * cos(omega) / a0
    a2 = (1 - alpha) / a0
  }

  /// A tone, as filters answer it.
  struct Tone {
    fileprivate let cosine: Double
    fileprivate let sine: Double
    /// The same of twice the angle.
    fileprivate let cosine2: Double
    fileprivate let sine2: Double

    /// Creates the tone at `omega` radians a sample.
    init(_ omega: Double) {
      (cosine, sine) = (cos(omega), sin(omega))
      (cosine2, sine2) = (cos(2 * omega), sin(2 * omega))
    }
  }

  /// Returns the factor for the power of a tone.
  func power(of tone: Tone) -> Double {
    func square(_ c0: Double, _ c1: Double, _ c2: Double) -> Double {
      let real = c0 + c1 * tone.cosine + c2 * tone.cosine2
      let imaginary = c1 * tone.sine + c2 * tone.sine2
      return real * real + imaginary * imaginary
    }
    return square(b0, b1, b2) / square(1, a1, a2)
  }

  /// Filters one sample; `state` has two numbers.
  @_noLocks func next(_ input: Double, _ state: UnsafeMutablePointer<Double>) -> Double {
    let output = b0 * input + state[0]
    state[0] = b1 * input - a1 * output + state[1]
    state[1] = b2 * input - a2 * output
    return output
  }

  /// Filters `frames` samples, `stride` apart, in place.
  @_noLocks func run(
    _ samples: UnsafeMutablePointer<Float>, _ frames: Int, _ stride: Int,
    _ state: UnsafeMutablePointer<Double>
  ) {
    var (first, second) = (state[0], state[1])
    var index = 0
    var frame = 0
    while frame < frames {
      let input = Double(samples[index])
      let output = b0 * input + first
      first = b1 * input - a1 * output + second
      second = b2 * input - a2 * output
      samples[index] = Float(output)
      index &+= stride
      frame &+= 1
    }
    Self.keep(first, second, in: state)
  }

  /// Filters the channel at `samples` and the next one, as `run` does for one channel.
  @_noLocks func run(
    _ samples: UnsafeMutablePointer<Float>, _ frames: Int, _ stride: Int,
    _ left: UnsafeMutablePointer<Double>, _ right: UnsafeMutablePointer<Double>
  ) {
    var (first, second) = (left[0], left[1])
    var (otherFirst, otherSecond) = (right[0], right[1])
    var index = 0
    var frame = 0
    while frame < frames {
      let (input, otherInput) = (Double(samples[index]), Double(samples[index &+ 1]))
      let (output, otherOutput) = (b0 * input + first, b0 * otherInput + otherFirst)
      first = b1 * input - a1 * output + second
      otherFirst = b1 * otherInput - a1 * otherOutput + otherSecond
      second = b2 * input - a2 * output
      otherSecond = b2 * otherInput - a2 * otherOutput
      samples[index] = Float(output)
      samples[index &+ 1] = Float(otherOutput)
      index &+= stride
      frame &+= 1
    }
    Self.keep(first, second, in: left)
    Self.keep(otherFirst, otherSecond, in: right)
  }

  /// Stores a history, with inaudibly small numbers as 0: they are slow to compute with.
  @_noLocks private static func keep(
    _ first: Double, _ second: Double, in state: UnsafeMutablePointer<Double>
  ) {
    state[0] = first.magnitude < 1e-30 ? 0 : first
    state[1] = second.magnitude < 1e-30 ? 0 : second
  }
}
