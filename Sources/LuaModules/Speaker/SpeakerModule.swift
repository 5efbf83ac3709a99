internal import EventLoop
internal import Home
internal import LuaRuntime
internal import Scheduling
internal import SpeakerKit

/// `speaker`: the house, its speakers, the script's own session.
final class SpeakerModule {
  unowned let script: Script
  let door: HouseDoor
  let events: ScriptEvents
  let journal: Journal
  let devices: LuaClass<Device>
  let sessions: LuaClass<Session>
  let groups: LuaClass<ScriptGroup>
  let snapshots: LuaClass<Snapshot>
  let controls: LuaClass<HouseControls>
  /// The only object that stands for a house's controls.
  var knownControls: (House, HouseControls)?
  /// Makes the streams that sessions play.
  private(set) weak var streamModule: StreamModule?
  private var knownGroups: [String: ScriptGroup] = [:]

  static func register(
    in script: Script, door: HouseDoor, events: ScriptEvents, streams: StreamModule, journal: Journal,
    jobs: JobTable, zone: any LocalZone
  ) throws {
    let module = try SpeakerModule(script, door, events, journal)
    module.streamModule = streams
    // The own session plays on over a reload, and so does its stream.
    streams.leaves = { [door, unowned script] stream in
      script.leavesSession && door.own.keep(stream, of: script.sessionKey)
    }
    script.keep(module)
    module.defineDevices()
    module.defineGroups()
    module.defineSessions()
    module.defineDeviceEditing()
    module.defineSessionMaking()
    module.defineControls()
    var functions = module.houseFunctions() + module.lookUps() + module.levels() + module.refreshing()
    functions += module.sessionMaking() + [module.houseControls(), module.history(zone)]
    for function in SessionFunctions.all(module) {
      functions.append(
        module.withHouse(function.name, arity: function.arity) { [unowned module] house, call in
          try function.body(try module.own(in: house), call, 1)
        })
    }
    script.state.register(
      "speaker", functions,
      values: [
        ("MAX_VOLUME", .int(House.maximumVolume)), ("UNGROUPED", .string(Group.ungrouped)),
      ],
      fields: [
        module.withHouse("own", arity: nil) { [unowned module] house, call in
          call.return(module.sessions(try module.own(in: house)))
        }
      ])
    script.state.register("roomtone.fades", try module.fades())
    script.state.override(nil, [module.why(jobs, zone)])
    script.state.onRaise { [weak module] name, _, error in module?.recordRefusal(name, error) }
    script.staysAlive { [unowned module] in
      guard let house = door.open else { return false }
      // In a house that several scripts share, each stays alive for its own sound.
      if door.isShared { return module.played.contains { $0.session?.state == .playing } }
      return house.sessions.contains { $0.state == .playing } || house.hasPending
    }
    script.root { [unowned module, unowned script] in
      if !script.leavesSession { door.own.close(script.sessionKey) }
      guard script.endsPlayback else { return }
      for played in module.played { played.session?.stop() }
    }
    // Again, once the routines have ended: one that cleans up may have made the session anew.
    script.atLast { [door, unowned script] in
      if !script.leavesSession { door.own.close(script.sessionKey) }
    }
  }

  /// A session that the script has played on.
  private struct Played { weak var session: Session? }
  private var played: [Played] = []

  /// Returns the script's own session, which is made at its first use, with the rooms that it wants from the beginning.
  func own(in house: House) throws -> Session {
    if let session = door.own[script.sessionKey] { return session }
    let rooms =
      switch script.firstRooms {
      case .none: [Device]()
      case .named(let names): try names.flatMap { try house.speakers(in: $0) }
      case .all: house.devices
      }
    let session = try door.own.session(of: script.sessionKey, named: script.sessionName, in: house)
    try session.want(rooms)
    return session
  }

  /// Notes that the script plays on a session.
  func prepare(toPlayOn session: Session) {
    played.removeAll { $0.session == nil || $0.session === session }
    played.append(Played(session: session))
  }

  /// Logs the rooms that a session did not get when it began to sound.
  func logMissed(by session: Session) {
    for room in session.missed {
      script.onLog(.warn, "\(session.name) plays without \"\(room.device.name)\": \(room.text)", [])
    }
  }

  private init(
    _ script: Script, _ door: HouseDoor, _ events: ScriptEvents, _ journal: Journal
  ) throws {
    self.script = script
    self.door = door
    self.events = events
    self.journal = journal
    devices = try LuaClass("speaker", as: "speaker.Device", in: script.state) { device in
      "speaker \"\(device.name)\" (volume \(device.volume)\(device.isMuted ? ", muted" : ""), \(Self.activity(of: device)))"
    }
    sessions = try LuaClass("session", as: "speaker.Session", in: script.state) { session in
      let source = session.source.map { " \"\($0.title)\"" } ?? ""
      return
        "session \"\(session.name)\" (\(session.state.rawValue)\(source), \(Self.count(session.devices)))"
    }
    groups = try LuaClass("group", as: "speaker.Group", in: script.state) { group in
      "group \"\(group.name)\" (\(Self.count(group.current?.devices ?? [])))"
    }
    snapshots = try LuaClass("snapshot", as: "speaker.Snapshot", in: script.state) {
      "snapshot of \(Self.count($0.devices))"
    }
    controls = try LuaClass("house", as: "speaker.House", in: script.state) { _ in "house (its controls)" }
  }

  /// `1 speaker`, `2 speakers`
  private static func count(_ devices: [Device]) -> String {
    devices.count == 1 ? "1 speaker" : "\(devices.count) speakers"
  }

  private static func activity(of device: Device) -> String {
    if !device.isAvailable { return "unavailable" }
    if device.isPlaying { return "playing" }
    return device.isActive ? "active" : "idle"
  }

  static let houseIsClosed = SpeakerError(
    .closed, "the house is closed", hint: "open it again with speaker.open()")

  /// A function that needs the open house: the first use opens the house, and suspends meanwhile.
  func withHouse(
    _ name: String, arity count: Int?, advice: String? = nil,
    _ body: @escaping (House, LuaCall) throws -> LuaReturn
  ) -> LuaFunction {
    LuaFunction(name, arity: count, advice: advice) { [door] call in
      if let house = door.open { return try body(house, call) }
      if door.wasClosed {
        throw Self.houseIsClosed
      }
      return try call.suspendThenAgain { try await door.open(wait: nil) }
    }
  }

  // MARK: Opening and closing

  private func houseFunctions() -> [LuaFunction] {
    let door = door
    return [
      LuaFunction("open", arity: 1) { [unowned self] call in
        let options = try call.options(1, ["driver", "license", "add_all", "wait"])
        if let driver = try options.string("driver", .name), driver != door.driverName {
          throw SpeakerError(
            .unsupported, "the driver \"\(driver)\" is not that of the configuration",
            hint: "the driver here is \"\(door.driverName)\"")
        }
        // The embedded house needs no licence; one for another driver does no harm here.
        _ = try options.string("license", .header)
        let addAll = try options.bool("add_all") ?? false
        let wait =
          if case .bool(false)? = options["wait"] { Duration.zero } else { try options.duration("wait") }
        return try call.suspend { [unowned self] in
          try await door.open(wait: wait)
          if addAll, let house = door.open { try own(in: house).want(house.devices) }
          return []
        }
      },
      LuaFunction("close", arity: 0) { [unowned self] call in
        // The house goes on for the others.
        if door.isShared {
          door.own.close(script.sessionKey)
          return .none
        }
        return try call.suspend {
          await door.close()
          return []
        }
      },
      LuaFunction("is_open", arity: 0) { call in call.return(door.open != nil) },
      LuaFunction("is_opening", arity: 0) { call in call.return(door.isOpening) },
      withHouse("capabilities", arity: 0) { house, call in
        call.return(.record(house.capabilities.sorted().map { ($0, .bool(true)) }))
      },
    ] + houseEvents()
  }

  // MARK: Look-ups

  private func lookUps() -> [LuaFunction] {
    [
      withHouse("devices", arity: 0) { [unowned self] house, call in
        call.return(.list(house.devices.map { self.devices($0) }))
      },
      withHouse("device", arity: 1) { [unowned self] house, call in
        call.return(self.devices(try house.device(try call.nameText(1))))
      },
      withHouse("find", arity: 1) { [unowned self] house, call in
        call.return(try house.find(try call.nameText(1)).map { self.devices($0) } ?? .nil)
      },
      withHouse("groups", arity: 0) { [unowned self] house, call in
        call.return(.list(house.groups.map { self.groups(self.group($0, in: house)) }))
      },
      withHouse("group", arity: 1) { [unowned self] house, call in
        call.return(self.groups(self.group(try house.group(try call.nameText(1)), in: house)))
      },
      withHouse("active_devices", arity: 0) { [unowned self] house, call in
        call.return(.list(house.activeDevices.map { self.devices($0) }))
      },
      withHouse("active_groups", arity: 0) { [unowned self] house, call in
        call.return(.list(house.groups.filter(\.isActive).map { self.groups(self.group($0, in: house)) }))
      },
      withHouse("sessions", arity: 0) { [unowned self] house, call in
        call.return(.list(house.sessions.map { self.sessions($0) }))
      },
    ]
  }

  /// The only object that stands for the group.
  func group(_ group: Group, in house: House) -> ScriptGroup {
    if let known = knownGroups[group.name], known.house === house { return known }
    let new = ScriptGroup(name: group.name, house: house)
    knownGroups[group.name] = new
    return new
  }

  // MARK: Levels of the own session

  private func levels() -> [LuaFunction] {
    [
      withHouse("set_volume", arity: 1) { [unowned self] house, call in
        let volume = try call.int(1, in: House.volumeRange)
        try own(in: house).setVolume(volume)
        return .none
      },
      withHouse("volume", arity: 0) { [unowned self] house, call in
        call.return(try own(in: house).volume)
      },
      withHouse("mute", arity: 0, advice: "call unmute to undo it") { [unowned self] house, _ in
        try own(in: house).mute()
        return .none
      },
      withHouse("unmute", arity: 0, advice: "call mute to undo it") { [unowned self] house, _ in
        try own(in: house).unmute()
        return .none
      },
      withHouse("is_muted", arity: 0) { [unowned self] house, call in
        call.return(try own(in: house).isMuted)
      },
    ]
  }
}

/// A group of speakers, by its name: scripts keep it while its members change.
final class ScriptGroup {
  let name: String
  let house: House

  init(name: String, house: House) {
    self.name = name
    self.house = house
  }

  /// The group as it is now; nil when no speaker is in it any more.
  var current: Group? { house.groups.first { $0.name == name } }

  /// The group as it is now.
  /// - Throws: `speaker.unknown` when no speaker is in it any more.
  func present() throws(SpeakerError) -> Group {
    if let current { return current }
    throw SpeakerError(
      .unknown, "no speaker is in the group \"\(name)\" any more",
      hint: "set_group puts a speaker into it", facts: [.init("name", .string(name))])
  }
}
