internal import EventLoop
internal import HeadsetKit
internal import HeadsetLink
internal import JSONText

/// The report of `headset status`: all readable state of a headset.
struct HeadsetReport {
  private let headset: Headset
  private let image: String
  private let battery: HeadsetBattery?
  private let isQuiet: Bool?
  private let ambient: (now: HeadsetAmbient, most: HeadsetAmbient)?
  private let equalizer: HeadsetEqualizer?

  /// Reads the state of a headset; unsupported values are left out.
  init(_ headset: Headset) async throws(HeadsetError) {
    self.headset = headset
    let can = headset.capabilities
    image = try await headset.imageType()
    battery = can.contains("battery") ? try await headset.battery() : nil
    isQuiet = can.contains("noise_cancelling") ? try await headset.noiseCancelling() : nil
    ambient =
      can.contains("ambient") ? (try await headset.ambient(), try await headset.ambientMost()) : nil
    equalizer = can.contains("equalizer") ? try await Self.equalizer(headset) : nil
  }

  /// Returns the equalizer; nil for one without bands, or with more than the protocol allows.
  private static func equalizer(_ headset: Headset) async throws(HeadsetError) -> HeadsetEqualizer? {
    do throws(HeadsetError) { return try await headset.equalizer() } catch {
      guard [.noBands, .tooManyBands].contains(error.kind) else { throw error }
      return nil
    }
  }

  // MARK: For people

  var table: TextTable {
    var table = TextTable()
    table.add(["Headset", headset.name ?? "unknown"])
    table.add(["Model", headset.model ?? "unknown"])
    table.add(["Address", headset.address])
    table.add([
      "Firmware",
      (headset.firmwareVersion ?? "unknown") + (image == "bootloader" ? ", in its bootloader" : ""),
    ])
    if let battery {
      table.add(["Battery", "\(battery.percent) %" + (battery.isCharging ? ", charging" : "")])
    }
    if let isQuiet { table.add(["Noise cancelling", isQuiet ? "on" : "off"]) }
    if let ambient { table.add(["Ambient", Self.text(ambient.now, most: ambient.most)]) }
    if let equalizer {
      table.add(["Equalizer", Self.name(ofPreset: equalizer.preset)])
      for (hertz, value) in zip(equalizer.bands, equalizer.values) {
        table.add(["  " + Self.text(hertz: hertz), value > 0 ? "+\(value)" : "\(value)"])
      }
    }
    return table
  }

  /// Returns the text of the ambient levels: `left 3 of 7, right 0 of 7`.
  static func text(_ ambient: HeadsetAmbient, most: HeadsetAmbient) -> String {
    "left \(ambient.left) of \(most.left), right \(ambient.right) of \(most.right)"
  }

  /// Returns the name of a preset: `movie`; `preset 4` for one without a name.
  static func name(ofPreset number: Int) -> String {
    Headset.presetName(number) ?? "preset \(number)"
  }

  /// Returns the text of a frequency: `31 Hz`, `1.5 kHz`.
  static func text(hertz: Double) -> String {
    func plain(_ number: Double) -> String { Int(exactly: number).map(String.init) ?? "\(number)" }
    return hertz < 1000 ? plain(hertz) + " Hz" : plain(hertz / 1000) + " kHz"
  }

  // MARK: For programs

  var json: JSON {
    .object([
      ("name", .optional(headset.name)), ("model", .optional(headset.model)),
      ("address", .string(headset.address)),
      ("firmware_version", .optional(headset.firmwareVersion)), ("image_type", .string(image)),
      ("capabilities", .array(headset.capabilities.map { .string($0) })),
      (
        "battery",
        battery.map {
          .object([("percent", .number($0.percent)), ("charging", .bool($0.isCharging))])
        } ?? .null
      ),
      ("noise_cancelling", .optional(isQuiet)),
      (
        "ambient",
        ambient.map {
          .object([
            ("left", .number($0.now.left)), ("right", .number($0.now.right)),
            ("max", .object([("left", .number($0.most.left)), ("right", .number($0.most.right))])),
          ])
        } ?? .null
      ),
      ("equalizer", equalizer.map(Self.json) ?? .null),
    ])
  }

  private static func json(_ equalizer: HeadsetEqualizer) -> JSON {
    .object([
      ("preset", .number(equalizer.preset)), ("preset_name", .string(name(ofPreset: equalizer.preset))),
      ("min", .number(equalizer.range.lowerBound)), ("max", .number(equalizer.range.upperBound)),
      ("hertz", .array(equalizer.bands.map { .decimal($0) })),
      ("values", .array(equalizer.values.map { .number($0) })),
    ])
  }
}
