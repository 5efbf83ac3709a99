internal import AudioCore
internal import EventLoop
internal import JSONText
internal import Roomtone
internal import SpeakerKit

/// `roomtone devices`, `roomtone groups`, `roomtone status`: the house as the process reports it that has it, or, without
/// one, in its saved state. Nothing is changed.
///
/// Only the process that drives a house knows which speakers play; one that can't be asked has published some of it.
enum LookCommand {
  static func run(_ arguments: ParsedArguments) throws -> Int32 {
    let (name, isJSON) = (arguments.command.name, arguments.has(.jsonList))
    let house = try HouseConnection.open(arguments.text(.config), .look, command: name)
    let result = try house.call(name)
    if name == "status" {
      let status = Status(result, file: arguments.text(.config))
      HouseCommand.show(status.json, isJSON: isJSON) { _ in status.table.lines }
    } else {
      let table = name == "groups" ? groupTable : deviceTable
      HouseCommand.show(result, isJSON: isJSON) { table($0.elements ?? []).lines }
    }
    return 0
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

    /// The status of a house, as its method reports it.
    /// - Parameter file: the configuration that the command line names.
    init(_ status: JSON, file: String?) {
      driver = status["driver"]?.text ?? "closed"
      output = status["output"]?.text ?? ""
      let house = status["house"]?.text
      let isSaved = house == "saved" || house == "elsewhere"
      // A daemon says no name.
      let name = status["name"]?.text ?? (isSaved ? nil : Engine.serviceName)
      let process = (status["process"]?.int).map { Int32(clamping: $0) }
      owner = house == "saved" ? nil : HouseOwner(processID: process, name: name)
      (speakers, available, groups) = (
        status["speakers"]?.int ?? 0, status["available"]?.int ?? 0, status["groups"]?.int ?? 0
      )
      isInvented = status["invented"]?.bool == true
      loss = status["loss"]?.text
      playing = status["playing"]?.elements?.map { $0.text ?? Self.line($0) }
      stateFolder = UserFolders.state
      configuration = (isSaved ? file : nil) ?? status["configuration"]?.text
    }

    /// Returns the line of a session that plays or is paused.
    private static func line(_ playing: JSON) -> String {
      let rooms = (playing["rooms"]?.elements ?? []).compactMap(\.text)
      return "\(playing["title"]?.text ?? "") in \(rooms.isEmpty ? "no room" : rooms.joined(separator: ", "))"
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
