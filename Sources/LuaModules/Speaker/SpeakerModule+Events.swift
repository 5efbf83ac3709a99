internal import LuaRuntime
internal import SpeakerKit

/// What scripts are told of a house: one payload for each event, the same whoever listens.
extension SpeakerModule {
  private static let allNames = HouseEvent.Kind.allCases.map(\.rawValue)
  private static let sessionNames: [HouseEvent.Kind] = [.state, .time, .ended, .error]
  private static let deviceNames: [HouseEvent.Kind] = [.device, .volume, .state, .time, .ended]

  /// `speaker.on`, `speaker.once`, `speaker.wait`.
  func houseEvents() -> [LuaFunction] {
    let feed = EventFeed<House>(names: Self.allNames) { [unowned self] house, name, deliver, closed in
      subscribe(to: house, name, deliver, closed) { _ in true }
    }
    let events = events
    return [
      withHouse("on") { house, call in try events.on(house, call, 1, feed, once: false) },
      withHouse("once") { house, call in try events.on(house, call, 1, feed, once: true) },
      withHouse("wait") { house, call in try events.wait(house, call, 1, feed) },
    ]
  }

  /// A session's own events.
  func sessionFeed() -> EventFeed<Session> {
    EventFeed(names: Self.sessionNames.map(\.rawValue)) { [unowned self] session, name, deliver, closed in
      guard let house = door.open else { throw SpeakerError(.closed, "the house is closed") }
      guard house.session === session else { throw Self.gone("session \"\(session.name)\"") }
      return subscribe(to: house, name, deliver, closed) { $0.session === session }
    }
  }

  /// A speaker's own events, and those of the session that it is in.
  func deviceFeed() -> EventFeed<Device> {
    EventFeed(names: Self.deviceNames.map(\.rawValue)) { [unowned self] device, name, deliver, closed in
      guard let house = door.open else { throw SpeakerError(.closed, "the house is closed") }
      guard house.devices.contains(where: { $0 === device }) else {
        throw Self.gone("speaker \"\(device.name)\"")
      }
      return subscribe(to: house, name, deliver, closed) { event in
        if let other = event.device { return other === device }
        return event.session.map { $0 === device.session } ?? false
      }
    }
  }

  /// The error for an object of a house before the one that is open: it would never be told anything.
  private static func gone(_ what: String) -> SpeakerError {
    SpeakerError(
      .closed, "the \(what) belongs to a house that was closed",
      hint: "look it up again in the house that is open")
  }

  private func subscribe(
    to house: House, _ name: String, _ deliver: @escaping (LuaValue) -> Void, _ closed: @escaping () -> Void,
    where concerns: @escaping (HouseEvent) -> Bool
  ) -> () -> Void {
    let subscription = house.events.on(HouseEvent.Kind(rawValue: name)) { [unowned self] event in
      if concerns(event) { deliver(payload(event)) }
    }
    let forget = door.whenClosed(closed)
    return {
      subscription.cancel()
      forget()
    }
  }

  private func payload(_ event: HouseEvent) -> LuaValue {
    switch event {
    case .device(let device, let reason):
      .record([("device", devices(device)), ("reason", .string(reason.rawValue))])
    case .volume(let device, let volume, let muted, let average):
      .record([
        ("device", devices(device)), ("volume", .int(volume)), ("muted", .bool(muted)),
        ("average", .int(average)),
      ])
    case .state(let state, let session):
      .record([("state", .string(state.rawValue)), ("session", sessions(session))])
    case .time(let elapsed, let session):
      .record([("elapsed", .int(elapsed)), ("session", sessions(session))])
    case .ended(let session, let source, let reason):
      .record([
        ("session", sessions(session)), ("reason", .string(reason.rawValue)),
        ("source", .record([("path", .string(source.path)), ("title", .string(source.title))])),
      ])
    case .error(let code, let message, let device, let session):
      .record([
        ("code", .string(code)), ("message", .string(message)),
        ("device", device.map { devices($0) } ?? .nil),
        ("session", session.map { sessions($0) } ?? .nil),
      ])
    }
  }
}
