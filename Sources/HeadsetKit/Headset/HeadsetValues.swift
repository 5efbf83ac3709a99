/// How full a headset's battery is.
public struct HeadsetBattery: Equatable, Sendable {
  /// 0 to 100.
  public var percent: Int
  /// Whether it is being charged.
  public var isCharging: Bool
}

/// How much of the surroundings each side lets in, from 0 up to what the headset can.
public struct HeadsetAmbient: Equatable, Sendable {
  /// The left side's.
  public var left: Int
  /// The right side's.
  public var right: Int
}

/// A headset's equalizer and the values of one preset.
public struct HeadsetEqualizer: Equatable, Sendable {
  /// The frequencies of the bands in hertz; 1 to 10.
  public var bands: [Double]
  /// What a band can be set to, in steps of the headset's own.
  public var range: ClosedRange<Int>
  /// The preset, from 0.
  public var preset: Int
  /// One for each band.
  public var values: [Int]
}

/// What a headset's equalizer is like: the same as long as it is connected.
struct EqualizerShape: Equatable {
  /// The most bands that there may be.
  static let mostBands = 10

  let hertz: [Double]
  let range: ClosedRange<Int>
  let presets: Int
}
