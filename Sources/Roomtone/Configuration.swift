internal import AudioCore
internal import EventLoop
internal import Glibc
public import LuaModules
public import LuaRuntime
public import SpeakerKit
public import StreamKit

/// What the configuration file says, with the defaults for what it leaves out.
public struct Configuration: Sendable {
  /// Where the speakers sound.
  public var output = Output.alsa(device: "default")
  /// The speakers of the embedded house; nil for the demonstration house.
  public var speakers: [SpeakerSpec]?
  /// What a script may use.
  public var limits = LuaLimits()
  /// The least level that is shown.
  public var logLevel = LogLevel.info
  /// Where recordings go, and how long they stay.
  public var recordings = RecorderSettings()
  /// Stations that have a name.
  public var stations = NamedStations()

  /// The defaults.
  public init() {}

  /// Reads a file.
  ///
  /// The file is Lua in an environment that has only `house`, `limits`, `log`, `recordings` and `stations`, each
  /// of which takes one table.
  /// - Throws: `LuaError`: what is wrong with file and line.
  public init(text: [UInt8], path: String) throws {
    self.init()
    var read = self
    try DeclarationFile.run(
      text, path: path, kind: "configuration",
      Self.sections.map { section in
        LuaFunction(section.name) { call in
          try section.read(&read, call)
          return .none
        }
      })
    self = read
  }

  private struct Section {
    let name: String
    let read: (inout Configuration, LuaCall) throws -> Void
  }

  private static var sections: [Section] {
    [
      Section(name: "house", read: readHouse), Section(name: "limits", read: readLimits),
      Section(name: "log", read: readLog), Section(name: "recordings", read: readRecordings),
      Section(name: "stations", read: readStations),
    ]
  }

  private static func readHouse(_ configuration: inout Configuration, _ call: LuaCall) throws {
    let options = try call.options(1, ["driver", "output", "speakers"])
    if let driver = try options.string("driver"), driver != "house" {
      throw options.problem("driver", "\"house\" expected, got \"\(driver)\"")
    }
    if let output = try options.string("output") { configuration.output = try Output(parsing: output) }
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
    guard let name = try options.string("name"), !name.isEmpty else {
      throw options.problem("name", "a name is missing")
    }
    var role = ChannelRole.stereo
    if let given = try options.string("role") {
      guard let known = ChannelRole(rawValue: given) else {
        throw options.problem("role", unknown("role", given, among: ChannelRole.allCases.map(\.rawValue)))
      }
      role = known
    }
    return SpeakerSpec(
      name: name, group: try options.string("group"), role: role,
      volume: try options.int("volume", in: 0...House.maximumVolume) ?? 25,
      balance: try options.int("balance", in: -6...6) ?? 0)
  }

  private static func readLimits(_ configuration: inout Configuration, _ call: LuaCall) throws {
    let options = try call.options(1, ["memory", "run"])
    if let megabytes = try options.int("memory", in: 1...65_536) {
      configuration.limits.memory = megabytes << 20
    }
    if let run = try options.duration("run") { configuration.limits.run = run }
  }

  private static func readLog(_ configuration: inout Configuration, _ call: LuaCall) throws {
    let options = try call.options(1, ["level"])
    guard let given = try options.string("level") else { return }
    guard let level = LogLevel(rawValue: given) else {
      throw options.problem("level", unknown("level", given, among: LogLevel.allCases.map(\.rawValue)))
    }
    configuration.logLevel = level
  }

  private static func readRecordings(_ configuration: inout Configuration, _ call: LuaCall) throws {
    let options = try call.options(1, ["folder", "template", "keep", "min_free"])
    if let given = try options.string("folder") {
      guard let folder = absolute(given) else {
        throw options.problem(
          "folder", "an absolute path, or one that begins with ~/, expected, got \"\(given)\"")
      }
      configuration.recordings.folder = folder
    }
    if let template = try options.string("template") {
      do throws(TemplateError) { _ = try RecordingTemplate(template) } catch {
        throw options.problem("template", error.message, hint: error.hint)
      }
      configuration.recordings.template = template
    }
    if let keep = try options.duration("keep") {
      guard keep > .zero else {
        throw options.problem("keep", "more than 0 expected: leave it out to keep all recordings")
      }
      configuration.recordings.keep = keep
    }
    configuration.recordings.minimumFree = try options.byteSize("min_free") ?? 0
  }

  /// With the home folder for `~/`; nil for a relative path, and where there is no home.
  private static func absolute(_ path: String) -> String? {
    guard path == "~" || path.hasPrefix("~/") else { return path.hasPrefix("/") ? path : nil }
    guard let home = getenv("HOME").map({ String(cString: $0) }), home.hasPrefix("/") else { return nil }
    return home + path.dropFirst()
  }

  private static func readStations(_ configuration: inout Configuration, _ call: LuaCall) throws {
    for (key, value) in try call.entries(1) {
      guard case .string(let name) = key, NamedStations.isName(name) else {
        throw call.problem(
          1, "a station's name expected, got \(call.state.text(key)): it has no / or : and begins with no -")
      }
      guard case .string(let url) = value else {
        throw call.problem(1, "station '\(name)': a URL expected, got \(call.state.typeName(value))")
      }
      do throws(StreamError) {
        try StreamURL.check(url)
      } catch {
        throw call.problem(1, "station '\(name)': \(error.message)", hint: error.hint)
      }
      configuration.stations.urls[name] = url
    }
  }
}
