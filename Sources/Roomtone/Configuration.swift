internal import EventLoop
internal import Glibc
public import HeadsetKit
internal import HeadsetLink
public import Home
internal import LuaModules
public import LuaRuntime
public import RecordingKit
public import Scheduling
public import SpeakerKit

/// The settings of the configuration file, with the defaults for settings that it leaves out.
public struct Configuration: Sendable {
  /// The absolute path of the file; nil for the defaults.
  public var path: String?
  /// The settings of the embedded house, which a simulation has whatever the driver.
  public var house = HouseSettings()
  /// The settings of another driver; nil for the embedded house.
  private var remote: (any DriverKind)?
  /// The rooms and speakers in which a person's playback sounds who names none; nil for all of the house.
  public var defaultRooms: [String]?
  /// The limits of scripts.
  public var limits = LuaLimits()
  /// The least level that is shown.
  public var logLevel = LogLevel.info
  /// The settings of recordings.
  public var recordings = RecorderSettings()
  /// The stations by name.
  public var stations = NamedStations()
  /// The point at which times by the sun count; nil without one.
  public var location: Location?
  /// The address and the keys of the headset.
  public var headset = HeadsetSettings()
  /// The server of the page and its webhooks; nil without one.
  public var page: PageSettings?
  /// The broker of MQTT; nil without one.
  public var mqtt: MQTTOptions?

  /// The defaults.
  public init() {}

  /// Name of the driver of the house.
  public var driverName: String { type(of: driver).name }

  /// `true` if the speakers of the house are in this process.
  public var isEmbedded: Bool { type(of: driver).isEmbedded }

  /// The settings of the driver of the house.
  public var driver: any DriverKind {
    get { remote ?? house }
    set {
      if let settings = newValue as? HouseSettings {
        (house, remote) = (settings, nil)
      } else {
        remote = newValue
      }
    }
  }

  /// Reads a file.
  ///
  /// The file is Lua in an environment that has only `headset`, `house`, `limits`, `location`, `log`, `mqtt`, `page`,
  /// `recordings` and `stations`, each with one table as its argument.
  /// - Parameter mark: the mark of the file, for processes that it ends; nil without one.
  /// - Throws: `LuaError`: the mistake with file and line.
  public init(text: [UInt8], path: String, mark: HoldMark? = nil) throws {
    self.init()
    var read = self
    try DeclarationFile.run(
      text, path: path, kind: "configuration", mark: mark,
      Self.sections.map { section in
        LuaFunction(section.name) { call in
          try section.read(&read, call)
          return .none
        }
      })
    self = read
  }

  /// Reads a file past its errors.
  /// - Returns: the settings of the sections without an error, and the errors in the order of the file. A section
  ///   has at most one; a mistake between sections ends the reading.
  public static func readAll(text: [UInt8], path: String) -> (Configuration, [LuaError]) {
    var errors: [LuaError] = []
    while true {
      var read = Configuration()
      var (passed, isOfSection) = (0, false)
      do {
        try DeclarationFile.run(
          text, path: path, kind: "configuration",
          sections.map { section in
            LuaFunction(section.name) { call in
              do { try section.read(&read, call) } catch {
                // Each reading skips the known errors, so that the next one is reported with its line.
                passed += 1
                if passed > errors.count {
                  isOfSection = true
                  throw error
                }
              }
              return .none
            }
          })
        return (read, errors)
      } catch {
        errors.append(LuaError(error))
        if !isOfSection || errors.count == mostErrors { return (read, errors) }
      }
    }
  }

  /// The limit of errors that are collected.
  private static let mostErrors = 20

  private struct Section {
    let name: String
    let read: (inout Configuration, LuaCall) throws -> Void
  }

  private static var sections: [Section] {
    [
      Section(name: "headset", read: readHeadset), Section(name: "house", read: readHouse),
      Section(name: "limits", read: readLimits), Section(name: "location", read: readLocation),
      Section(name: "log", read: readLog), Section(name: "mqtt", read: readMQTT),
      Section(name: "page", read: readPage),
      Section(name: "recordings", read: readRecordings), Section(name: "stations", read: readStations),
    ]
  }

  private static func readLimits(_ configuration: inout Configuration, _ call: LuaCall) throws {
    let options = try call.options(1, ["buffers", "memory", "objects", "run", "store"])
    if let megabytes = try options.int("memory", in: 1...65_536) {
      configuration.limits.memory = megabytes << 20
    }
    if let megabytes = try options.int("buffers", in: 1...65_536) {
      configuration.limits.buffers = megabytes << 20
    }
    if let objects = try options.int("objects", in: 100...1_000_000) {
      configuration.limits.objects = objects
    }
    if let megabytes = try options.int("store", in: 1...65_536) {
      configuration.limits.store = megabytes << 20
    }
    if let run = try options.duration("run") {
      guard run >= .milliseconds(100) else {
        throw options.problem("run", "0.1 s or more expected: a script needs some time to run")
      }
      configuration.limits.run = run
    }
  }

  private static func readLocation(_ configuration: inout Configuration, _ call: LuaCall) throws {
    let options = try call.options(1, ["latitude", "longitude"])
    guard let latitude = try options.number("latitude", in: -90...90) else {
      throw options.problem("latitude", "missing: degrees north of the equator expected, as in 52.5")
    }
    guard let longitude = try options.number("longitude", in: -180...180) else {
      throw options.problem("longitude", "missing: degrees east of Greenwich expected, as in 13.4")
    }
    configuration.location = Location(latitude: latitude, longitude: longitude)
  }

  private static func readLog(_ configuration: inout Configuration, _ call: LuaCall) throws {
    let options = try call.options(1, ["level"])
    guard let given = try options.string("level") else { return }
    guard let level = LogLevel(rawValue: given) else {
      throw options.problem("level", unknown("level", given, among: LogLevel.allCases.map(\.rawValue)))
    }
    configuration.logLevel = level
  }
}

// `headset { … }`: the address and the keys of the headset.

extension Configuration {
  static func readHeadset(_ configuration: inout Configuration, _ call: LuaCall) throws {
    let options = try call.options(1, ["transport", "key_file", "firmware_key"])
    if let given = try options.string("transport") {
      do throws(HeadsetError) { configuration.headset.address = try LinkAddress(parsing: given) } catch {
        throw options.problem("transport", error.message, hint: error.hint)
      }
    }
    if let path = try options.path("key_file") { configuration.headset.keyFile = path }
    if let path = try options.path("firmware_key") { configuration.headset.firmwareKeyFile = path }
  }
}

// `recordings { … }`: where recordings go, and how long they stay.

extension Configuration {
  static func readRecordings(_ configuration: inout Configuration, _ call: LuaCall) throws {
    let options = try call.options(1, ["folder", "template", "keep", "min_free"])
    if let folder = try options.path("folder") { configuration.recordings.folder = folder }
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
    if let bytes = try options.byteSize("min_free") { configuration.recordings.minimumFree = bytes }
  }
}

extension LuaOptions {
  /// A path that means the same wherever the command runs: an absolute one, or one in the home folder.
  func path(_ name: String) throws -> String? {
    guard let given = try string(name, .path) else { return nil }
    guard let path = Self.absolute(given) else {
      throw problem(name, "an absolute path, or one that begins with ~/, expected, got \"\(given)\"")
    }
    return path
  }

  /// Replaces `~/` by the home folder; nil for a relative path, and where there is no home.
  private static func absolute(_ path: String) -> String? {
    guard path == "~" || path.hasPrefix("~/") else { return path.hasPrefix("/") ? path : nil }
    guard let home = getenv("HOME").map({ String(cString: $0) }), home.hasPrefix("/") else { return nil }
    return home + path.dropFirst()
  }
}
