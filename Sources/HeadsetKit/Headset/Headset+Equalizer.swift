public import EventLoop
public import HeadsetLink

extension Headset {
  /// Returns the equalizer with the values of a preset; of the selected one when `preset` is nil.
  /// - Throws: `noBands`, `tooManyBands`, `wrongBandCount`, `range`.
  public func equalizer(preset: Int? = nil) async throws(HeadsetError) -> HeadsetEqualizer {
    let shape = try await equalizerShape(for: .equalizer)
    let asked = try preset.map { number throws(HeadsetError) in try shape.number(of: number, .equalizer) }
    let answer = try await ask(GetEqualizer(asked ?? EqualizerValues.selected), .equalizer)
    guard answer.values.count == shape.hertz.count else {
      throw HeadsetError(
        .wrongBandCount,
        "equalizer: the board gives \(answer.values.count) values for \(shape.hertz.count) bands")
    }
    return HeadsetEqualizer(
      bands: shape.hertz, range: shape.range, preset: Int(answer.preset), values: answer.values.map(Int.init))
  }

  /// Sets one band of a preset.
  /// - Parameter band: from 1.
  public func setBand(preset: Int, band: Int, value: Int) async throws(HeadsetError) {
    let shape = try await equalizerShape(for: .setEqualizerBand)
    let number = try shape.number(of: preset, .setEqualizerBand)
    guard (1...shape.hertz.count).contains(band) else {
      throw HeadsetError(
        .range, "set equalizer band: there is no band \(band), there are \(shape.hertz.count)")
    }
    let value = try shape.value(value, .setEqualizerBand)
    _ = try await ask(
      SetEqualizerBand(preset: number, band: UInt8(band - 1), value: value), .equalizer)
  }

  /// Makes a preset the one that sounds.
  public func select(preset: Int) async throws(HeadsetError) {
    let shape = try await equalizerShape(for: .selectPreset)
    _ = try await ask(SelectPreset(try shape.number(of: preset, .selectPreset)), .equalizer)
  }

  /// Sets all bands of a preset.
  public func setEqualizer(preset: Int, values: [Int]) async throws(HeadsetError) {
    let shape = try await equalizerShape(for: .setEqualizer)
    let number = try shape.number(of: preset, .setEqualizer)
    guard values.count == shape.hertz.count else {
      throw HeadsetError(
        .wrongBandCount, "set equalizer: \(values.count) values for \(shape.hertz.count) bands")
    }
    let checked = try values.map { value throws(HeadsetError) in try shape.value(value, .setEqualizer) }
    _ = try await ask(SetEqualizer(EqualizerValues(preset: number, values: checked)), .equalizer)
  }

  /// Resets a preset to its factory values.
  public func resetPreset(_ preset: Int) async throws(HeadsetError) {
    let shape = try await equalizerShape(for: .resetEqualizer)
    _ = try await ask(ResetEqualizer(try shape.number(of: preset, .resetEqualizer)), .equalizer)
  }

  /// The shape of the equalizer, requested once in a connection, so that the order of calls never matters.
  private func equalizerShape(for operation: LinkOperation) async throws(HeadsetError) -> EqualizerShape {
    if let shape = board?.shape, driver.isConnected, !isBusy { return shape }
    let info = try await ask(GetEqualizerInfo(), .equalizer)
    guard info.bands > 0 else {
      throw HeadsetError(.noBands, "\(operation.name): the headset at \(address) has no equalizer bands")
    }
    guard info.bands <= EqualizerShape.mostBands else {
      throw HeadsetError(
        .tooManyBands,
        "\(operation.name): the headset at \(address) has \(info.bands) equalizer bands, "
          + "\(EqualizerShape.mostBands) at most are supported")
    }
    guard info.lowest <= info.highest else {
      throw HeadsetError(
        .noData,
        "\(operation.name): the headset at \(address) has bands from \(info.lowest) to \(info.highest)")
    }
    let bands = try await ask(GetEqualizerBands(), .equalizer)
    guard bands.millihertz.count == Int(info.bands) else {
      throw HeadsetError(
        .wrongBandCount,
        "\(operation.name): the headset at \(address) has \(info.bands) bands and reports the frequencies of "
          + "\(bands.millihertz.count)")
    }
    let new = EqualizerShape(
      hertz: bands.millihertz.map { Double($0) / 1000 }, range: Int(info.lowest)...Int(info.highest),
      presets: Int(info.presets))
    board?.shape = new
    return new
  }
}

extension EqualizerShape {
  /// Returns the number of a preset in the form of the protocol.
  fileprivate func number(of preset: Int, _ operation: LinkOperation) throws(HeadsetError) -> UInt8 {
    guard (0..<presets).contains(preset), let number = UInt8(exactly: preset) else {
      throw HeadsetError(
        .range, "\(operation.name): there is no preset \(preset), the headset has \(presets), counted from 0")
    }
    return number
  }

  /// Returns the value of a band in the form of the protocol.
  fileprivate func value(_ value: Int, _ operation: LinkOperation) throws(HeadsetError) -> Int8 {
    guard range.contains(value), let small = Int8(exactly: value) else {
      throw HeadsetError(
        .range, "\(operation.name): a band takes \(range.lowerBound) to \(range.upperBound), not \(value)")
    }
    return small
  }
}
