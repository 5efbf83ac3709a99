internal import AudioCore
internal import EventLoop
internal import LuaModules
internal import LuaRuntime
internal import SpeakerKit

// `house { … }`: the driver, the speakers, and where they sound.

extension Configuration {
  /// Names of the drivers, the default one first.
  public static var driverNames: [String] { drivers.map(\.name) }

  /// Selects a driver in place of the configured one, with its configured settings or else the default ones.
  /// - Parameter name: one of `driverNames`.
  /// - Throws: `argument` for a hub without a configured address.
  public mutating func useDriver(_ name: String) throws {
    switch name {
    case "snapcast":
      snapcast = snapcast ?? .searched
      hub = nil
    case "hkwhub":
      guard hub != nil else {
        throw LuaError(
          code: "argument", message: "the configuration names no hub",
          hint: "write its address there: house { driver = \"hkwhub\", url = \"http://192.0.2.7:8080\" }")
      }
    default: (snapcast, hub) = (nil, nil)
    }
  }

  /// Names of the drivers with their options.
  private static let drivers: [(name: String, options: [String])] = [
    ("house", ["output", "speakers"]),
    ("snapcast", ["host", "port", "managed", "streams", "buffer", "sessions"]),
    ("hkwhub", ["url", "token_file", "serve"]),
  ]

  static func readHouse(_ configuration: inout Configuration, _ call: LuaCall) throws {
    let options = try call.options(1, ["driver"] + drivers.flatMap(\.options))
    let name = try options.string("driver") ?? "house"
    guard let driver = drivers.first(where: { $0.name == name }) else {
      throw options.problem("driver", unknown("driver", name, among: drivers.map(\.name)))
    }
    for other in drivers where other.name != name {
      guard let option = other.options.first(where: { options[$0] != nil }) else { continue }
      throw options.problem(
        option, "the driver \"\(name)\" has none; it has \(driver.options.joined(separator: ", "))")
    }
    switch name {
    case "snapcast": return try readSnapcast(&configuration, options)
    case "hkwhub": return try readHub(&configuration, options)
    default: break
    }
    if let output = try options.string("output") {
      configuration.output = try Output(parsing: output)
      configuration.namesOutput = true
    }
    guard let list = options["speakers"] else { return }
    guard let entries = call.state.list(list, limit: 256) else {
      throw options.problem("speakers", "a list of at most 256 speakers expected")
    }
    let tables = try entries.enumerated().map { index, entry in
      try options.nested("speakers[\(index + 1)]", entry, speakerOptions)
    }
    let speakers = try tables.map(speaker)
    do throws(CardPlan.Problem) { _ = try CardPlan(speakers, output: configuration.output) } catch {
      throw tables[error.speaker].problem(
        error.option, "\(quoted(speakers[error.speaker].name)): \(error.message)")
    }
    configuration.speakers = speakers
  }

  /// Options of a speaker.
  private static let speakerOptions = [
    "name", "group", "role", "volume", "balance", "output", "channels", "delay",
  ]

  /// Returns the channels of a speaker; none for the first two of its card.
  private static func channels(_ options: LuaOptions) throws -> [Int] {
    guard let value = options["channels"] else { return [] }
    let expected = "one or two channels expected, counted from 1, as in { 3, 4 }"
    guard let list = options.state.list(value, limit: 2), !list.isEmpty else {
      throw options.problem("channels", expected)
    }
    return try list.map { element in
      guard case .int(let channel) = element else { throw options.problem("channels", expected) }
      return channel
    }
  }

  private static func readSnapcast(_ configuration: inout Configuration, _ options: LuaOptions) throws {
    var settings = SnapcastSettings()
    settings.isManaged = try options.bool("managed") ?? false
    if let host = try options.string("host", .name) {
      guard !settings.isManaged else {
        throw options.problem(
          "host", "a snapserver of the host's own listens on loopback alone; leave it out")
      }
      guard !host.isEmpty, host.utf8.count <= 253, !host.contains(where: \.isWhitespace) else {
        throw options.problem("host", "the name or the address of a machine expected, as in \"192.0.2.7\"")
      }
      settings.host = host
    }
    let port = try options.int("port", in: 1...65_535)
    settings.isSearched = try !settings.isManaged && port == nil && options.string("host", .name) == nil
    settings.port = port ?? settings.port
    if let streams = try options.string("streams", .name) {
      guard !streams.isEmpty, streams.utf8.allSatisfy({ SnapcastSettings.streamBytes.contains($0) }) else {
        throw options.problem(
          "streams", "the beginning of the names of streams expected: letters, digits, '-', '_' and '.'")
      }
      settings.streams = streams
    }
    if let buffer = try options.duration("buffer") {
      guard (.milliseconds(100) ... .seconds(10)).contains(buffer) else {
        throw options.problem("buffer", "0.1 s to 10 s expected: that of snapserver.conf, or 1 s")
      }
      settings.buffer = buffer
    }
    if let sessions = try options.int("sessions", in: 1...SnapcastSettings.mostSessions) {
      guard settings.isManaged else {
        throw options.problem(
          "sessions", "snapserver.conf declares the streams; this is for managed = true",
          hint: "`roomtone snapserver-config \(sessions)` prints its lines")
      }
      settings.sessions = sessions
    }
    configuration.snapcast = settings
  }

  private static func readHub(_ configuration: inout Configuration, _ options: LuaOptions) throws {
    guard let url = try options.string("url", .name) else {
      throw options.problem(
        "url", "the address that the hub shows is missing, as in \"http://192.0.2.7:8080\"")
    }
    let serve = try options.string("serve", .name)
    var settings: HubSettings
    do throws(SpeakerError) { settings = try HubSettings(url: url, serve: serve) } catch {
      let option = error.facts.first { $0.name == "option" }.flatMap { fact -> String? in
        if case .string(let name) = fact.value { name } else { nil }
      }
      throw options.problem(option ?? "url", error.message)
    }
    settings.tokenFile = try options.path("token_file")
    configuration.hub = settings
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
      volume: try options.int("volume", in: House.volumeRange) ?? 25,
      balance: try options.int("balance", in: -6...6) ?? 0, output: try output(options),
      channels: try channels(options), delay: try delay(options))
  }

  /// Returns the card of a speaker; nil for that of the house.
  private static func output(_ options: LuaOptions) throws -> Output? {
    guard let text = try options.string("output") else { return nil }
    do throws(SpeakerError) { return try Output(parsing: text) } catch {
      throw options.problem("output", error.message, hint: error.hint)
    }
  }

  private static func delay(_ options: LuaOptions) throws -> Duration {
    guard let delay = try options.duration("delay") else { return .zero }
    guard CardPlan.delays.contains(delay) else { throw options.problem("delay", "0 to 500 ms expected") }
    return delay
  }
}
