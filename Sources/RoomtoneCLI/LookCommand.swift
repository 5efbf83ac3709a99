internal import AudioCore
internal import EventLoop
internal import JSONText
internal import Roomtone
internal import SpeakerKit

/// `roomtone devices`, `roomtone groups`, `roomtone status`: the house in its saved state, inspected without
/// changes.
///
/// While another process drives the house, only that process knows which speakers play: it is asked at its control socket.
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
  }

  static func devices(_ options: Options) throws -> Int32 {
    try list("devices", options, deviceTable) { view in
      view.house.devices.map { HouseReport.device($0, knowsUse: view.owner == nil) }
    }
  }

  static func groups(_ options: Options) throws -> Int32 {
    try list("groups", options, groupTable) { view in
      view.house.groups.map { HouseReport.group($0, knowsUse: view.owner == nil) }
    }
  }

  /// Lists a part of the house as the process knows it that has it, or, without one, as it was saved.
  private static func list(
    _ method: String, _ options: Options, _ table: @escaping ([JSON]) -> TextTable,
    _ read: @escaping (View) -> [JSON]
  ) throws -> Int32 {
    if let client = try ControlClient.connect(toHouseOf: options.configuration) {
      let elements = try client.call(method).elements ?? []
      show(options, .array(elements), table(elements))
      return 0
    }
    return try look(options) { view, _ in
      let elements = read(view)
      show(options, .array(elements), table(elements))
    }
  }

  static func status(_ options: Options) throws -> Int32 {
    if let client = try ControlClient.connect(toHouseOf: options.configuration) {
      let status = Status(ofProcess: try client.call("status"))
      show(options, status.json, status.table)
      return 0
    }
    return try look(options) { view, configuration in
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

  static func deviceTable(_ devices: [JSON]) -> TextTable {
    var table = TextTable(["NAME", "GROUP", "ROLE", "VOLUME", "BALANCE", "WI-FI", "STATE", "OUTPUT", "ID"])
    for device in devices {
      let text = { (name: String) in device[name]?.text ?? "" }
      let wifi = device["wifi_signal"]?.int.map { signal in
        let strength = device["available"]?.bool == true ? WifiStrength(dBm: signal) : .none
        return "\(strength.rawValue) (\(signal) dBm)"
      }
      table.add([
        text("name"), text("group_name") == Group.ungrouped ? "-" : text("group_name"), text("role"),
        "\(device["volume"]?.int ?? 0)" + (device["muted"]?.bool == true ? " muted" : ""),
        balance(device["balance"]?.int ?? 0), wifi ?? "-", state(of: device),
        device["output"]?.text ?? "-", text("id"),
      ])
    }
    return table
  }

  /// Returns the text of a balance: `3 left`, `0`, `2 right`.
  static func balance(_ balance: Int) -> String {
    balance == 0 ? "0" : "\(abs(balance)) \(balance < 0 ? "left" : "right")"
  }

  private static func state(of device: JSON) -> String {
    guard device["available"]?.bool == true else { return "away" }
    guard let isPlaying = device["is_playing"]?.bool else { return "unknown" }
    return isPlaying ? "playing" : device["active"]?.bool == true ? "active" : "idle"
  }

  // MARK: Groups

  static func groupTable(_ groups: [JSON]) -> TextTable {
    var table = TextTable(["NAME", "ACTIVE", "ID", "MEMBERS"])
    for group in groups {
      let active = (group["active"]?.bool).map { $0 ? "yes" : "no" } ?? "unknown"
      let members = (group["members"]?.elements ?? []).compactMap(\.text)
      table.add([
        group["name"]?.text ?? "", active, group["id"]?.text ?? "", members.joined(separator: ", "),
      ])
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
    /// `true` for the speakers of the demonstration house.
    let isInvented: Bool
    /// The loss of the connection to the speakers in words; nil while it stands.
    let loss: String?
    /// Sources that play or are paused, a line for each session; nil when only another process knows them.
    let playing: [String]?
    let stateFolder: String?
    /// Path of the configuration in use; nil for none.
    let configuration: String?

    init(_ view: View, configuration: Configuration, file: String?) {
      driver = view.house.driverName
      output = view.owner?.output ?? configuration.driver.outputText
      owner = view.owner
      let devices = view.house.devices
      (speakers, available, groups) = (
        devices.count, devices.count { $0.isAvailable }, view.house.groups.count
      )
      isInvented = view.house.isInvented
      loss = view.house.loss
      playing = view.owner.map(\.playing) ?? []
      stateFolder = UserFolders.state
      self.configuration = file ?? EngineSetup.userFile()
    }

    /// The status of the house as the process reports it that has it.
    init(ofProcess status: JSON) {
      driver = status["driver"]?.text ?? "closed"
      output = status["output"]?.text ?? ""
      owner = HouseOwner(
        processID: (status["process"]?.int).map { Int32(clamping: $0) },
        name: status["name"]?.text ?? Engine.serviceName,
        output: output)
      (speakers, available, groups) = (
        status["speakers"]?.int ?? 0, status["available"]?.int ?? 0, status["groups"]?.int ?? 0
      )
      isInvented = status["invented"]?.bool == true
      loss = status["loss"]?.text
      playing = (status["playing"]?.elements ?? []).map { playing in
        let rooms = (playing["rooms"]?.elements ?? []).compactMap(\.text)
        return
          "\(playing["title"]?.text ?? "") in \(rooms.isEmpty ? "no room" : rooms.joined(separator: ", "))"
      }
      stateFolder = UserFolders.state
      configuration = status["configuration"]?.text
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
        ("invented", .bool(isInvented)), ("loss", .optional(loss)),
      ])
    }

    var table: TextTable {
      var table = TextTable()
      table.add(["House", driver])
      table.add(["Output", output])
      table.add(["Used by", owner?.description ?? "nobody"])
      let rooms = groups == 1 ? "1 group" : "\(groups) groups"
      let invented = isInvented ? "; invented, `roomtone help configuration` says how to name your own" : ""
      table.add(["Speakers", "\(speakers) in \(rooms), \(available) available\(invented)"])
      if let loss { table.add(["", loss]) }
      table.add([
        "Playing", playing.map { $0.isEmpty ? "nothing" : $0.joined(separator: "; ") } ?? "unknown",
      ])
      table.add(["State", stateFolder ?? "not kept: there is no home folder"])
      table.add(["Configuration", configuration ?? "none"])
      return table
    }
  }
}
