public import EventLoop

/// The gains of the ten bands of an `Equalizer`, in dB.
public struct EqualizerGains: Sendable, Equatable {
  /// The centres of the bands in Hz. Source: ISO 266, octaves around 1 kHz.
  public static let frequencies = [31.25, 62.5, 125, 250, 500, 1000, 2000, 4000, 8000, 16_000]
  /// The names of the bands: 31 for 31.25 Hz, 62 for 62.5 Hz.
  public static let bands = [31, 62, 125, 250, 500, 1000, 2000, 4000, 8000, 16_000]
  /// The valid gains in dB.
  public static let range = -12.0...12.0

  /// The ten gains in dB, from the lowest band to the highest.
  public let decibels: [Double]

  /// Creates gains in dB, from the lowest band to the highest.
  /// - Throws: `audio.unsupported` if there are not ten gains, or one is outside ±12 dB or not a number.
  public init(_ decibels: [Double]) throws(AudioError) {
    guard decibels.count == Self.bands.count else {
      throw AudioError(.unsupported, "an equalizer has ten bands, not \(decibels.count)")
    }
    for (band, gain) in zip(Self.bands, decibels) where !Self.range.contains(gain) {
      throw AudioError(
        .unsupported, "the gain of \(gain) dB at \(band) Hz is outside -12 to 12 dB",
        facts: [.init("band", .int(band)), .init("gain", .number(gain))])
    }
    self.decibels = decibels
  }

  private init(table decibels: [Double]) { self.decibels = decibels }

  /// The gains of 0 dB in all bands.
  public static let flat = EqualizerGains(table: [Double](repeating: 0, count: 10))

  /// The gain of a band, counted from the lowest.
  public subscript(_ band: Int) -> Double { decibels[band] }

  /// The gains with a name, in the order in which they are shown.
  public static let presets: [(name: String, gains: EqualizerGains)] = [
    ("flat", flat),
    ("rock", EqualizerGains(table: [5, 4, 3, 1, -1, -1, 1, 3, 4, 4])),
    ("pop", EqualizerGains(table: [-1, 0, 2, 3, 4, 4, 2, 0, -1, -1])),
    ("jazz", EqualizerGains(table: [3, 2, 1, 2, -1, -1, 0, 1, 2, 3])),
    ("classical", EqualizerGains(table: [3, 2, 2, 1, 0, 0, 0, 1, 2, 3])),
    ("electronic", EqualizerGains(table: [5, 4, 2, 0, -2, 1, 0, 2, 4, 5])),
    ("voice", EqualizerGains(table: [-6, -5, -2, 1, 3, 4, 4, 3, 0, -2])),
    ("bass_boost", EqualizerGains(table: [7, 6, 5, 3, 1, 0, 0, 0, 0, 0])),
    ("bass_cut", EqualizerGains(table: [-7, -6, -5, -3, -1, 0, 0, 0, 0, 0])),
    ("treble_boost", EqualizerGains(table: [0, 0, 0, 0, 0, 1, 3, 5, 6, 7])),
    ("treble_cut", EqualizerGains(table: [0, 0, 0, 0, 0, -1, -3, -5, -6, -7])),
    ("loudness", EqualizerGains(table: [6, 5, 3, 0, -1, -1, 0, 1, 4, 5])),
    ("night", EqualizerGains(table: [-8, -6, -4, -1, 1, 2, 2, 1, -1, -3])),
  ]

  /// Returns the gains called `name`, nil for an unknown name.
  public static func preset(_ name: String) -> EqualizerGains? {
    presets.first { $0.name == name }?.gains
  }
}
