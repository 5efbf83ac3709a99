internal import AudioCore
internal import EventLoop
internal import LuaRuntime
internal import SpeakerKit

// `house { … }`: the speakers, and where they sound.

extension Configuration {
  static func readHouse(_ configuration: inout Configuration, _ call: LuaCall) throws {
    let options = try call.options(1, ["driver", "output", "speakers"])
    if let driver = try options.string("driver"), driver != "house" {
      throw options.problem("driver", "\"house\" expected, got \"\(driver)\"")
    }
    if let output = try options.string("output") {
      configuration.output = try Output(parsing: output)
      configuration.namesOutput = true
    }
    guard let list = options["speakers"] else { return }
    guard let entries = call.state.list(list, limit: 256) else {
      throw options.problem("speakers", "a list of at most 256 speakers expected")
    }
    configuration.speakers = try entries.enumerated().map { index, entry in
      try speaker(
        try options.nested("speakers[\(index + 1)]", entry, ["name", "group", "role", "volume", "balance"]))
    }
  }

  private static func speaker(_ options: LuaOptions) throws -> SpeakerSpec {
    guard let name = try options.string("name", .name), !name.isEmpty else {
      throw options.problem("name", "a name is missing")
    }
    let group = try options.string("group", .name)
    for (option, given) in [("name", name), ("group", group ?? name)] {
      if let problem = NameRule.problem(with: given) { throw options.problem(option, "it \(problem)") }
    }
    var role = ChannelRole.stereo
    if let given = try options.string("role") {
      guard let known = ChannelRole(rawValue: given) else {
        throw options.problem("role", unknown("role", given, among: ChannelRole.allCases.map(\.rawValue)))
      }
      role = known
    }
    return SpeakerSpec(
      name: name, group: group, role: role,
      volume: try options.int("volume", in: 0...House.maximumVolume) ?? 25,
      balance: try options.int("balance", in: -6...6) ?? 0)
  }
}
