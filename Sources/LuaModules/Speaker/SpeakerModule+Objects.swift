internal import AudioCore
internal import EventLoop
internal import Home
internal import LuaRuntime
internal import SpeakerKit

extension SpeakerModule {
  /// Fields and methods of a speaker.
  func defineDevices() {
    let devices = devices
    func text(_ name: String, changedBy: String? = nil, _ get: @escaping (Device) -> String) {
      devices.field(name, changedBy: changedBy) { device, call in call.return(.string(get(device))) }
    }
    func flag(_ name: String, changedBy: String? = nil, _ get: @escaping (Device) -> Bool) {
      devices.field(name, changedBy: changedBy) { device, call in call.return(get(device)) }
    }
    func whole(_ name: String, changedBy: String? = nil, _ get: @escaping (Device) -> Int) {
      devices.field(name, changedBy: changedBy) { device, call in call.return(get(device)) }
    }
    text("id", \.id)
    text("name", \.name)
    text("group_id", changedBy: "set_group", \.groupID)
    text("group_name", changedBy: "set_group", \.groupName)
    text("model", \.model)
    text("ip_address", \.ipAddress)
    whole("port", \.port)
    text("mac_address", \.macAddress)
    whole("volume", changedBy: "set_volume", \.volume)
    whole("asked_volume", changedBy: "set_volume", \.requestedVolume)
    devices.field("max_volume") { device, call in
      call.return(device.volumeLimit.map { .int($0) } ?? .nil)
    }
    flag("muted", changedBy: "mute", \.isMuted)
    flag("active", changedBy: "join", \.isActive)
    devices.field("wifi_signal", changedBy: "refresh_wifi") { device, call in
      call.return(device.wifiSignal.map { .int($0) } ?? .nil)
    }
    text("role") { $0.role.rawValue }
    text("version", \.version)
    whole("balance", \.balance)
    flag("is_playing", \.isPlaying)
    whole("channel_type", changedBy: "set_role", \.channelType)
    flag("is_master", changedBy: "set_group", \.isMaster)
    flag("available", \.isAvailable)
    devices.field("output") { device, call in
      call.return(device.output.map { .string($0) } ?? .nil)
    }
    devices.field("group", changedBy: "set_group") { [unowned self] device, call in
      guard let house = door.open, let group = device.group else { return call.return(.nil) }
      return call.return(groups(self.group(group, in: house)))
    }

    devices.field("session", changedBy: "join") { [unowned self] device, call in
      call.return(device.session.map { sessions($0) } ?? .nil)
    }

    devices.field("sessions", changedBy: "join") { [unowned self] device, call in
      call.return(sessions(of: [device]))
    }

    devices.method("set_volume", arity: 1) { device, call in
      try device.setVolume(try call.int(2, in: House.volumeRange))
      return .none
    }
    devices.method("mute", arity: 0, advice: "call unmute to undo it") { device, _ in
      try device.mute()
      return .none
    }
    devices.method("unmute", arity: 0, advice: "call mute to undo it") { device, _ in
      try device.unmute()
      return .none
    }
    devices.method("join", arity: 1) { [unowned self] device, call in
      try device.requireOpenHouse()
      let session = try session(call, 2)
      return try call.suspend {
        try await device.join(session)
        return []
      }
    }
    devices.method("leave", arity: 1) { [unowned self] device, call in
      let session = call.isNil(2) ? nil : try call.object(2, sessions)
      return try call.suspend {
        if let session { try await device.leave(session) } else { try await device.leave() }
        return []
      }
    }
    devices.method("fade", arity: 1) { device, call in
      try SessionFunctions.fade(call) { try await device.fade(volume: $0, over: $1) }
    }
    events.add(to: devices, deviceEvents())
  }

  /// The functions of `roomtone.fades`: fades for the library, and the levels from before for the next process. Not for
  /// scripts.
  func fades() throws -> [LuaFunction] {
    let type = try LuaClass<Fade>("fade", in: script.state) { "fade to \($0.to)" }
    type.field("active") { fade, call in call.return(fade.isActive) }
    type.field("progress") { fade, call in call.return(.number(fade.progress)) }
    type.field("devices") { [devices] fade, call in call.return(.list(fade.devices.map { devices($0) })) }
    type.method("cancel", arity: 0) { fade, _ in
      fade.cancel()
      return .none
    }
    // `run()` suspends to the end of the fade → false if it was cancelled or the house closed
    type.method("run", arity: 0) { fade, call in try call.suspend { [.bool(try await fade.run())] } }
    var begun: [Fade] = []
    script.root { for fade in begun { fade.cancel() } }
    return [
      // `begin(devices, to, seconds, curve, session)` → the fade; `session` is nil unless its members are the target
      withHouse("begin", arity: 5) { [unowned self] house, call in
        guard let list = call.state.list(call.value(1)), let curve = Fade.Curve(rawValue: try call.string(4))
        else { throw call.problem(1, "a list of speakers, and a curve, expected") }
        let fade = try house.beginFade(
          of: list.compactMap { devices.object(of: $0) }, to: try call.int(2, in: House.volumeRange),
          over: .seconds(try call.number(3)), curve: curve,
          in: call.isNil(5) ? nil : try call.object(5, sessions))
        begun.removeAll { !$0.hasSpeaker }
        begun.append(fade)
        return call.return(type(fade))
      },
      // `borrow(device, volume, muted, low, high)` → a number; the first two are from before
      LuaFunction("borrow", arity: 5) { [devices, door] call in
        let (volume, isMuted) = (try call.int(2, in: House.volumeRange), try call.bool(3))
        let (low, high) = (try call.int(4, in: House.volumeRange), try call.int(5, in: House.volumeRange))
        let level = BorrowedLevel(
          device: try call.object(1, devices).id, volume: volume, isMuted: isMuted, meanwhile: low, high)
        guard let level else { throw call.problem(4, "at most argument #5 expected") }
        return call.return(.int(door.open?.borrow([level]) ?? 0))
      },
      // `forget(number)`: the level of `borrow` is restored
      LuaFunction("forget", arity: 1) { [door] call in
        door.open?.forget(borrowed: try call.int(1))
        return .none
      },
    ]
  }

  /// Fields and methods of a group.
  func defineGroups() {
    groups.field("name") { group, call in call.return(.string(group.name)) }
    groups.field("id") { group, call in call.return(.optional(group.current?.id)) }
    groups.field("active", changedBy: "join") { group, call in
      call.return(group.current?.isActive ?? false)
    }
    groups.field("volume") { group, call in call.return(group.current?.volume ?? 0) }
    groups.field("muted", changedBy: "mute") { group, call in
      call.return(group.current?.isMuted ?? false)
    }
    groups.field("session", changedBy: "join") { [unowned self] group, call in
      let members = group.current?.devices ?? []
      guard let session = members.first?.session, members.allSatisfy({ $0.session === session }) else {
        return call.return(.nil)
      }
      return call.return(sessions(session))
    }
    groups.field("sessions", changedBy: "join") { [unowned self] group, call in
      call.return(sessions(of: group.current?.devices ?? []))
    }
    groups.field("devices") { [unowned self] group, call in
      call.return(.list((group.current?.devices ?? []).map { devices($0) }))
    }
    groups.method("join", arity: 1) { [unowned self] group, call in
      let session = try session(call, 2)
      let group = try group.present()
      return try call.suspend {
        try await group.join(session)
        return []
      }
    }
    groups.method("leave", arity: 0) { group, call in
      let group = try group.present()
      return try call.suspend {
        try await group.leave()
        return []
      }
    }
    groups.method("set_volume", arity: 1) { group, call in
      let volume = try call.int(2, in: House.volumeRange)
      try group.present().setVolume(volume)
      return .none
    }
    groups.method("mute", arity: 0, advice: "call unmute to undo it") { group, _ in
      try group.present().mute()
      return .none
    }
    groups.method("unmute", arity: 0, advice: "call mute to undo it") { group, _ in
      try group.present().unmute()
      return .none
    }
    groups.method("fade", arity: 1) { group, call in
      try SessionFunctions.fade(call) { try await group.present().fade(volume: $0, over: $1) }
    }
    events.add(to: groups, groupEvents())
  }

  /// Returns the list of the sessions that have or want one of some speakers.
  private func sessions(of devices: [Device]) -> LuaValue {
    let found = (door.open?.sessions ?? []).filter { session in
      session.rooms.contains { room in devices.contains { $0 === room } }
    }
    return .list(found.map { sessions($0) })
  }

  /// Returns the session in argument `number`; the script's own one without it.
  private func session(_ call: LuaCall, _ number: Int) throws -> Session {
    guard call.isNil(number) else { return try call.object(number, sessions) }
    guard let house = door.open else { throw Self.houseIsClosed }
    return try own(in: house)
  }

  /// Fields and methods of a session.
  func defineSessions() {
    sessions.field("name") { session, call in call.return(.string(session.name)) }
    sessions.field("priority") { session, call in call.return(session.priority) }
    sessions.field("devices") { [unowned self] session, call in
      call.return(.list(session.devices.map { devices($0) }))
    }
    sessions.field("rooms", changedBy: "join") { [unowned self] session, call in
      call.return(.list(session.wanted.map { devices($0) }))
    }
    sessions.field("owner") { session, call in call.return(.optional(session.owner)) }
    sessions.field("interrupts") { [unowned self] session, call in
      call.return(door.open?.isInterruption(session) ?? false)
    }
    sessions.field("lent") { [unowned self] session, call in
      call.return(.list((door.open?.speakers(lentBy: session) ?? []).map { devices($0) }))
    }
    sessions.field("source", changedBy: "play") { session, call in
      call.return(session.source.map { Self.source($0) } ?? .nil)
    }
    sessions.field("closed") { session, call in call.return(!session.isOpen) }
    sessions.field("suspended") { session, call in call.return(session.isSuspended) }
    for function in SessionFunctions.all(self) {
      sessions.method(function.name, arity: function.arity) { session, call in
        if !function.onlyLooks { try session.requireOpen() }
        return try function.body(session, call, 2)
      }
    }
    sessions.method("set_volume", arity: 1) { session, call in
      try session.setVolume(try call.int(2, in: House.volumeRange))
      return .none
    }
    sessions.method("volume", arity: 0) { session, call in call.return(session.volume) }
    sessions.method("mute", arity: 0, advice: "call unmute to undo it") { session, _ in
      try session.mute()
      return .none
    }
    sessions.method("unmute", arity: 0, advice: "call mute to undo it") { session, _ in
      try session.unmute()
      return .none
    }
    sessions.method("is_muted", arity: 0) { session, call in call.return(session.isMuted) }
    events.add(to: sessions, sessionEvents())
  }
}
