/// A low-pass or high-pass filter: -3.01 dB at its frequency, 12 dB less with each octave beyond.
///
/// Owns its memory; for one thread at a time, `process` is for the audio thread too.
///
/// Source: R. Bristow-Johnson, "Cookbook formulae for audio EQ biquad filter coefficients", LPF and HPF.
public struct PassFilter: ~Copyable {
  /// The side that passes.
  public enum Kind: String, Sendable { case low, high }

  /// The valid frequencies in Hz.
  public static let range = 10.0...20_000.0

  private let filter: Biquad
  private let channels: Int
  /// `true` if the frequency is so near half the rate that no frequency lies beyond it.
  private let isBeyond: Bool
  private let kind: Kind
  /// The histories: two numbers a channel.
  private let state: UnsafeMutablePointer<Double>

  /// Creates a filter with empty histories. Above the format's range of frequencies a low-pass passes
  /// everything and a high-pass nothing.
  public init(_ kind: Kind, frequency: Double, format: AudioFormat) {
    self.kind = kind
    channels = max(1, format.channels)
    isBeyond = frequency >= 0.49 * Double(format.sampleRate)
    filter =
      isBeyond ? Biquad() : Biquad(pass: kind, frequency: frequency, sampleRate: Double(format.sampleRate))
    state = .allocate(capacity: 2 * channels)  // freed in deinit
    state.initialize(repeating: 0, count: 2 * channels)
  }

  deinit { state.deallocate() }

  /// Filters the frames of `view` in place; it has the format of the filter.
  @_noLocks public mutating func process(_ view: PCMView) {
    if isBeyond {
      if kind == .high { view.clear() }
      return
    }
    var channel = 0
    while channel < channels {
      filter.run(view.samples + channel, view.frames, channels, state + 2 &* channel)
      channel &+= 1
    }
  }
}
