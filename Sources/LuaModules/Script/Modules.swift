public import Home
internal import LuaRuntime
public import Scheduling

/// The services of an engine that the modules of its scripts use.
public struct ModuleServices {
  /// The door to the house.
  public let house: HouseDoor
  /// The jobs of all scripts.
  public let jobs: JobTable
  /// The zone of `schedule.at`, and of `os.date` under simulation.
  public let zone: any LocalZone
  /// Standard input, which scripts and the prompt share.
  public let input: InputReader
  /// The streams of all scripts.
  public let streams: StreamService
  /// The recordings of all scripts.
  public let recordings: RecordingService
  /// The headsets of all scripts.
  public let headsets: HeadsetService
  /// The location for times by the sun, if one is configured.
  public let location: Location?
  /// The triggers of all scripts.
  public let triggers: TriggerService
  /// The connection to a broker of MQTT.
  public let mqtt: MQTTService
  /// The journal of the house.
  public let journal: Journal
  /// The memory of scripts.
  public let store: ScriptStore
  /// The requests of scripts to servers.
  public let requests: RequestService
  /// The programs of all scripts; when nil, programs are neither recorded nor logged.
  public let programs: ProgramTable?
  /// The files that the scripts of a simulation write; nil where they write real files.
  public let scratch: ScratchFiles?

  /// Creates the services of an engine.
  /// - Parameter requests: nil for requests on the thread of `streams`.
  public init(
    house: HouseDoor, jobs: JobTable, zone: any LocalZone, input: InputReader, streams: StreamService,
    recordings: RecordingService, headsets: HeadsetService, triggers: TriggerService,
    mqtt: MQTTService, journal: Journal, requests: RequestService? = nil, location: Location? = nil,
    store: ScriptStore = ScriptStore(path: nil), programs: ProgramTable? = nil,
    scratch: ScratchFiles? = nil
  ) {
    self.house = house
    self.jobs = jobs
    self.zone = zone
    self.input = input
    self.streams = streams
    self.recordings = recordings
    self.headsets = headsets
    self.triggers = triggers
    self.mqtt = mqtt
    self.journal = journal
    self.location = location
    self.store = store
    self.programs = programs
    self.scratch = scratch
    self.requests = requests ?? RequestService(streams: streams)
  }
}

extension Script {
  /// Registers all modules in the script's state.
  /// - Parameter global: `true` if they are globals too, as at the prompt.
  public func registerModules(_ services: ModuleServices, global: Bool = false) throws {
    if let programs = services.programs { self.programs = programs }
    scratch = services.scratch
    let events = try ScriptEvents(self)
    try TaskModule.register(in: self)
    LogModule.register(in: self)
    LibraryModule.register(in: self, journal: services.journal, door: services.house)
    StoreModule.register(in: self, store: services.store)
    try ScheduleModule.register(
      in: self, table: services.jobs, zone: services.zone, location: services.location,
      journal: services.journal, events: events)
    let streams = try StreamModule.register(in: self, service: services.streams, events: events)
    try RecordingModule.register(
      in: self, service: services.recordings, zone: services.zone, streams: streams, events: events)
    try SpeakerModule.register(
      in: self, door: services.house, events: events, streams: streams, journal: services.journal,
      jobs: services.jobs, zone: services.zone)
    try HeadsetModule.register(in: self, service: services.headsets, events: events)
    TriggerModule.register(in: self, service: services.triggers, events: events)
    let json = try JSONModule.register(in: self)
    HTTPModule.register(in: self, service: services.requests, json: json)
    MQTTModule.register(in: self, service: services.mqtt, json: json, events: events)
    try SystemModule.register(in: self, zone: services.zone, input: services.input)
    if global { for name in Self.moduleNames { state.makeGlobal(module: name) } }
  }

  /// The modules that `registerModules` makes.
  public static let moduleNames = [
    "headset", "http", "json", "log", "mqtt", "recordings", "schedule", "speaker", "store", "stream",
    "task", "trigger",
  ]
}
