internal import EventLoop
internal import Glibc
internal import Home
internal import JSONText
internal import LuaModules
internal import LuaRuntime
internal import Scheduling
internal import SpeakerKit

/// The daemon, its scripts and its jobs as JSON. Times are seconds since 1970.
struct DaemonReport {
  /// The most bytes of an error in a list.
  private static let longestError = 2000
  private let daemon: Daemon

  init(_ daemon: Daemon) { self.daemon = daemon }

  var status: JSON {
    let engine = daemon.engine
    let scripts = AnswerPage(daemon.scripts) { script($0) }
    return .object(
      [
        ("process", .number(Int(getpid()))), ("version", .string(daemon.version)),
        ("started", .decimal(daemon.began.inSeconds)), ("folder", .string(daemon.options.folder)),
      ] + HouseReport.status(of: engine) + [
        ("scripts", .array(scripts.elements)),
        ("scripts_left_out", .number(scripts.next.map { daemon.scripts.count - $0 } ?? 0)),
        ("attached", .array(daemon.attached.map { .string($0.name) })),
        ("jobs", .number(engine.scheduledJobs.count)), ("page", daemon.page?.status ?? .null),
        ("home_assistant", daemon.homeAssistant.map { homeAssistant($0) } ?? .null),
      ])
  }

  private func homeAssistant(_ bridge: HomeAssistantBridge) -> JSON {
    var seen = JSON.null
    if case .seen(let moment) = bridge.presence { seen = .decimal(moment.inSeconds) }
    return .object([
      ("devices", .number(bridge.deviceCount)), ("present", .bool(bridge.presence != .unknown)),
      ("seen", seen),
    ])
  }

  func script(_ host: ScriptHost) -> JSON {
    let script = host.script
    let jobs = script.map { script in daemon.engine.jobCount(of: script.number) } ?? 0
    return .object(
      [
        ("name", .string(host.name)), ("path", .string(host.path)), ("state", .string(host.machine.name)),
        ("error", .optional(host.machine.error?.description.cut(to: Self.longestError))),
        ("started", host.started.map { .decimal($0.inSeconds) } ?? .null), ("starts", .number(host.starts)),
        ("failures", .number(script?.failures ?? 0)),
        ("last_error", .optional(host.lastError?.error.description.cut(to: Self.longestError))),
        ("last_error_at", host.lastError.map { .decimal($0.at.inSeconds) } ?? .null),
        ("routines", .number(script?.state.routineCount ?? 0)), ("jobs", .number(jobs)),
        ("subscriptions", .number(script?.listeners.count ?? 0)),
      ] + Self.usage(script))
  }

  /// The time that the code of a script has run, its memory and its calls, since its version started.
  private static func usage(_ script: Script?) -> [(name: String, value: JSON)] {
    let usage = script?.state.usage ?? LuaUsage()
    return [
      ("memory", .number(script?.state.memory.now ?? 0)), ("busy", .decimal(usage.busy.inSeconds)),
      ("longest_hold", .decimal(usage.longestHold.inSeconds)),
      ("longest_hold_at", .optional(usage.longestHoldLocation)), ("events", .number(script?.calls ?? 0)),
    ]
  }

  /// All scripts that run, also those of clients; the one whose code has run for the longest time is first.
  var top: JSON {
    let own = daemon.scripts.compactMap { host in host.script.map { (host.name, $0, host.started) } }
    let others = daemon.attached.map { ($0.name, $0.script, WallTime?.none) }
    let prompt = daemon.prompt.current.map { [(daemon.prompt.name, $0, WallTime?.none)] } ?? []
    let all = (own + others + prompt).enumerated().sorted {
      ($1.element.1.state.usage.busy, $0.offset) < ($0.element.1.state.usage.busy, $1.offset)
    }
    return .array(
      all.map(\.element).map { name, script, started in
        .object(
          [("name", .string(name)), ("started", started.map { .decimal($0.inSeconds) } ?? .null)]
            + Self.usage(script))
      })
  }

  /// Returns the moment of the next run of a job; nil without one.
  func next(_ job: Job) -> WallTime? { job.isActive ? job.next : nil }

  func job(_ job: Job) -> JSON {
    func time(_ time: WallTime?) -> JSON { time.map { .decimal($0.inSeconds) } ?? .null }
    return .object([
      ("script", .optional(daemon.scriptName(job.owner))), ("name", .string(job.name)),
      ("schedule", .string("\(job.recurrence)")), ("next", time(next(job))),
      ("last", time(job.last)), ("runs", .number(job.runs)), ("failures", .number(job.failures)),
      ("running", .number(job.running)),
    ])
  }

  static func entry(_ entry: DaemonLog.Entry) -> JSON {
    .object([
      ("time", .decimal(entry.time.inSeconds)), ("level", .string(entry.level.rawValue)),
      ("script", .optional(entry.script)), ("message", .string(entry.message)),
      ("fields", .object(entry.fields.map { ($0.0, .string($0.1)) })),
    ])
  }
}

/// The results of actions on rooms as JSON.
enum RoomReport {
  /// The level of a speaker.
  static func level(_ level: RoomActions.Level) -> JSON {
    .object([
      ("speaker", .string(level.speaker)), ("room", .optional(level.room)), ("volume", .number(level.volume)),
      ("muted", .bool(level.isMuted)), ("limit", .optional(level.limit)),
    ])
  }

  /// A session with a source.
  static func playing(_ playing: RoomActions.Playing) -> JSON {
    .object([
      ("session", .string(playing.session)), ("state", .string(playing.state.rawValue)),
      ("title", .string(playing.title)), ("source", .string(playing.source)),
      ("rooms", .array(playing.rooms.map { .string($0) })), ("position", .decimal(playing.position)),
      ("duration", playing.duration.map { .decimal($0) } ?? .null), ("volume", .number(playing.volume)),
    ])
  }
}
