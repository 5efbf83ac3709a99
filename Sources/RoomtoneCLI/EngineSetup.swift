internal import EventLoop
internal import Glibc
internal import Home
internal import RecordingKit
internal import Roomtone
internal import Scheduling
internal import SpeakerKit

/// Setup shared by the commands that run scripts: configuration, log, failures.
enum EngineSetup {
  /// Reads the configuration: the named file, else the user's own when it exists, else the defaults.
  /// - Throws: `LuaError`, `ScriptText.Missing`.
  static func configuration(file: String?) throws -> Configuration {
    var configuration = Configuration()
    if let path = file ?? userFile() {
      let text = try ScriptText(path: path, kind: "configuration")
      configuration = try Configuration(text: text.bytes, path: path, mark: mark(ofConfiguration: path))
      configuration.path = UserFolders.absolute(path)
    }
    return configuration
  }

  /// Returns the mark of a configuration that a process ends with; nil without a folder for it, which the daemon makes.
  private static func mark(ofConfiguration path: String) -> HoldMark? {
    guard let folder = UserFolders.state, access(folder, F_OK) == 0 else { return nil }
    return HoldMark(path: "\(folder)/held.configuration", file: UserFolders.absolute(path))
  }

  /// Returns the path of the user's own configuration; nil if it does not exist.
  static func userFile() -> String? {
    guard let folder = UserFolders.configuration else { return nil }
    let path = "\(folder)/config.lua"
    return access(path, F_OK) == 0 ? path : nil
  }

  /// Returns options of an engine that drives the user's own house, which is kept between runs.
  /// - Parameters:
  ///   - command: such as `run`; published with the script's name, without folders, to processes that wait
  ///     for the house.
  ///   - script: the script's path as typed; nil without a script.
  static func ownHouse(_ configuration: Configuration, command: String, script: String?) -> EngineOptions {
    var options = EngineOptions()
    options.configuration = configuration
    options.stateFolder = UserFolders.state
    options.controlSocket = UserFolders.controlSocket
    options.store = UserFolders.store
    options.history = UserFolders.history
    options.recorder = configuration.recordings
    options.recorder.catalogue = UserFolders.catalogue
    options.processName = "roomtone \(command)"
    if let name = script?.split(separator: "/").last { options.processName += " \(name)" }
    return options
  }

  /// Returns options of an engine under virtual time, whose recordings, catalogue and store end with `scratch`.
  /// - Throws: `LuaError` of the stations file.
  static func simulation(
    _ configuration: Configuration, from start: LocalDateTime, in zone: any LocalZone, stations: ScriptText?,
    seed: UInt64, _ scratch: ScratchFolder
  ) throws -> EngineOptions {
    var options = EngineOptions()
    options.configuration = configuration
    options.clock = .virtual(start: zone.match(start).moment)
    options.zone = zone
    options.seed = seed
    if let stations {
      (options.stations, options.answers) = try StationsFile.read(stations.bytes, path: stations.name)
    }
    options.recorder = configuration.recordings
    options.recorder.root = scratch.path
    options.recorder.catalogue = scratch.path + "/catalogue.sqlite"
    options.scratch = scratch.emptyFolder("files")
    return options
  }

  /// Returns the configuration of a simulated house, whose speakers sound only in files. Where only the
  /// driver knows the speakers, invented ones stand for them, and a warning says so.
  static func simulatedHouse(_ configuration: Configuration, output: Output) -> Configuration {
    var simulated = configuration
    simulated.house.use(output)
    guard !configuration.isEmbedded else { return simulated }
    simulated.house.speakers = nil
    if configuration.logLevel <= .warn {
      Terminal.log(
        .warn,
        "the speakers of \(configuration.driverName) are not known without its network: invented ones stand for them",
        [])
    }
    return simulated
  }

  /// Creates an engine that prints to standard output, and writes its log and failures to standard error.
  static func engine(_ options: EngineOptions, verbose: Bool = false) throws -> Engine {
    var options = options
    options.standardLibrary = StandardLibrary.folder()
    let engine = try Engine(options)
    let least = verbose ? .debug : options.configuration.logLevel
    engine.onPrint = Terminal.print
    engine.columns = { Terminal.columns }
    engine.onLog = { level, message, fields in
      if level >= least { Terminal.log(level, message, fields) }
    }
    engine.onFailure = Terminal.failure
    return engine
  }
}
