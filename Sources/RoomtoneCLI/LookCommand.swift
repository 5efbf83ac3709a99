internal import AudioCore
internal import EventLoop
internal import JSONText
internal import Roomtone
internal import SpeakerKit

/// `roomtone devices`, `roomtone groups`, `roomtone status`: the house in its saved state, inspected without
/// changes.
///
/// While another process drives the house, only that process knows which speakers play.
enum LookCommand {
  struct Options {
    var json: Bool
    var configuration: String?
  }

  /// The inspected house.
  struct View {
    let house: House
    /// Process that drives the house, nil for none.
    let owner: HouseOwner?

    /// Returns `value` while no process drives the house, and so no speaker plays; else nil.
    func known<Value>(_ value: Value) -> Value? { owner == nil ? value : nil }
  }

  static func devices(_ options: Options) throws -> Int32 {
    try look(options) { view, _ in
      show(options, .array(view.house.devices.map { object($0, view) }), deviceTable(view))
    }
  }

  static func groups(_ options: Options) throws -> Int32 {
    try look(options) { view, _ in
      show(options, .array(view.house.groups.map { object($0, view) }), groupTable(view))
    }
  }

  static func status(_ options: Options) throws -> Int32 {
    try look(options) { view, configuration in
      let status = Status(view, configuration: configuration, file: options.configuration)
      show(options, status.json, status.table)
    }
  }

  private static func look(_ options: Options, _ body: @escaping (View, Configuration) -> Void) throws
    -> Int32
  {
    var engineOptions = EngineOptions()
    let configuration = try EngineSetup.configuration(file: options.configuration)
    engineOptions.configuration = configuration
    engineOptions.access = .look
    engineOptions.stateFolder = UserFolders.state
    let owner = try UserFolders.state.flatMap { try HouseDriver.owner(ofStateFolder: $0) }
    return try EngineSetup.engine(engineOptions).perform { house in
      body(View(house: house, owner: owner), configuration)
    }.status
  }

  private static func show(_ options: Options, _ json: JSON, _ table: TextTable) {
    if options.json { Terminal.print(json.lines) } else { table.lines.forEach(Terminal.print) }
  }

  // MARK: Speakers

  /// Returns all fields of a speaker, under the names that scripts use.
  static func object(_ device: Device, _ view: View) -> JSON {
    .object([
      ("id", .string(device.id)), ("name", .string(device.name)), ("group_id", .string(device.groupID)),
      ("group_name", .string(device.groupName)), ("model", .string(device.model)),
      ("ip_address", .string(device.ipAddress)), ("port", .number(device.port)),
      ("mac_address", .string(device.macAddress)), ("volume", .number(device.volume)),
      ("muted", .bool(device.isMuted)), ("active", .optional(view.known(device.isActive))),
      ("wifi_signal", .number(device.wifiSignal)), ("role", .string(device.role.rawValue)),
      ("version", .string(device.version)), ("balance", .number(device.balance)),
      ("is_playing", .optional(view.known(device.isPlaying))), ("channel_type", .number(device.channelType)),
      ("is_master", .bool(device.isMaster)), ("available", .bool(device.isAvailable)),
    ])
  }

  static func deviceTable(_ view: View) -> TextTable {
    var table = TextTable(["NAME", "GROUP", "ROLE", "VOLUME", "BALANCE", "WI-FI", "STATE", "ID"])
    for device in view.house.devices {
      table.add([
        device.name, device.groupName == Group.ungrouped ? "-" : device.groupName, device.role.rawValue,
        "\(device.volume)" + (device.isMuted ? " muted" : ""), balance(device.balance),
        "\(device.wifiStrength.rawValue) (\(device.wifiSignal) dBm)", state(of: device, view), device.id,
      ])
    }
    return table
  }

  /// Returns the text of a balance: `3 left`, `0`, `2 right`.
  static func balance(_ balance: Int) -> String {
    balance == 0 ? "0" : "\(abs(balance)) \(balance < 0 ? "left" : "right")"
  }

  private static func state(of device: Device, _ view: View) -> String {
    guard device.isAvailable else { return "away" }
    guard let isPlaying = view.known(device.isPlaying) else { return "unknown" }
    return isPlaying ? "playing" : device.isActive ? "active" : "idle"
  }

  // MARK: Groups

  static func object(_ group: Group, _ view: View) -> JSON {
    .object([
      ("id", .string(group.id)), ("name", .string(group.name)),
      ("active", .optional(view.known(group.isActive))),
      ("members", .array(group.devices.map { .string($0.name) })),
    ])
  }

  static func groupTable(_ view: View) -> TextTable {
    var table = TextTable(["NAME", "ACTIVE", "ID", "MEMBERS"])
    for group in view.house.groups {
      let active = view.known(group.isActive).map { $0 ? "yes" : "no" } ?? "unknown"
      table.add([group.name, active, group.id, group.devices.map(\.name).joined(separator: ", ")])
    }
    return table
  }
}

extension LookCommand {
  /// The report of `status`.
  struct Status {
    let driver: String
    let output: String
    let owner: HouseOwner?
    let (speakers, available, groups): (Int, Int, Int)
    /// Sources that play or are paused, a line for each session; nil when only another process knows them.
    let playing: [String]?
    let stateFolder: String?
    /// Path of the configuration in use; nil for none.
    let configuration: String?

    init(_ view: View, configuration: Configuration, file: String?) {
      driver = view.house.driverName
      output = view.owner?.output ?? configuration.output.text
      owner = view.owner
      let devices = view.house.devices
      (speakers, available, groups) = (
        devices.count, devices.count { $0.isAvailable }, view.house.groups.count
      )
      playing = view.owner.map(\.playing) ?? []
      stateFolder = UserFolders.state
      self.configuration = file ?? EngineSetup.userFile()
    }

    var json: JSON {
      let process = owner.map { owner in
        JSON.object([
          ("id", owner.processID.map { .number(Int($0)) } ?? .null), ("name", .optional(owner.name)),
        ])
      }
      return .object([
        ("driver", .string(driver)), ("output", .string(output)), ("process", process ?? .null),
        ("speakers", .number(speakers)), ("available", .number(available)), ("groups", .number(groups)),
        ("playing", playing.map { .array($0.map { .string($0) }) } ?? .null),
        ("state_folder", .optional(stateFolder)), ("configuration", .optional(configuration)),
      ])
    }

    var table: TextTable {
      var table = TextTable()
      table.add(["House", driver])
      table.add(["Output", output])
      table.add(["Used by", owner?.description ?? "nobody"])
      let rooms = groups == 1 ? "1 group" : "\(groups) groups"
      table.add(["Speakers", "\(speakers) in \(rooms), \(available) available"])
      table.add([
        "Playing", playing.map { $0.isEmpty ? "nothing" : $0.joined(separator: "; ") } ?? "unknown",
      ])
      table.add(["State", stateFolder ?? "not kept: there is no home folder"])
      table.add(["Configuration", configuration ?? "none"])
      return table
    }
  }
}
