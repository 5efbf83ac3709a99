internal import AudioCore
internal import EventLoop
internal import LuaRuntime

extension LuaCall {
  /// The name of a preset, or `{[31]=, [62]=, …}`, in which omitted bands are at 0 dB.
  func equalizer(_ number: Int) throws -> EqualizerGains {
    if case .string(let name) = value(number) {
      guard let gains = EqualizerGains.preset(name) else {
        throw problem(number, unknown("preset", name, among: EqualizerGains.presets.map(\.name)))
      }
      return gains
    }
    guard case .reference(let table) = value(number), state.typeName(.reference(table)) == "table" else {
      throw mismatch(number, "name of a preset, or table of bands")
    }
    var decibels = EqualizerGains.flat.decibels
    for (key, value) in try entries(number) {
      guard case .int(let frequency) = key, let band = EqualizerGains.bands.firstIndex(of: frequency) else {
        let bands = EqualizerGains.bands.map { "\($0)" }.joined(separator: ", ")
        throw problem(number, "no band is called '\(state.text(key))'; bands here: \(bands)")
      }
      decibels[band] = try gain(value, ofBand: frequency, number)
    }
    return try EqualizerGains(decibels)
  }

  private func gain(_ value: LuaValue, ofBand band: Int, _ number: Int) throws -> Double {
    let gain: Double
    switch value {
    case .int(let whole): gain = Double(whole)
    case .number(let number): gain = number
    default: throw problem(number, "band \(band): number expected, got \(state.typeName(value))")
    }
    guard EqualizerGains.range.contains(gain) else {
      throw problem(number, "band \(band): -12 to 12 dB expected, got \(state.text(value))")
    }
    return gain
  }
}
