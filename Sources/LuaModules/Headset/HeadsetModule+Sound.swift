internal import HeadsetKit
internal import LuaRuntime

/// The sound of a headset: noise cancelling, ambient sound, the equalizer; and its battery.
extension HeadsetModule {
  func defineSound() {
    method("noise_cancelling", arity: 0) { headset, _ in { .bool(try await headset.noiseCancelling()) } }
    action("set_noise_cancelling", arity: 1) { headset, call in
      let isOn = try call.bool(2)
      return { try await headset.setNoiseCancelling(isOn) }
    }
    method("ambient", arity: 0) { headset, _ in
      {
        let (now, most) = (try await headset.ambient(), try await headset.ambientMost())
        return .record([("left", .int(now.left)), ("right", .int(now.right)), ("max", Self.value(most))])
      }
    }
    method("ambient_max", arity: 0) { headset, _ in { Self.value(try await headset.ambientMost()) } }
    action("set_ambient", arity: 1) { headset, call in
      let options = try call.options(2, ["left", "right"])
      let (left, right) = (try options.int("left", in: 0 ... .max), try options.int("right", in: 0 ... .max))
      guard left != nil || right != nil else { throw call.problem(2, "left or right expected, or both") }
      return { try await headset.setAmbient(left: left, right: right) }
    }
    method("battery", arity: 0) { headset, _ in
      {
        let battery = try await headset.battery()
        return .record([("percent", .int(battery.percent)), ("charging", .bool(battery.isCharging))])
      }
    }
  }

  private static func value(_ ambient: HeadsetAmbient) -> LuaValue {
    .record([("left", .int(ambient.left)), ("right", .int(ambient.right))])
  }

  func defineEqualizer() {
    method("equalizer", arity: 1) { headset, call in
      let preset = call.isNil(2) ? nil : try call.headsetPreset(2)
      return { Self.value(try await headset.equalizer(preset: preset)) }
    }
    action("set_band", arity: 3) { headset, call in
      let preset = try call.headsetPreset(2)
      let (band, value) = (try call.int(3, in: 1 ... .max), try call.int(4))
      return { try await headset.setBand(preset: preset, band: band, value: value) }
    }
    action("set_preset", arity: 1) { headset, call in
      let preset = try call.headsetPreset(2)
      return { try await headset.select(preset: preset) }
    }
    action("set_equalizer", arity: 2) { headset, call in
      let (preset, values) = (try call.headsetPreset(2), try call.wholeNumbers(3))
      return { try await headset.setEqualizer(preset: preset, values: values) }
    }
    action("reset_preset", arity: 1) { headset, call in
      let preset = try call.headsetPreset(2)
      return { try await headset.resetPreset(preset) }
    }
  }

  private static func value(_ equalizer: HeadsetEqualizer) -> LuaValue {
    .record([
      ("bands", .list(equalizer.bands.map(band))), ("min", .int(equalizer.range.lowerBound)),
      ("max", .int(equalizer.range.upperBound)), ("preset", .int(equalizer.preset)),
      ("preset_name", .optional(Headset.presetName(equalizer.preset))),
      ("values", .list(equalizer.values.map { .int($0) })),
    ])
  }

  /// The text of a band's frequency: 31 Hz, 1.5 kHz.
  private static func band(_ hertz: Double) -> LuaValue {
    let (frequency, unit) = hertz < 1000 ? (hertz, "Hz") : (hertz / 1000, "kHz")
    return .record([
      ("frequency", .shortest(frequency)), ("unit", .string(unit)), ("hertz", .shortest(hertz)),
    ])
  }
}

extension LuaValue {
  /// Returns an integer when the number is whole.
  fileprivate static func shortest(_ number: Double) -> LuaValue {
    Int(exactly: number).map { .int($0) } ?? .number(number)
  }
}
