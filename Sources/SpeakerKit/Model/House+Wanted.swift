public import EventLoop

/// The rule by which sessions share speakers. A value: knows no house.
///
/// A session wants speakers; it has each that is idle at once. One in which another session sounds goes to the session
/// that begins to sound there, by priority, and on equal ones to the later.
struct RoomRule {
  /// The session that has a speaker.
  struct Holder: Equatable {
    let priority: Int
    /// `true` if the session plays or is paused, or is that of an interruption.
    let sounds: Bool
  }

  /// The priority of the session that wants the speaker.
  let priority: Int
  /// `true` if that session sounds, or is about to.
  let sounds: Bool

  /// Returns `true` if the session may have a speaker that `holder` has; nil for a speaker in no session.
  func mayHave(from holder: Holder?) -> Bool {
    guard let holder, holder.sounds else { return true }
    return sounds && priority >= holder.priority
  }
}

/// The speakers that a session asks for as it begins to sound.
enum RoomRequest {
  /// The wanted speakers.
  case wanted
  /// Other speakers, which replace the wanted ones.
  case only([Device])
  /// The present speakers, and no others.
  case present

  /// A request for `rooms`; nil for the wanted speakers.
  init(_ rooms: [Device]?) { self = rooms.map { .only($0) } ?? .wanted }
}

/// The speakers that a session wants, by what comes of them when the session begins to sound.
struct WantedRooms {
  /// Speakers that the session has, also those that an interruption has borrowed from it.
  var had: [Device] = []
  /// Speakers that it gets.
  var taken: [Device] = []
  /// Speakers that sessions of higher priority keep.
  var kept: [(device: Device, by: Session)] = []
}

/// A wanted speaker that a session did not get when it began to sound.
public struct MissedRoom {
  /// The speaker.
  public let device: Device
  /// The name of the session that keeps it.
  public let holder: String
  /// The priority of that session.
  public let priority: Int
  /// The command of that session in words; nil when nothing is known about it.
  public let command: String?

  /// The speaker and who keeps it, on one line.
  public var text: String {
    "\"\(device.name)\" is kept by \"\(holder)\" of priority \(priority)" + (command.map { " (\($0))" } ?? "")
  }
}

extension Session {
  /// Adds speakers to those that the session wants. It has idle ones at once; the others when it begins to sound, if their
  /// sessions have no higher priority.
  /// - Throws: `speaker.closed`, also for speakers of another house.
  public func want(_ devices: [Device]) throws(SpeakerError) {
    let house = try openHouse()
    for device in devices { try house.check(isOfThisHouse: device) }
    for device in House.eachOnce(devices) where !wanted.contains(where: { $0 === device }) {
      wanted.append(device)
    }
    let rule = RoomRule(priority: priority, sounds: source != nil || house.isInterruption(self))
    for device in devices where !house.hasSpeaker(device, self) {
      if rule.mayHave(from: house.holder(of: device)) { house.move(device, to: self) }
    }
    house.resumeSuspended(self)
  }

  /// Returns what would come of the speakers that the session asks for if it began to sound.
  /// - Parameter priority: that of the session then.
  private func plan(_ request: RoomRequest, priority: Int) -> WantedRooms {
    guard let house else { return WantedRooms() }
    var result = WantedRooms(had: house.speakers(of: self))
    var asked: [Device] = []
    switch request {
    case .wanted: asked = wanted
    case .present: break
    case .only(let rooms):
      asked = House.eachOnce(rooms)
      result.had = result.had.filter { device in rooms.contains { $0 === device } }
    }
    let rule = RoomRule(priority: priority, sounds: true)
    for device in asked where !house.hasSpeaker(device, self) {
      if let other = device.session, !rule.mayHave(from: house.holder(of: device)) {
        result.kept.append((device, other))
      } else {
        result.taken.append(device)
      }
    }
    // One that waits has its speakers again when the interruption ends; another one that is left with none else asks anew.
    if !isSuspended, !result.taken.contains(where: \.isAvailable),
      !result.had.contains(where: { $0.session === self && $0.isAvailable })
    {
      for device in result.had where device.session !== self {
        if let other = device.session, !rule.mayHave(from: house.holder(of: device)) {
          result.kept.append((device, other))
        } else {
          result.taken.append(device)
        }
      }
      result.had.removeAll { $0.session !== self }
    }
    return result
  }

  /// Checks that the session would have a speaker, and a stream of the driver, if it began to sound.
  /// - Parameters:
  ///   - rooms: the speakers that it would want then; nil for those that it wants.
  ///   - priority: that of the session then; nil for the present one.
  /// - Throws: `speaker.no_active_device` when it wants none, or none can be reached; `speaker.outranked` when sessions of
  ///   higher priority keep all that it wants; `speaker.no_stream`; `speaker.unknown` for speakers of another house;
  ///   `speaker.closed`.
  public func requireRooms(_ rooms: [Device]? = nil, priority: Int? = nil) throws(SpeakerError) {
    _ = try check(RoomRequest(rooms), priority: priority ?? self.priority)
  }

  /// Checks that the session would have a speaker and a stream.
  /// - Returns: the speakers by the outcome of such a start.
  /// - Throws: as `requireRooms`.
  func check(_ request: RoomRequest, priority: Int) throws(SpeakerError) -> WantedRooms {
    let house = try openHouse()
    if case .only(let rooms) = request { for device in rooms { try house.check(isOfThisHouse: device) } }
    let plan = plan(request, priority: priority)
    try requireSpeaker(of: plan, after: request)
    try house.requireStream(for: self, priority: priority, taking: plan.taken)
    return plan
  }

  private func requireSpeaker(of rooms: WantedRooms, after request: RoomRequest) throws(SpeakerError) {
    switch request {
    case .wanted, .present: if isSuspended || hasAvailableMember { return }
    case .only:
      // One that an interruption has counts only with a suspended session: another one would stop meanwhile.
      if rooms.had.contains(where: { isSuspended || $0.session === self && $0.isAvailable }) { return }
    }
    if rooms.taken.contains(where: \.isAvailable) { return }
    if let first = rooms.kept.first {
      let kept = rooms.kept.map { miss($0.device, keptBy: $0.by) }
      throw SpeakerError(
        .outranked, "play: " + kept.map(\.text).joined(separator: ", "),
        hint: "wait until one is free, or play with a priority of \(kept.map(\.priority).min() ?? 0)",
        facts: [
          .init("device", .string(first.device.name)), .init("session", .string(first.by.name)),
          .init("priority", .int(first.by.priority)),
        ])
    }
    throw rooms.had.isEmpty && rooms.taken.isEmpty ? Self.wantsNoRoom : Self.reachesNoRoom
  }

  /// Takes the speakers that the session asks for and may have, as it begins to sound; reports those that others keep.
  /// - Throws: as `requireRooms`, after which nothing has changed.
  func takeRooms(_ given: RoomRequest, priority: Int) throws(SpeakerError) {
    let house = try openHouse()
    var request = given
    // Some may have been removed from the house while the source was opening.
    if case .only(let rooms) = given { request = .only(rooms.filter { !$0.isRemoved }) }
    let plan = try check(request, priority: priority)
    // Taken before others leave: the source that is replaced does not end for want of a speaker.
    for device in plan.taken { house.move(device, to: self) }
    if case .only(let all) = request {
      let rooms = House.eachOnce(all)
      for device in house.speakers(of: self) where !rooms.contains(where: { $0 === device }) {
        house.remove(device, from: self)
      }
      wanted = rooms
    }
    try house.takeStream(for: self, priority: priority)
    house.resumeSuspended(self)
    missed = plan.kept.map { miss($0.device, keptBy: $0.by) }
    for room in missed { house.report(.missed(device: room.device.id, room.text), of: self) }
  }

  private func miss(_ device: Device, keptBy other: Session) -> MissedRoom {
    MissedRoom(
      device: device, holder: other.name, priority: other.priority, command: house?.lastCommand(other))
  }

  private static let wantsNoRoom = SpeakerError(
    .noActiveDevice, "play: the session wants no room",
    hint: "name one with play(…, { rooms = \"Kitchen\" }), or join one first")
  private static let reachesNoRoom = SpeakerError(
    .noActiveDevice, "play: no speaker of the session can be reached",
    hint: "name another room with play(…, { rooms = \"Kitchen\" }), or join one first")
}

extension House {
  /// Returns the session that has a speaker, as the rule sees it; nil for none.
  func holder(of device: Device) -> RoomRule.Holder? {
    device.session.map { session in
      RoomRule.Holder(priority: session.priority, sounds: session.source != nil || isInterruption(session))
    }
  }
}
