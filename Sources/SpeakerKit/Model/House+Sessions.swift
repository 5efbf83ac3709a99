internal import AudioCore
public import EventLoop

extension House {
  /// Creates a session: speakers that sound together, apart from the others. It lives until it is closed, or
  /// the house is.
  /// - Parameters:
  ///   - name: display name; by default `"session 1"` and so on.
  ///   - devices: the speakers that it wants, see `Session.want`.
  ///   - priority: 0 or more; see `Session.want`.
  /// - Throws: `speaker.unknown` for speakers of another house, `speaker.range`, `speaker.closed`, `script.flooded`.
  public func makeSession(
    name: String? = nil, devices: [Device] = [], priority: Int = 100
  ) throws(SpeakerError) -> Session {
    loop.assertOnLoop()
    guard isOpen else { throw Self.closedError }
    guard priority >= 0 else {
      throw SpeakerError(
        .range, "priority \(priority) is below 0", facts: [.init("priority", .int(priority))])
    }
    for device in devices { try check(isOfThisHouse: device) }
    let session = try append(sessionNamed: name, priority: priority)
    takeFreeStream(for: session)
    try session.want(devices)
    return session
  }

  /// Creates the session of an interruption, which has a stream from the beginning: what it interrupts is not interrupted
  /// in vain.
  /// - Parameter devices: the speakers that it interrupts.
  /// - Throws: `speaker.no_stream`, `script.flooded`.
  func makeInterruptingSession(
    name: String, priority: Int, on devices: [Device]
  ) throws(SpeakerError) -> Session {
    let session = try append(sessionNamed: name, priority: priority)
    do { try takeStream(for: session, priority: priority, on: devices) } catch {
      sessions.removeAll { $0 === session }
      throw error
    }
    return session
  }

  /// The maximum number of open sessions: far more than a household has.
  private static let mostSessions = 1000

  private func append(sessionNamed name: String?, priority: Int) throws(SpeakerError) -> Session {
    guard sessions.count < Self.mostSessions else {
      throw SpeakerError(
        .flooded, "\(sessions.count) sessions are open", hint: "close those that are not needed any more",
        facts: [.init("limit", .int(Self.mostSessions))])
    }
    let taken = Set(sessions.map(\.id))
    let id = (1...sessions.count + 1).first { !taken.contains($0) } ?? sessions.count + 1
    let session = Session(
      id: id, name: name ?? "session \(id)", driver: driver, loop: loop, priority: priority)
    session.house = self
    sessions.append(session)
    return session
  }

  /// Requires a capability of the driver.
  /// - Parameter what: the feature, for the message.
  /// - Throws: `speaker.unsupported`.
  func require(_ capability: String, for what: String) throws(SpeakerError) {
    guard !driver.capabilities.contains(capability) else { return }
    throw SpeakerError(
      .unsupported, "the driver \"\(driver.name)\" can't do \(what)",
      hint: "speaker.capabilities() lists its abilities", facts: [.init("capability", .string(capability))])
  }

  /// Checks that a session of `priority` that sounds may have `device`.
  /// - Throws: `speaker.outranked`; `speaker.unknown` for a device of another house.
  func check(_ device: Device, mayGoTo priority: Int) throws(SpeakerError) {
    try check(isOfThisHouse: device)
    let rule = RoomRule(priority: priority, sounds: true)
    guard let owner = device.session, !rule.mayHave(from: holder(of: device)) else { return }
    throw SpeakerError(
      .outranked,
      "\"\(device.name)\" is in \"\(owner.name)\" of priority \(owner.priority), and the request has priority \(priority)",
      hint: "wait until it is free, or ask with a priority of \(owner.priority)",
      facts: [
        .init("device", .string(device.name)), .init("session", .string(owner.name)),
        .init("priority", .int(owner.priority)),
      ])
  }

  /// Checks that a speaker is one of this house.
  /// - Throws: `speaker.unknown`.
  func check(isOfThisHouse device: Device) throws(SpeakerError) {
    guard device.house === self else {
      throw SpeakerError(.unknown, "\"\(device.name)\" is not a speaker of this house")
    }
  }

  /// Returns the sessions that have members, all of them among `devices`.
  func sessions(within devices: [Device]) -> [Session] {
    sessions.filter { session in
      let members = self.devices.filter { $0.session === session }
      return !members.isEmpty && members.allSatisfy { member in devices.contains { $0 === member } }
    }
  }

  /// Returns the speakers in their order, without repetitions.
  static func eachOnce(_ devices: [Device]) -> [Device] {
    var seen: Set<ObjectIdentifier> = []
    return devices.filter { seen.insert(ObjectIdentifier($0)).inserted }
  }

  /// Moves a speaker into a session or out of all, emits the events, and stops a session that lost its last
  /// member.
  /// - Parameter isReported: `true` if the driver has reported the move, and performed it.
  func move(_ device: Device, to session: Session?, isReported: Bool = false) {
    let old = device.session
    guard old !== session else { return }
    if !isReported { report(.move(device)) }
    device.session = session
    moveCount += 1
    device.lastMove = moveCount
    applyLimit(toMoved: device)
    if !isReported { driver.setSession(session?.stream, ofDevice: device.id) }
    if old != nil { events.emit(.device(device, .left)) }
    if session != nil { events.emit(.device(device, .joined)) }
    if let old, old.devices.isEmpty, !old.isSuspended, !suspend(waiting: old) { old.lastMemberLeft() }
    old?.watchSilence()
    session?.watchSilence()
    reportPlaying()
  }

  /// Adds speakers to those that `session` wants.
  /// - Throws: `speaker.closed`, also for a session of another house.
  func join(_ devices: [Device], _ session: Session) throws(SpeakerError) {
    guard session.house === self else {
      throw SpeakerError(
        .closed, "the session \"\(session.name)\" belongs to a house that was closed",
        hint: "use a session of the open house")
    }
    try session.want(devices)
  }

  /// Removes speakers from their sessions, which do not want them any more.
  func leave(_ devices: [Device]) {
    for device in devices {
      device.session?.wanted.removeAll { $0 === device }
      move(device, to: nil)
    }
  }
}

extension Session {
  /// `true` if the session can be used: its house is open, and it has not been closed.
  public var isOpen: Bool { house?.isOpen == true && !isClosed }

  /// Stops and closes the session: its speakers leave it, and every later command to it throws
  /// `speaker.closed`. Closing it again does nothing.
  public func close() {
    loop.assertOnLoop()
    guard !isClosed else { return }
    if let interruption = house?.interruptions.first(where: { $0.session === self }) {
      return interruption.end()
    }
    if let overlay = house?.overlays.first(where: { $0.session === self }) { return overlay.end() }
    stop()
    isClosed = true
    wanted = []
    guard let house else { return }
    for device in devices { house.move(device, to: nil) }
    stream = nil
    house.sessions.removeAll { $0 === self }
    for listener in closeListeners.removeAll() { listener() }
    closing.settle(.success(()))
  }

  /// Calls `body` once when the session is closed; not when its house is.
  /// - Returns: a function that cancels that.
  @discardableResult
  public func whenClosed(_ body: @escaping () -> Void) -> () -> Void {
    if isClosed { return {} }
    let number = closeListeners.add(body)
    return { [weak self] in self?.closeListeners.remove(number) }
  }

  /// Checks that the session can be used.
  /// - Throws: `speaker.closed`.
  public func requireOpen() throws(SpeakerError) { _ = try openHouse() }

  /// Returns the session's house if the session can be used.
  /// - Throws: `speaker.closed`.
  func openHouse() throws(SpeakerError) -> House {
    guard let house, house.isOpen else {
      // Scripts see sessions only of a house that has been open; that house may be open again, with other
      // objects.
      throw SpeakerError(
        .closed, "the session \"\(name)\" belongs to a house that was closed",
        hint: "use a session of the open house")
    }
    guard !isClosed else { throw SpeakerError(.closed, "the session \"\(name)\" is closed") }
    return house
  }
}
