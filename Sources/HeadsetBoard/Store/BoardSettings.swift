internal import HeadsetLink

/// What the wearer and the host have set.
struct BoardSettings: BoardRecord {
  static let file = BoardFile.settings

  var isCancelling = false
  var left: UInt8 = 0
  var right: UInt8 = 0
  var preset: UInt8 = 0
  /// For each preset, for each band.
  var values: [[Int8]]
  var battery: Battery

  /// As a board comes from the factory.
  init(_ profile: BoardProfile) {
    values = profile.presets.map(\.values)
    battery = profile.battery
  }

  init(from reader: inout PayloadReader) throws(PayloadError) {
    isCancelling = try reader.bool()
    (left, right, preset) = try (reader.u8(), reader.u8(), reader.u8())
    battery = try Battery(from: &reader)
    values = []
    for _ in 0..<(try reader.u8()) { values.append(try reader.i8s()) }
  }

  func write(to writer: inout PayloadWriter) throws(PayloadError) {
    writer.bool(isCancelling)
    for value in [left, right, preset] { writer.u8(value) }
    try battery.write(to: &writer)
    writer.u8(UInt8(values.count))
    for value in values { try writer.i8s(value) }
  }

  /// Whether a board of this profile can have them: the folder may have been another one's.
  func fit(_ profile: BoardProfile) -> Bool {
    values.map(\.count) == profile.presets.map(\.values.count) && Int(preset) < values.count
      && values.joined().allSatisfy { (profile.lowest...profile.highest).contains($0) }
      && left <= profile.ambientLimits.left && right <= profile.ambientLimits.right
  }

  subscript(_ side: Side) -> UInt8 {
    get { side == .left ? left : right }
    set { if side == .left { left = newValue } else { right = newValue } }
  }

  /// What sounds.
  var equalizer: EqualizerValues { EqualizerValues(preset: preset, values: values[Int(preset)]) }
}
