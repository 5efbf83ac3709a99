/// Asks for the shape of the equalizer.
struct GetEqualizerInfo: LinkRequest, EmptyMessage {
  typealias Answer = EqualizerInfo
  static let operation = LinkOperation.equalizerInfo

  init() {}
}

/// The shape of the equalizer.
struct EqualizerInfo: LinkMessage {
  /// The number of bands.
  var bands: UInt8 = 0
  /// The lowest and the highest value of a band.
  var lowest: Int8 = 0
  var highest: Int8 = 0
  /// The number of presets.
  var presets: UInt8 = 0

  init() {}
  init(bands: UInt8, lowest: Int8, highest: Int8, presets: UInt8) {
    (self.bands, self.lowest, self.highest, self.presets) = (bands, lowest, highest, presets)
  }

  mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
    try coder.u8(&bands)
    try coder.i8(&lowest)
    try coder.i8(&highest)
    try coder.u8(&presets)
  }
}

/// Asks for the frequencies of the bands.
struct GetEqualizerBands: LinkRequest, EmptyMessage {
  typealias Answer = EqualizerBands
  static let operation = LinkOperation.equalizerBands

  init() {}
}

/// The frequencies of the bands.
struct EqualizerBands: LinkMessage {
  /// Thousandths of a hertz; 63 at most.
  var millihertz: [UInt32] = []

  init() {}
  init(millihertz: [UInt32]) { self.millihertz = millihertz }

  mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) { try coder.u32s(&millihertz) }
}

/// Asks for the values of a preset.
struct GetEqualizer: LinkRequest {
  typealias Answer = EqualizerValues
  static let operation = LinkOperation.equalizer
  /// Stands for the preset that is selected.
  static let selected: UInt8 = 0xFF

  var preset: UInt8 = 0

  init() {}
  init(preset: UInt8) { self.preset = preset }

  mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) { try coder.u8(&preset) }
}

/// The values of a preset.
struct EqualizerValues: LinkMessage {
  var preset: UInt8 = 0
  /// A value for each band; 255 at most.
  var values: [Int8] = []

  init() {}
  init(preset: UInt8, values: [Int8]) {
    (self.preset, self.values) = (preset, values)
  }

  mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
    try coder.u8(&preset)
    try coder.i8s(&values)
  }
}

/// Sets one band of a preset.
struct SetEqualizerBand: LinkRequest {
  typealias Answer = Done
  static let operation = LinkOperation.setEqualizerBand

  var preset: UInt8 = 0
  /// The index of the band, from 0.
  var band: UInt8 = 0
  var value: Int8 = 0

  init() {}
  init(preset: UInt8, band: UInt8, value: Int8) {
    (self.preset, self.band, self.value) = (preset, band, value)
  }

  mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
    try coder.u8(&preset)
    try coder.u8(&band)
    try coder.i8(&value)
  }
}

/// Selects the preset that sounds.
struct SelectPreset: LinkRequest {
  typealias Answer = Done
  static let operation = LinkOperation.selectPreset

  var preset: UInt8 = 0

  init() {}
  init(preset: UInt8) { self.preset = preset }

  mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) { try coder.u8(&preset) }
}

/// Sets all bands of a preset.
struct SetEqualizer: LinkRequest {
  typealias Answer = Done
  static let operation = LinkOperation.setEqualizer

  var equalizer = EqualizerValues()

  init() {}
  init(equalizer: EqualizerValues) { self.equalizer = equalizer }

  mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) { try equalizer.code(&coder) }
}

/// Restores the factory values of a preset.
struct ResetEqualizer: LinkRequest {
  typealias Answer = Done
  static let operation = LinkOperation.resetEqualizer

  var preset: UInt8 = 0

  init() {}
  init(preset: UInt8) { self.preset = preset }

  mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) { try coder.u8(&preset) }
}

/// Reports that another preset sounds, or that its values have changed.
struct EqualizerChanged: LinkEvent {
  static let operation = LinkOperation.equalizerChanged

  var equalizer = EqualizerValues()

  init() {}
  init(equalizer: EqualizerValues) { self.equalizer = equalizer }

  mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) { try equalizer.code(&coder) }
}
