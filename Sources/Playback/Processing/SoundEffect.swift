public import AudioCore

/// A change of a stream's sound that needs no script.
public enum SoundEffect: Sendable, Equatable {
  /// Amplification in dB.
  case gain(Double)
  /// An equalizer of ten bands.
  case equalizer(EqualizerGains)
  /// The mean of all channels, on each of them.
  case mono
  /// The left and the right channel, exchanged.
  case swap
  /// A low-pass filter with a cutoff in Hz.
  case lowpass(Double)
  /// A high-pass filter with a cutoff in Hz.
  case highpass(Double)

  /// `true` if the output can be louder than the input. Filters shift phases, and so may raise a peak.
  var exceedsUnity: Bool {
    switch self {
    case .gain(let decibels): decibels > 0
    case .equalizer(let gains): gains != .flat
    case .lowpass, .highpass: true
    case .mono, .swap: false
    }
  }

  /// Creates the processor of the effect for sound of a format.
  func processor(for format: AudioFormat) -> any SoundProcessor {
    switch self {
    case .gain(let decibels): GainProcessor(gain: Decibels.gain(decibels))
    case .equalizer(let gains): EqualizerProcessor(gains, format)
    case .mono: MonoProcessor()
    case .swap: SwapProcessor()
    case .lowpass(let frequency): PassProcessor(PassFilter(.low, frequency: frequency, format: format))
    case .highpass(let frequency): PassProcessor(PassFilter(.high, frequency: frequency, format: format))
    }
  }
}

/// Changes sound of one format, piece by piece, without allocating. For one thread at a time.
protocol SoundProcessor: AnyObject {
  func process(_ view: PCMView)
}

private final class GainProcessor: SoundProcessor {
  private let gain: Float
  init(gain: Float) { self.gain = gain }
  func process(_ view: PCMView) { view.scale(by: gain) }
}

private final class EqualizerProcessor: SoundProcessor {
  private var equalizer: Equalizer
  init(_ gains: EqualizerGains, _ format: AudioFormat) { equalizer = Equalizer(format: format, gains: gains) }
  func process(_ view: PCMView) { equalizer.process(view) }
}

private final class PassProcessor: SoundProcessor {
  private var filter: PassFilter
  init(_ filter: consuming PassFilter) { self.filter = filter }
  func process(_ view: PCMView) { filter.process(view) }
}

private final class MonoProcessor: SoundProcessor {
  func process(_ view: PCMView) {
    guard view.channels > 1 else { return }
    let share = 1 / Float(view.channels)
    for frame in 0..<view.frames {
      let first = frame * view.channels
      var sum: Float = 0
      for channel in 0..<view.channels { sum += view.samples[first + channel] }
      for channel in 0..<view.channels { view.samples[first + channel] = sum * share }
    }
  }
}

private final class SwapProcessor: SoundProcessor {
  func process(_ view: PCMView) {
    guard view.channels > 1 else { return }
    for frame in 0..<view.frames {
      let left = view.samples + frame * view.channels
      (left[0], left[1]) = (left[1], left[0])
    }
  }
}
