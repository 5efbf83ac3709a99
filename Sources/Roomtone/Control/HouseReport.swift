internal import AudioCore
internal import Home
public import JSONText
public import SpeakerKit

/// The speakers and groups of a house as JSON, under the names that scripts use: for the control socket and for the
/// command line.
public enum HouseReport {
  /// A speaker.
  /// - Parameter knowsUse: `false` if another process drives the house, and it alone knows which speakers play.
  public static func device(_ device: Device, knowsUse: Bool = true) -> JSON {
    .object([
      ("id", .string(device.id)), ("name", .string(device.name)), ("group_id", .string(device.groupID)),
      ("group_name", .string(device.groupName)), ("model", .string(device.model)),
      ("ip_address", .string(device.ipAddress)), ("port", .number(device.port)),
      ("mac_address", .string(device.macAddress)), ("volume", .number(device.volume)),
      ("muted", .bool(device.isMuted)), ("active", knowsUse ? .bool(device.isActive) : .null),
      ("wifi_signal", device.wifiSignal.map { .number($0) } ?? .null),
      ("role", .string(device.role.rawValue)),
      ("version", .string(device.version)), ("balance", .number(device.balance)),
      ("is_playing", knowsUse ? .bool(device.isPlaying) : .null),
      ("channel_type", .number(device.channelType)),
      ("is_master", .bool(device.isMaster)), ("available", .bool(device.isAvailable)),
      ("output", .optional(device.output)),
    ])
  }

  /// The house of an engine, as members of the status of its process.
  static func status(of engine: Engine) -> [(name: String, value: JSON)] {
    let house = engine.house.open
    let playing = house.flatMap { try? RoomActions($0).playing(in: nil) } ?? []
    return [
      ("house", .string(house == nil ? "closed" : "open")), ("driver", .optional(house?.driverName)),
      ("loss", .optional(house?.loss)), ("output", .string(engine.options.configuration.driver.outputText)),
      ("configuration", .optional(engine.options.configuration.path)),
      ("speakers", .number(house?.devices.count ?? 0)), ("invented", .bool(house?.isInvented == true)),
      ("available", .number(house?.devices.count { $0.isAvailable } ?? 0)),
      ("groups", .number(house?.groups.count ?? 0)),
      ("playing", .array(playing.map(RoomReport.playing))),
    ]
  }

  /// A group.
  /// - Parameter knowsUse: as of `device`.
  public static func group(_ group: Group, knowsUse: Bool = true) -> JSON {
    .object([
      ("id", .string(group.id)), ("name", .string(group.name)),
      ("active", knowsUse ? .bool(group.isActive) : .null),
      ("members", .array(group.devices.map { .string($0.name) })),
    ])
  }
}
