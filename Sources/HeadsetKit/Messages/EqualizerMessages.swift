/// Asks what the equalizer is like.
struct GetEqualizerInfo: LinkRequest, EmptyMessage {
  typealias Answer = EqualizerInfo
  static let operation = LinkOperation.equalizerInfo
}

/// What the equalizer is like.
struct EqualizerInfo: LinkMessage {
  /// How many bands it has.
  var bands: UInt8
  /// The least and the most that a band can be set to.
  var lowest, highest: Int8
  /// How many presets it has.
  var presets: UInt8
}

extension EqualizerInfo {
  init(from payload: inout PayloadReader) throws(PayloadError) {
    bands = try payload.u8()
    (lowest, highest) = try (payload.i8(), payload.i8())
    presets = try payload.u8()
  }

  func write(to payload: inout PayloadWriter) throws(PayloadError) {
    payload.u8(bands)
    payload.i8(lowest)
    payload.i8(highest)
    payload.u8(presets)
  }
}

/// Asks for the frequencies of the bands.
struct GetEqualizerBands: LinkRequest, EmptyMessage {
  typealias Answer = EqualizerBands
  static let operation = LinkOperation.equalizerBands
}

/// The frequencies of the bands.
struct EqualizerBands: LinkMessage {
  /// In thousandths of a hertz; 63 at most.
  var millihertz: [UInt32]
}

extension EqualizerBands {
  init(from payload: inout PayloadReader) throws(PayloadError) { millihertz = try payload.u32s() }
  func write(to payload: inout PayloadWriter) throws(PayloadError) { try payload.u32s(millihertz) }
}

/// Asks for the values of a preset.
struct GetEqualizer: LinkRequest {
  typealias Answer = EqualizerValues
  static let operation = LinkOperation.equalizer
  /// Stands for the preset that is selected.
  static let selected: UInt8 = 0xFF

  var preset: UInt8
}

extension GetEqualizer {
  init(from payload: inout PayloadReader) throws(PayloadError) { preset = try payload.u8() }
  func write(to payload: inout PayloadWriter) throws(PayloadError) { payload.u8(preset) }
}

/// What the bands of a preset are set to.
struct EqualizerValues: LinkMessage {
  var preset: UInt8
  /// One for each band; 255 at most.
  var values: [Int8]
}

extension EqualizerValues {
  init(from payload: inout PayloadReader) throws(PayloadError) {
    preset = try payload.u8()
    values = try payload.i8s()
  }

  func write(to payload: inout PayloadWriter) throws(PayloadError) {
    payload.u8(preset)
    try payload.i8s(values)
  }
}

/// Sets one band of a preset.
struct SetEqualizerBand: LinkRequest {
  typealias Answer = Done
  static let operation = LinkOperation.setEqualizerBand

  var preset: UInt8
  /// From 0.
  var band: UInt8
  var value: Int8
}

extension SetEqualizerBand {
  init(from payload: inout PayloadReader) throws(PayloadError) {
    (preset, band) = try (payload.u8(), payload.u8())
    value = try payload.i8()
  }

  func write(to payload: inout PayloadWriter) throws(PayloadError) {
    payload.u8(preset)
    payload.u8(band)
    payload.i8(value)
  }
}

/// Makes a preset the one that sounds.
struct SelectPreset: LinkRequest {
  typealias Answer = Done
  static let operation = LinkOperation.selectPreset

  var preset: UInt8
}

extension SelectPreset {
  init(from payload: inout PayloadReader) throws(PayloadError) { preset = try payload.u8() }
  func write(to payload: inout PayloadWriter) throws(PayloadError) { payload.u8(preset) }
}

/// Sets all bands of a preset.
struct SetEqualizer: LinkRequest {
  typealias Answer = Done
  static let operation = LinkOperation.setEqualizer

  var equalizer: EqualizerValues
}

extension SetEqualizer {
  init(from payload: inout PayloadReader) throws(PayloadError) {
    equalizer = try EqualizerValues(from: &payload)
  }

  func write(to payload: inout PayloadWriter) throws(PayloadError) { try equalizer.write(to: &payload) }
}

/// Makes a preset what it was when the headset was new.
struct ResetEqualizer: LinkRequest {
  typealias Answer = Done
  static let operation = LinkOperation.resetEqualizer

  var preset: UInt8
}

extension ResetEqualizer {
  init(from payload: inout PayloadReader) throws(PayloadError) { preset = try payload.u8() }
  func write(to payload: inout PayloadWriter) throws(PayloadError) { payload.u8(preset) }
}

/// The preset that sounds is another, or has other values.
struct EqualizerChanged: LinkEvent {
  static let operation = LinkOperation.equalizerChanged

  var equalizer: EqualizerValues
}

extension EqualizerChanged {
  init(from payload: inout PayloadReader) throws(PayloadError) {
    equalizer = try EqualizerValues(from: &payload)
  }

  func write(to payload: inout PayloadWriter) throws(PayloadError) { try equalizer.write(to: &payload) }
}
