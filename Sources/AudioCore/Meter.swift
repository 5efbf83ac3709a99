/// Measures the loudness of a stereo session, block by block.
///
/// The audio thread adds blocks and drains readings; a reading travels through a ring to the loop, which
/// converts it to dBFS (logarithms are no work for the audio thread). A trivial value for one thread.
public struct Meter: BitwiseCopyable, Sendable {
  private var sum: (left: Double, right: Double) = (0, 0)
  private var peak: (left: Float, right: Float) = (0, 0)
  private var frames = 0

  /// Creates a meter without frames.
  @_noLocks public init() {}

  /// Measures the frames of `view`; the first two channels count, a mono view counts on both sides.
  @_noLocks public mutating func add(_ view: PCMView) {
    let right = view.channels > 1 ? 1 : 0
    var sample = view.samples
    var frame = 0
    while frame < view.frames {
      let (l, r) = (sample[0], sample[right])
      sum.left += Double(l) * Double(l)
      sum.right += Double(r) * Double(r)
      if l.magnitude > peak.left { peak.left = l.magnitude }
      if r.magnitude > peak.right { peak.right = r.magnitude }
      sample += view.channels
      frame &+= 1
    }
    frames &+= view.frames
  }

  /// Returns the reading since the last call and starts a new one.
  @_noLocks public mutating func read() -> MeterReading {
    let over = frames > 0 ? 1 / Double(frames) : 0
    let reading = MeterReading(
      frames: frames,
      left: MeterReading.Channel(meanSquare: sum.left * over, peak: peak.left),
      right: MeterReading.Channel(meanSquare: sum.right * over, peak: peak.right))
    self = Meter()
    return reading
  }
}

/// The figures of a meter over some frames.
public struct MeterReading: BitwiseCopyable, Sendable, Equatable {
  /// The figures of one channel.
  public struct Channel: BitwiseCopyable, Sendable, Equatable {
    /// The mean of the squared samples.
    public let meanSquare: Double
    /// The largest magnitude of a sample (not of the curve between samples).
    public let peak: Float

    /// Creates a channel's figures.
    @_noLocks public init(meanSquare: Double, peak: Float) {
      self.meanSquare = meanSquare
      self.peak = peak
    }

    /// The root mean square relative to full scale in dBFS: a square wave of ±1 has 0, a sine of ±1 has
    /// −3.01, silence has −infinity.
    public var rmsDBFS: Double { Decibels.level(ofAmplitude: meanSquare.squareRoot()) }
    /// The peak relative to full scale in dBFS; −infinity for silence.
    public var peakDBFS: Double { Decibels.level(ofAmplitude: Double(peak)) }
  }

  /// The number of measured frames.
  public let frames: Int
  /// The first channel.
  public let left: Channel
  /// The second channel; the first again for mono.
  public let right: Channel

  /// Creates a reading of both channels.
  @_noLocks public init(frames: Int, left: Channel, right: Channel) {
    self.frames = frames
    self.left = left
    self.right = right
  }
}
