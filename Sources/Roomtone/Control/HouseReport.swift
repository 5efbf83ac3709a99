internal import AudioCore
internal import EventLoop
internal import Home
internal import JSONText
internal import MQTT
internal import SpeakerKit

/// The speakers and groups of a house as JSON, under the names that scripts use.
enum HouseReport {
  /// A speaker.
  /// - Parameter knowsUse: `false` if another process drives the house and alone knows which speakers play.
  static func device(_ device: Device, knowsUse: Bool = true) -> JSON {
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
      ("output", .optional(device.output)), ("asked_volume", .number(device.requestedVolume)),
      ("max_volume", device.volumeLimit.map { .number($0) } ?? .null),
    ])
  }

  /// The house of an engine, as members of the status of its process. An engine that only looks shows a house that is
  /// `saved`, in which nothing plays, or `elsewhere`, with the lines of `playing` that its process has published.
  /// - Parameter owner: the other process that drives the house; nil without one.
  static func status(of engine: Engine, owner: HouseOwner? = nil) -> [(name: String, value: JSON)] {
    let house = engine.house.open
    let state =
      if house == nil { "closed" } else if engine.options.access != .look { "open" } else {
        owner == nil ? "saved" : "elsewhere"
      }
    let sessions = house.flatMap { try? RoomActions($0).playing(in: nil) } ?? []
    let playing: JSON =
      if let owner { owner.playing.map { .array($0.map { .string($0) }) } ?? .null } else {
        .array(sessions.map(RoomReport.playing))
      }
    return [
      ("house", .string(state)), ("driver", .optional(house?.driverName)), ("loss", .optional(house?.loss)),
      ("output", .string(owner?.output ?? engine.options.configuration.driver.outputText)),
      ("configuration", .optional(engine.options.configuration.path)),
      ("speakers", .number(house?.devices.count ?? 0)), ("invented", .bool(house?.isInvented == true)),
      ("available", .number(house?.devices.count { $0.isAvailable } ?? 0)),
      ("groups", .number(house?.groups.count ?? 0)),
      ("playing", playing), ("mqtt", mqtt(of: engine)),
    ]
  }

  /// The connection of an engine to a broker of MQTT; null without one.
  private static func mqtt(of engine: Engine) -> JSON {
    guard let options = engine.mqtt.options else { return .null }
    let (state, since, reason): (String, WallTime?, String?) =
      switch engine.mqtt.state {
      case .notConfigured, .idle: ("idle", nil, nil)
      case .connecting: ("connecting", nil, nil)
      case .connected(let since): ("connected", since, nil)
      case .away(let since, let reason): ("away", since, reason)
      }
    return .object([
      ("broker", .string(options.settings.address)), ("state", .string(state)),
      ("since", since.map { .decimal($0.inSeconds) } ?? .null), ("reason", .optional(reason)),
      ("client_id", .string(engine.mqtt.clientID)), ("base", .string(options.base)),
    ])
  }

  /// A group.
  /// - Parameter knowsUse: as in `device`.
  static func group(_ group: Group, knowsUse: Bool = true) -> JSON {
    .object([
      ("id", .string(group.id)), ("name", .string(group.name)),
      ("active", knowsUse ? .bool(group.isActive) : .null),
      ("members", .array(group.devices.map { .string($0.name) })),
    ])
  }
}
