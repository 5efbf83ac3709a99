internal import AudioCore
internal import EventLoop
internal import JSONText
internal import Roomtone
internal import SpeakerKit

/// `roomtone devices`, `roomtone groups`, `roomtone status`: the house as reported by the process that has
/// it, or, without one, in its saved state. Nothing is changed.
///
/// Only the process that drives a house knows which speakers play; a process that can't be asked has
/// published a part of its state.
enum LookCommand {
  static func run(_ arguments: ParsedArguments) throws -> Int32 {
    let (name, isJSON) = (arguments.command.name, arguments.has(.jsonList))
    let house = try HouseConnection.open(arguments.text(.config), .look, command: name)
    let result = try house.call(name)
    switch name {
    case "devices": HouseCommand.show(result, isJSON: isJSON) { deviceTable($0.elements ?? []).lines }
    case "groups": HouseCommand.show(result, isJSON: isJSON) { groupTable($0.elements ?? []).lines }
    default:
      let status = status(result, file: arguments.text(.config))
      HouseCommand.show(status, isJSON: isJSON) { statusTable($0).lines }
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
        "\(device["volume"]?.int ?? 0)" + (device["muted"]?.bool == true ? " muted" : "")
          + (device["max_volume"]?.int.map { " (limit \($0))" } ?? ""),
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

  // MARK: Status

  /// Returns the report of `status` for the answer of the house's method.
  /// - Parameter file: the configuration that the command line names.
  private static func status(_ answer: JSON, file: String?) -> JSON {
    let house = answer["house"]?.text
    let isSaved = house == "saved" || house == "elsewhere"
    // A daemon does not report its name.
    let name = answer["name"]?.text ?? (isSaved ? nil : Engine.serviceName)
    let process = JSON.object([("id", answer["process"] ?? .null), ("name", .optional(name))])
    let playing = answer["playing"]?.elements.map { elements in
      JSON.array(elements.map { .string($0.text ?? ControlText.source(of: $0)) })
    }
    func member(_ name: String) -> (name: String, value: JSON) { (name, answer[name] ?? .null) }
    return .object([
      ("driver", .string(answer["driver"]?.text ?? "closed")), member("output"),
      ("process", house == "saved" ? .null : process), member("speakers"), member("available"),
      member("groups"), ("playing", playing ?? .null), ("state_folder", .optional(UserFolders.state)),
      ("configuration", .optional((isSaved ? file : nil) ?? answer["configuration"]?.text)),
      member("invented"), member("loss"),
    ])
  }

  private static func statusTable(_ status: JSON) -> TextTable {
    let text = { (name: String) in status[name]?.text }
    let number = { (name: String) in status[name]?.int ?? 0 }
    var owner: HouseOwner?
    if case .object? = status["process"] {
      let id = status["process"]?["id"]?.int
      owner = HouseOwner(processID: id.map { Int32(clamping: $0) }, name: status["process"]?["name"]?.text)
    }
    var table = TextTable()
    table.add(["House", text("driver") ?? ""])
    table.add(["Output", text("output") ?? ""])
    table.add(["Used by", owner?.description ?? "nobody"])
    let rooms = number("groups") == 1 ? "1 group" : "\(number("groups")) groups"
    let isInvented = status["invented"]?.bool == true
    let invented = isInvented ? "; invented, `roomtone help configuration` says how to name your own" : ""
    table.add(["Speakers", "\(number("speakers")) in \(rooms), \(number("available")) available\(invented)"])
    if let loss = text("loss") { table.add(["", loss]) }
    let playing = status["playing"]?.elements?.compactMap(\.text)
    table.add([
      "Playing", playing.map { $0.isEmpty ? "nothing" : $0.joined(separator: "; ") } ?? "unknown",
    ])
    table.add(["State", text("state_folder") ?? "not kept: there is no home folder"])
    table.add(["Configuration", text("configuration") ?? "none"])
    return table
  }
}
