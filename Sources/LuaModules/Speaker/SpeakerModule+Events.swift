internal import EventLoop
internal import Home
internal import LuaRuntime
internal import SpeakerKit

/// The events of a house for scripts: one payload for each event, the same for all listeners.
extension SpeakerModule {
  private static let allNames = HouseEvent.Kind.allCases.map(\.rawValue)
  private static let suspensions: [HouseEvent.Kind] = [.suspending, .suspended, .resumed]
  private static let sessionNames = [.state, .time, .ended, .track, .error] + suspensions
  /// The name of the event for the end of a session, which the house does not emit.
  private static let closed = "closed"
  private static let deviceNames = [.device, .volume, .state, .time, .ended, .track] + suspensions

  /// Returns the cause of a listener's actions: the event, with the cause of the event as its parent.
  private func listenerCause<Object>() -> (Object, String, LuaSite?, WallTime) -> Cause {
    { [journal] _, event, place, now in
      Cause(
        .event, event, script: place?.file, line: place?.line ?? 0, at: now, parent: journal.delivered)
    }
  }

  /// `speaker.on`, `speaker.once`, `speaker.wait`: the events of the own session and of the speakers; those of all
  /// sessions with the option `all`.
  func houseEvents() -> [LuaFunction] {
    let all = EventSource<House>(names: Self.allNames, cause: listenerCause()) {
      [unowned self] house, name, deliver, closed in
      subscribe(to: house, name, deliver, closed) { _ in true }
    }
    let own = EventSource<House>(names: Self.allNames, cause: listenerCause()) {
      [unowned self] house, name, deliver, closed in
      subscribe(to: house, name, deliver, closed) { [unowned self] event in
        event.session.map { $0 === door.own[script.sessionKey] } ?? true
      }
    }
    // A table after the event is one of options.
    func chosen(_ call: LuaCall) throws -> (source: EventSource<House>, options: Int) {
      guard call.state.typeName(call.value(2)) == "table" else { return (own, 0) }
      return (try call.options(2, ["all"]).bool("all") == true ? all : own, 1)
    }
    let events = events
    return [
      withHouse("on", arity: 3) { house, call in
        let (source, options) = try chosen(call)
        return try events.on(house, call, 1, source, once: false, options: options)
      },
      withHouse("once", arity: 3) { house, call in
        let (source, options) = try chosen(call)
        return try events.on(house, call, 1, source, once: true, options: options)
      },
      withHouse("wait", arity: 3) { house, call in
        let (source, options) = try chosen(call)
        return try events.wait(house, call, 1, source, options: options)
      },
    ]
  }

  /// A session's own events.
  func sessionEvents() -> EventSource<Session> {
    EventSource(names: Self.sessionNames.map(\.rawValue) + [Self.closed], cause: listenerCause()) {
      [unowned self] session, name, deliver, closed in
      try session.requireOpen()
      guard let house = door.open else { throw Self.gone("session \"\(session.name)\"") }
      let gone = afterListeners(closed)
      if name == Self.closed {
        let payload = LuaValue.record([("session", sessions(session))])
        return afterClosing(session, of: house) {
          deliver(payload)
          gone.happens()
        }
      }
      let end = subscribe(to: house, name, deliver, closed) { $0.session === session }
      let forget = session.whenClosed { house.events.afterEvents(gone.happens) }
      return {
        end()
        forget()
        gone.revokeLast()
      }
    }
  }

  /// Calls `body` when the session has been closed, alone or with its house, after all earlier events.
  private func afterClosing(_ session: Session, of house: House, _ body: @escaping () -> Void) -> () -> Void {
    let forget = session.whenClosed { house.events.afterEvents(body) }
    let forgetHouse = door.whenClosed(body)
    return {
      forget()
      forgetHouse()
    }
  }

  /// A speaker's own events, and those of the session that it is in.
  func deviceEvents() -> EventSource<Device> {
    EventSource(names: Self.deviceNames.map(\.rawValue), cause: listenerCause()) {
      [unowned self] device, name, deliver, closed in
      guard !device.isRemoved else {
        throw SpeakerError(.closed, "the speaker \"\(device.name)\" was removed from the house")
      }
      guard let house = door.open, house.devices.contains(where: { $0 === device }) else {
        throw Self.gone("speaker \"\(device.name)\"")
      }
      let end = subscribe(to: house, name, deliver, closed) { event in
        if let other = event.device { return other === device }
        return event.session.map { $0 === device.session } ?? false
      }
      let gone = afterListeners(closed)
      let removal = house.events.on(.device) { event in
        if case .device(let other, .removed) = event, other === device { gone.happens() }
      }
      return {
        end()
        removal.cancel()
        gone.revokeLast()
      }
    }
  }

  /// Events of a group's speakers, including a speaker that leaves the group, and of their sessions.
  func groupEvents() -> EventSource<ScriptGroup> {
    EventSource(names: Self.deviceNames.map(\.rawValue), cause: listenerCause()) {
      [unowned self] group, name, deliver, closed in
      guard let house = door.open, house === group.house else { throw Self.gone("group \"\(group.name)\"") }
      return subscribe(to: house, name, deliver, closed) { event in
        if let device = event.device { return [device.groupName, device.leavesGroup].contains(group.name) }
        guard let session = event.session else { return false }
        return session.devices.contains { $0.groupName == group.name }
      }
    }
  }

  /// Calls `closed` in the turn after `happens`, when listeners have received all earlier events, unless
  /// `revokeLast` was called.
  private func afterListeners(_ closed: @escaping () -> Void) -> (
    happens: () -> Void, revokeLast: () -> Void
  ) {
    var isWanted = true
    let loop = script.loop
    return ({ loop.next { if isWanted { closed() } } }, { isWanted = false })
  }

  /// The error for an object of an earlier house than the one that is open: its events can never come.
  private static func gone(_ what: String) -> SpeakerError {
    SpeakerError(
      .closed, "the \(what) belongs to a house that was closed",
      hint: "look it up again in the house that is open")
  }

  private func subscribe(
    to house: House, _ name: String, _ deliver: @escaping (LuaValue) -> Void, _ closed: @escaping () -> Void,
    where isConcerned: @escaping (HouseEvent) -> Bool
  ) -> () -> Void {
    let kind = HouseEvent.Kind(rawValue: name)
    let subscription = house.events.on(kind, where: isConcerned) { [unowned self] event in
      deliver(payload(event))
    }
    let forget = door.whenClosed(closed)
    return {
      subscription.cancel()
      forget()
    }
  }

  /// A source as scripts have it.
  static func source(_ source: SourceInfo) -> LuaValue {
    .record([("path", .string(source.path)), ("title", .string(source.title))])
  }

  private func payload(_ event: HouseEvent) -> LuaValue {
    switch event {
    case .device(let device, let reason):
      .record([
        ("device", devices(device)), ("reason", .string(reason.rawValue)),
        ("cause", .optional(device.isControlled ? LevelCause.controller.rawValue : nil)),
      ])
    case .volume(let device, let volume, let muted, let average, let cause, let limit):
      .record([
        ("device", devices(device)), ("volume", .int(volume)), ("muted", .bool(muted)),
        ("average", .int(average)), ("cause", .optional(cause?.rawValue)),
        ("asked", limit.map { .int($0.asked) } ?? .nil), ("limit", .optional(limit?.text)),
      ])
    case .state(let state, let session, _):
      .record([("state", .string(state.rawValue)), ("session", sessions(session))])
    case .time(let elapsed, let session):
      .record([("elapsed", .int(elapsed)), ("session", sessions(session))])
    case .ended(let session, let source, let reason):
      .record([
        ("session", sessions(session)), ("reason", .string(reason.rawValue)),
        ("source", Self.source(source)),
      ])
    case .track(let session, let source, let index, let count):
      .record([
        ("session", sessions(session)), ("source", Self.source(source)), ("index", .int(index)),
        ("count", .int(count)),
      ])
    case .suspension(_, let session, let by):
      .record([("session", sessions(session)), ("by", sessions(by))])
    case .error(let code, let message, let device, let session):
      .record([
        ("error", .error(LuaError(code: code, message: message))), ("code", .string(code)),
        ("message", .string(message)), ("device", device.map { devices($0) } ?? .nil),
        ("session", session.map { sessions($0) } ?? .nil),
      ])
    }
  }
}
