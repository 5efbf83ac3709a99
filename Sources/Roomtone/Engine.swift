public import EventLoop
internal import Glibc
public import HeadsetBoard
internal import HeadsetKit
internal import HeadsetLink
internal import HTTP
public import Home
public import LuaModules
public import LuaRuntime
internal import MQTT
public import Reception
public import RecordingKit
public import Reference
public import Scheduling
public import SpeakerKit
public import StreamCore

/// The settings of an engine.
public struct EngineOptions {
  /// The wall clock, or a virtual one.
  public var clock = EventLoop.ClockKind.wall
  /// The seed of a simulation, whose random numbers and order repeat.
  public var seed: UInt64?
  /// The zone of scripts' times of day.
  public var zone: any LocalZone = ProcessZone()
  /// The configuration.
  public var configuration = Configuration()
  /// The turns of the loop in one moment of a simulation after which a script counts as stuck. Time that
  /// hardly advances counts as the same moment.
  public var longestStandstill = 500_000
  /// The stations of a simulation, by address without user and password; all others play a tune.
  public var stations: [StreamAddress: SimulatedStation] = [:]
  /// The answers to requests of a simulation, by URL without user and password; no other request is answered.
  public var answers: [String: SimulatedAnswer] = [:]
  /// The triggers of a simulation.
  public var triggers: [PlannedTrigger] = []
  /// The messages of MQTT of a simulation.
  public var messages: [PlannedMessage] = []
  /// The place of this process at the broker of MQTT.
  public var messageRole = MQTTService.Role.guest
  /// The folder that keeps the house between runs, for one process at a time; nil keeps nothing.
  public var stateFolder: String?
  /// The file of the store of scripts; nil for a store in memory, which ends with the engine.
  public var store: String?
  /// The folder of records of the programs that scripts start; nil for a process that is not started again.
  public var programs: String?
  /// The folder, empty at first, of the files that the scripts of a simulation write; nil where they write real ones.
  public var scratch: String?
  /// The access to the house: to drive it, or only to look.
  public var access = HouseAccess.drive
  /// The name of this process for others that wait for the house meanwhile.
  public var processName = "roomtone"
  /// The control socket that answers about the house while this process has it and is not a daemon; nil
  /// without one.
  public var controlSocket: String?
  /// The file of the changes of the house; nil keeps them in memory alone.
  public var history: String?
  /// The settings of recordings and their catalogue.
  public var recorder = RecorderSettings()
  /// The profile of the headsets of a simulation.
  public var boardProfile = BoardProfile.standard
  /// The folder from which the product's modules are read; nil for those inside the program.
  public var standardLibrary: String?

  /// An engine on the wall clock with the defaults.
  public init() {}

  fileprivate var simulatedStations: SimulatedStations {
    SimulatedStations(stations, seed: seed ?? 0) { [standardLibrary] () throws(StreamError) in
      let path = "simulation/station.mp3"
      if let standardLibrary { return try StationSound(file: "\(standardLibrary)/\(path)") }
      return try StationSound(StandardLibrary.file(path) ?? [], of: path)
    }
  }
}

/// Owns the loop and puts the parts together: the house, the jobs, the scripts.
///
/// Plain and confined, as all that it owns: made on the thread that calls `run`, which becomes the loop's.
public final class Engine {
  /// The loop of everything here.
  public let loop: EventLoop
  /// The door to the house.
  public let house: HouseDoor
  /// The settings.
  public let options: EngineOptions
  // The outlets of an engine are settable: each is one destination, which the program that owns the engine chooses
  // after it has made it, and replaces when a screen or the end of a run takes it over.

  /// Receives a line that a script printed.
  public var onPrint: (String) -> Void = { _ in }
  /// Receives a line for the log: level, message, fields sorted by name.
  public var onLog: (LogLevel, String, [(String, String)]) -> Void = { _, _, _ in }
  /// Receives the log's lines about jobs, with the number of the job's script, in place of `onLog`; nil for
  /// `onLog`.
  public var onJobLog: ((LogLevel, String, _ script: Int) -> Void)?
  /// Columns of the terminal, for the lines of `help`.
  public var columns: () -> Int = { 80 }
  /// The reference of the Lua API, read at its first use.
  public private(set) lazy var reference = StandardLibrary.reference(in: options.standardLibrary)
  /// Called before a script ends, together with all that it started.
  public var onEnding: () -> Void = {}
  /// Receives an error that no script code caught.
  public var onFailure: (LuaError) -> Void = { _ in }
  /// Called on a thread of its own just before a repeated signal ends the process at once; to be set before a run.
  public var onForcedExit: @Sendable () -> Void = {}

  /// Standard input, which scripts and the prompt share.
  let input: InputReader
  private let watchdog: LuaWatchdog
  private let jobs: JobTable
  /// The streams of scripts and commands.
  public let streams: StreamService
  /// The recordings of scripts and commands.
  public let recordings: RecordingService
  /// The headsets.
  public let headsets: HeadsetService
  /// The triggers of scripts.
  public let triggers: TriggerService
  /// The connection to a broker of MQTT.
  public let mqtt: MQTTService
  /// The journal of the house.
  public let journal: Journal
  /// The boards that emulate the headsets of a simulation.
  public let boards: SimulatedBoards?
  /// The programs that scripts have started.
  let programs: ProgramTable
  private let scratch: ScratchFiles?
  private let store: ScriptStore
  private let requests: RequestService
  private var houseSocket: HouseSocket?
  private var scripts = 0
  /// The runs of jobs that have begun.
  fileprivate(set) var jobRuns = 0

  /// An engine without scripts; the house is opened by the first script that needs it.
  /// - Throws: `LuaError` when the system gives no thread.
  public init(_ options: EngineOptions) throws {
    self.options = options
    let loop = EventLoop(name: "engine", clock: options.clock)
    self.loop = loop
    watchdog = try LuaWatchdog()
    input = InputReader(loop: loop)
    streams = StreamService(
      loop: loop, stations: options.simulatedStations, named: options.configuration.stations)
    requests = RequestService(streams: streams, answers: options.answers)
    let relay = Relay()
    let recorder = Recorder(
      loop: loop, settings: options.recorder, localTime: Self.localTime(in: options.zone)
    ) { relay.log(.warn, $0) }
    recordings = RecordingService(recorder)
    boards = loop.isVirtual ? SimulatedBoards(loop: loop, profile: options.boardProfile) : nil
    headsets = HeadsetService(
      loop: loop, headsets: Self.headsets(options, boards, loop) { relay.log(.warn, $0) })
    programs = ProgramTable(loop: loop, folder: options.programs)
    scratch = options.scratch.map { ScratchFiles(folder: $0) { relay.log(.info, $0) } }
    store = ScriptStore(path: options.store) { relay.log(.warn, $0) }
    triggers = TriggerService(loop: loop, planned: options.triggers)
    let network = streams
    mqtt = MQTTService(
      loop: loop, options: options.configuration.mqtt, role: options.messageRole, triggers: triggers,
      planned: options.messages, network: { try network.network().loop }
    ) { relay.log($0, $1) }
    triggers.expectsMore = { [unowned mqtt] in mqtt.isExpecting }
    triggers.onListener = { [unowned mqtt] in mqtt.need(trigger: $0) }
    let minimumFree = options.configuration.recordings.minimumFree
    store.minimumFree = minimumFree
    journal = Journal(
      loop: loop,
      archive: options.history.map {
        JournalArchive(path: $0, minimumFree: minimumFree, loop: loop) { relay.log(.warn, $0) }
      })
    (triggers.journal, recordings.journal) = (journal, journal)
    (headsets.journal, streams.journal, mqtt.journal) = (journal, journal, journal)
    journal.routine = { [unowned loop] in Script.cause(at: loop.wallNow) }
    // A simulation stands for the driver of the configuration.
    let streams = streams
    house = HouseDoor(loop: loop, driverName: options.configuration.driverName) { wait, isWanted in
      let service = isWanted ? nil : Self.serviceName
      let driver = Self.driver(options, loop, streams, wait: wait, service: service) { relay.log(.warn, $0) }
      let limits = SpeakerLimits(
        Self.kind(options, loop).limits, zone: options.zone, areEnforced: Self.isAlone(options, loop))
      return House(loop: loop, driver: driver, limits: limits)
    }
    let memory = options.store == nil ? nil : store
    jobs = JobTable(loop: loop, zone: options.zone, memory: memory) { relay.receive($0, $1) }
    relay.engine = self
    house.whenOpen { [unowned self] in journal.follow($0) }
    if options.access != .look {
      house.whenOpen { house in
        for name in house.unknownLimits {
          relay.log(.warn, "the configuration limits \(quoted(name)), which no speaker is called")
        }
      }
    }
    if options.store != nil {
      let levels = BorrowedLevelMemory(store: store, driver: house.driverName) { relay.log(.warn, $0) }
      let isAlone = Self.isAlone(options, loop)
      house.whenOpen { house in
        if isAlone { levels.follow(house) } else { levels.share(house) { Self.isDriven(options) } }
      }
    }
    if let path = options.controlSocket, options.access == .drive, !loop.isVirtual {
      let socket = HouseSocket(path: path, of: self)
      houseSocket = socket
      house.whenOpen { [unowned socket] _ in socket.open() }
    }
  }

  /// The name of a daemon for processes that need the house: it does not end by itself.
  public static let serviceName = "roomtone serve"

  /// `true` if no other process may drive the speakers at the same time. One that may keeps them to their limits, and
  /// keeps their levels.
  private static func isAlone(_ options: EngineOptions, _ loop: EventLoop) -> Bool {
    options.access == .drive || options.access == .adjust && type(of: kind(options, loop)).isEmbedded
  }

  /// Returns `true` if another process drives the speakers, or if that is not known.
  private static func isDriven(_ options: EngineOptions) -> Bool {
    guard let folder = options.stateFolder else { return false }
    do throws(SpeakerError) { return try HouseDriver.owner(ofStateFolder: folder) != nil } catch {
      return true
    }
  }

  private static func kind(_ options: EngineOptions, _ loop: EventLoop) -> any DriverKind {
    loop.isVirtual ? options.configuration.house : options.configuration.driver
  }

  /// Returns the driver of the configuration; under virtual time, where no machine is reached, that of the embedded house.
  private static func driver(
    _ options: EngineOptions, _ loop: EventLoop, _ streams: StreamService, wait: Duration, service: String?,
    log: @escaping (String) -> Void
  ) -> any Driver {
    return kind(options, loop).makeDriver(
      DriverContext(
        loop: loop, stateFolder: options.stateFolder, access: options.access, wait: wait,
        processName: options.processName, service: service, network: { try streams.network() }, log: log))
  }

  private static func headsets(
    _ options: EngineOptions, _ boards: SimulatedBoards?, _ loop: EventLoop, warn: @escaping (String) -> Void
  ) -> Headsets {
    let settings = options.configuration.headset
    guard let boards else { return Headsets(loop: loop, settings: settings, warn: warn) }
    return Headsets(loop: loop, settings: settings, usualAddress: SimulatedBoards.usualAddress) {
      address, key, trusted throws(HeadsetError) in
      try boards.connect(to: address, key: key, trusting: trusted)
    }
  }

  /// Returns the time that the clocks of the house show; called on the disk thread.
  private static func localTime(in zone: any LocalZone) -> @Sendable (WallTime) -> LocalTime {
    { time in LocalTime(time, offset: zone.offset(at: Int(time.seconds))) }
  }

  /// Forwards events of the engine's parts, which are made before it.
  private final class Relay {
    weak var engine: Engine?
    func log(_ level: LogLevel, _ message: String) { engine?.onLog(level, message, []) }
    func receive(_ job: Job, _ event: JobEvent) {
      if case .started = event { engine?.jobRuns += 1 }
      guard let engine, let entry = engine.journal.receive(event, of: job) else { return }
      let level: LogLevel
      switch entry.kind {
      case .skipped, .missed: level = .warn
      case .omitted, .sunless: level = .info
      case .failing: level = .error
      // Other events are expected, or reported with their errors.
      default: return
      }
      let line = JournalText(zone: job.zone, now: engine.loop.wallNow).text(entry)
      if let onJobLog = engine.onJobLog { onJobLog(level, line, job.owner) } else { log(level, line) }
    }
  }

  /// The jobs of all scripts, in the order in which they were added.
  public var scheduledJobs: [Job] { jobs.jobs() }

  /// Calls `body` after each change of the list of jobs, as long as the engine exists.
  func whenJobsChange(_ body: @escaping () -> Void) { jobs.listen(body) }

  /// The prefix of the keys under which `stdlib/scene.lua` keeps scenes.
  private static let scenePrefix = "scene."

  /// Returns the names of the scenes that the script with an identity has saved, sorted by their bytes.
  func scenes(ofScript identity: String) throws -> [String] {
    try store.keys(of: identity, prefix: Self.scenePrefix)
      .map { String($0.dropFirst(Self.scenePrefix.count)) }
  }

  /// Calls `body` after a scene was saved or deleted in this process, as long as the engine exists.
  func whenScenesChange(_ body: @escaping () -> Void) {
    store.listen { key in if key.hasPrefix(Self.scenePrefix) { body() } }
  }

  /// Returns the number of jobs of the script with a number.
  func jobCount(of script: Int) -> Int { jobs.count(of: script) }

  /// A script with all modules, ready to be given code.
  /// - Parameters:
  ///   - path: the file, or a name such as `-e`.
  ///   - isFile: `true` if relative paths and modules are also searched beside it.
  ///   - global: `true` if modules are globals.
  ///   - workingFolder: the folder of relative paths, for a script of another process; nil for that of this one.
  public func makeScript(
    _ path: String, isFile: Bool, global: Bool = false, workingFolder: String? = nil
  ) throws -> Script {
    scripts += 1
    let state = try LuaState(
      name: path, loop: loop, limits: options.configuration.limits, watchdog: watchdog, seed: options.seed)
    let folder = isFile ? LinuxFiles.folder(of: path) : nil
    let script = Script(name: path, folder: folder, number: scripts, state: state)
    script.workingFolder = workingFolder
    script.onLog = { [unowned self] in onLog($0, $1, $2) }
    script.onFailure = { [unowned self] in onFailure($0) }
    state.libraryFolder = options.standardLibrary
    state.onPrint = { [unowned self] in onPrint($0) }
    state.onWarning = { [unowned self] in onLog(.warn, $0, []) }
    try script.registerModules(
      ModuleServices(
        house: house, jobs: jobs, zone: options.zone, input: input, streams: streams,
        recordings: recordings, headsets: headsets, triggers: triggers, mqtt: mqtt, journal: journal,
        requests: requests,
        location: options.configuration.location,
        store: store, programs: programs, scratch: scratch),
      global: global)
    script.state.register("roomtone.files", LibraryFiles(folder: options.standardLibrary).functions)
    script.state.override(nil, [help])
    let folders = [folder ?? workingFolder ?? ".", options.standardLibrary].compactMap { $0 }
    state.setModulePath(
      folders.flatMap { ["\($0)/?.lua", "\($0)/?/init.lua"] }, script: isFile ? path : nil)
    state.libraryModules = StandardLibrary.modules
    state.libraryModule = { [folder = options.standardLibrary] in StandardLibrary.module($0, in: folder) }
    return script
  }
}
