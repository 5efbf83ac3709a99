/// Asks for the shape of the equalizer.
package typealias GetEqualizerInfo = SingleRequest<0x0030, Done, EqualizerInfo>

/// The shape of the equalizer.
package struct EqualizerInfo: LinkMessage {
  /// The number of bands.
  package var bands: UInt8 = 0
  /// The lowest and the highest value of a band.
  package var lowest: Int8 = 0
  package var highest: Int8 = 0
  /// The number of presets.
  package var presets: UInt8 = 0

  package init() {}
  package init(bands: UInt8, lowest: Int8, highest: Int8, presets: UInt8) {
    (self.bands, self.lowest, self.highest, self.presets) = (bands, lowest, highest, presets)
  }

  package mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
    try coder.u8(&bands)
    try coder.i8(&lowest)
    try coder.i8(&highest)
    try coder.u8(&presets)
  }
}

/// Asks for the frequencies of the bands.
package typealias GetEqualizerBands = SingleRequest<0x0031, Done, EqualizerBands>

/// The frequencies of the bands.
package struct EqualizerBands: LinkMessage {
  /// Thousandths of a hertz; 63 at most.
  package var millihertz: [UInt32] = []

  package init() {}
  package init(millihertz: [UInt32]) { self.millihertz = millihertz }

  package mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
    try coder.u32s(&millihertz)
  }
}

/// Asks for the values of a preset.
package typealias GetEqualizer = SingleRequest<0x0032, UInt8, EqualizerValues>

/// The values of a preset.
package struct EqualizerValues: LinkMessage {
  /// Stands for the preset that is selected, in `GetEqualizer`.
  package static let selected: UInt8 = 0xFF

  package var preset: UInt8 = 0
  /// A value for each band; 255 at most.
  package var values: [Int8] = []

  package init() {}
  package init(preset: UInt8, values: [Int8]) {
    (self.preset, self.values) = (preset, values)
  }

  package mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
    try coder.u8(&preset)
    try coder.i8s(&values)
  }
}

/// Sets one band of a preset.
package struct SetEqualizerBand: LinkRequest {
  package typealias Answer = Done
  package static let operation = LinkOperation.setEqualizerBand

  package var preset: UInt8 = 0
  /// The index of the band, from 0.
  package var band: UInt8 = 0
  package var value: Int8 = 0

  package init() {}
  package init(preset: UInt8, band: UInt8, value: Int8) {
    (self.preset, self.band, self.value) = (preset, band, value)
  }

  package mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
    try coder.u8(&preset)
    try coder.u8(&band)
    try coder.i8(&value)
  }
}

/// Selects the preset that sounds.
package typealias SelectPreset = SingleRequest<0x0034, UInt8, Done>

/// Sets all bands of a preset.
package typealias SetEqualizer = SingleRequest<0x0035, EqualizerValues, Done>

/// Restores the factory values of a preset.
package typealias ResetEqualizer = SingleRequest<0x0036, UInt8, Done>

/// Reports that another preset sounds, or that its values have changed.
package typealias EqualizerChanged = SingleEvent<0x8030, EqualizerValues>
