internal import AudioCore
internal import EventLoop
internal import JSONText
public import SpeakerKit

/// The changes of a house, with the causes of the commands for them.
extension Journal {
  /// Records the changes of an open house. To be called before any other listener subscribes, so that `delivered` is the
  /// cause of each event for them.
  public func follow(_ house: House) {
    (origins, emitted, houseBegan) = (JournalOrigins(), EmittedEvents(), loop.wallNow)
    for device in house.devices { _ = origins[device] }
    for session in house.sessions { _ = members(session) }
    // The house retains the journal, and the journal does not retain the house.
    house.lastCommand = { [self] session in
      guard let cause = origins.command(session), current.map({ !$0.repeats(cause) }) ?? true else {
        return nil
      }
      return cause.call
    }
    house.onCommand { [self] in origins.keep($0, by: current, at: loop.now) }
    house.onSessionChange { [self, weak house] session, change in
      if let house { receive(change, session, house) }
    }
    house.events.onDelivered = { [self] in delivered = nil }
    // A command's own events are emitted in its task; other events come later, when the task may do other
    // work. Events of levels, which a fade has in large numbers, have the causes of their commands.
    house.events.on(
      wantsSeconds: false,
      where: { [self] event in
        if event.kind == .time { return false }
        if event.kind != .volume { emitted.append(current, event.device) }
        // The look-up makes the record of a new speaker, with its present level.
        if case .device(let device, .added) = event { _ = origins[device] }
        return true
      }
    ) { [self, weak house] event in
      if event.kind != .volume { emitted.advance() }
      if let house { receive(event, house) }
    }
  }

  /// Records a change of a speaker, or a step of the one with the number `earlier`.
  /// - Returns: the number of the change.
  @discardableResult
  private func add(
    _ kind: JournalEntry.Kind, _ device: Device, from: JournalEntry.Value = .none,
    to: JournalEntry.Value = .none, facts: [JournalEntry.Fact] = [], _ cause: Cause?,
    after earlier: Int? = nil
  ) -> Int {
    delivered = cause
    return record(
      kind, of: .speaker, device.name, speakers: [device.id], from: from, to: to, facts: facts, cause: cause,
      after: earlier)
  }

  /// Records a change of a session and its speakers.
  @discardableResult
  private func add(
    _ kind: JournalEntry.Kind, _ session: Session, from: JournalEntry.Value = .none,
    to: JournalEntry.Value = .none, detail: String? = nil, facts: [JournalEntry.Fact] = [], _ cause: Cause?
  ) -> Int {
    delivered = cause
    return record(
      kind, of: .session, session.name, speakers: members(session), from: from, to: to, detail: detail,
      facts: facts, cause: cause, session: session.id)
  }

  /// Returns the ids of a session's speakers; the last known ones if it has lost all of them.
  func members(_ session: Session) -> [String] {
    let ids = session.devices.map(\.id)
    guard ids.isEmpty else {
      origins.members[session.id] = ids
      return ids
    }
    return origins.members[session.id] ?? []
  }

  private func receive(_ event: HouseEvent, _ house: House) {
    switch event {
    case .volume(let device, let volume, let muted, _, let cause, let limit):
      receive(device, volume, muted, cause, limit, house)
    case .device(let device, let reason): receive(device, reason, house)
    case .state(.playing, let session, let source):
      let level = Level(of: session)
      add(
        .play, session, to: .text(source?.title ?? "nothing"), detail: level.text, facts: level.facts,
        emitter ?? origins.play(session))
    case .state(.paused, let session, let source):
      add(.pause, session, from: .text(source?.title ?? "nothing"), emitter ?? origins.play(session))
    case .ended(let session, let source, let reason):
      guard reason != .replaced else { break }
      add(
        .stop, session, from: .text(source.title), detail: reason.rawValue, cause(of: reason, session, house))
    case .suspension(.suspended, let session, let by):
      add(.suspend, session, detail: by.name, interruption(by, house))
    case .suspension(.resumed, let session, let by):
      add(.resume, session, detail: by.name, interruption(by, house))
    case .error(let code, let message, nil, nil):
      // The speakers are lost at the same moment: their events are delivered in this turn.
      origins.loss = message
      loop.next { [weak self] in self?.origins.loss = nil }
      report(.error, detail: message, facts: [.init("code", .string(code))])
      delivered = Cause(.driver, house.driverName, detail: message, at: loop.wallNow)
    case .error(let code, let message, let device, let session):
      origins.failures[session?.id ?? 0] = "\(message) (\(code))"
      delivered = device.flatMap { origins[$0].move }
      report(
        .error, of: device == nil ? .house : .speaker, device?.name ?? "",
        speakers: device.map { [$0.id] } ?? [], detail: message, facts: [.init("code", .string(code))])
    case .state(.stopped, let session, _): delivered = origins.play(session)
    case .suspension(.suspending, _, let by): delivered = interruption(by, house)
    case .track(let session, let source, let index, let count):
      report(
        .title, of: .session, session.name, speakers: members(session), to: .text(source.title),
        facts: [.init("index", .number(index)), .init("of", .number(count))], session: session.id)
    case .time: break
    }
  }

  /// Returns the cause of the end of a source.
  private func cause(of reason: EndReason, _ session: Session, _ house: House) -> Cause? {
    switch reason {
    case .stopped, .replaced: emitter ?? origins.play(session)
    case .finished: Cause(.event, "finished", at: loop.wallNow)
    case .failed: Cause(.event, "failed", detail: origins.failures[session.id], at: loop.wallNow)
    case .noDevices:
      Cause(
        .event, "no_devices", at: loop.wallNow,
        parent: house.devices.last { members(session).last == $0.id }.flatMap { origins[$0].move })
    }
  }

  /// Returns the interruption as a cause: by the routine that has moved its speakers.
  private func interruption(_ by: Session, _ house: House) -> Cause {
    let mover = house.devices.first { members(by).contains($0.id) }
    return Cause(
      .interruption, by.name, at: loop.wallNow,
      parent: emitter ?? origins.sound(by) ?? mover.flatMap { origins[$0].move })
  }

  private func receive(
    _ device: Device, _ volume: Int, _ isMuted: Bool, _ levelCause: LevelCause?, _ limit: AppliedLimit?,
    _ house: House
  ) {
    let speaker = origins[device]
    let (wasVolume, wasMuted) = (speaker.volume, speaker.isMuted)
    (speaker.volume, speaker.isMuted) = (volume, isMuted)
    func command() -> Cause? {
      speaker.level(at: loop.now)
        ?? Cause(house.driverName == "house" ? .driver : .controller, house.driverName, at: loop.wallNow)
    }
    let cause: Cause? =
      switch levelCause {
      case .controller: controller(house)
      case .limit: self.limit(of: device, limit, parent: command())
      case .interruption, .restored:
        interruption(
          speaker.interruption ?? device.session?.name, isRestoring: levelCause == .restored, command())
      case nil: command()
      }
    if isMuted, !wasMuted {
      add(.mute, device, from: .number(wasVolume), to: .number(volume), cause)
    } else if wasMuted, !isMuted, volume == wasVolume {
      add(.unmute, device, to: .number(volume), cause)
    } else if volume != wasVolume || wasMuted != isMuted {
      speaker.levelChange = add(
        .volume, device, from: .number(wasMuted ? 0 : wasVolume), to: .number(volume),
        facts: limit.map { [.init("limit", .string($0.text)), .init("asked", .number($0.asked))] } ?? [],
        cause,
        after: speaker.levelChange)
    }
  }

  /// Returns the cause of the present command for the level of a speaker.
  public func cause(ofLevel device: Device, by author: LevelAuthor) -> Cause? {
    switch author {
    case .caller, .snapshot: current
    case .limit: limit(of: device, device.appliedLimit, parent: origins[device].level(at: loop.now) ?? nil)
    case .interruption: interruption(device.session?.name, isRestoring: false, current)
    case .restoration:
      interruption(
        origins[device].interruption ?? device.session?.name, isRestoring: true, current)
    }
  }

  private func interruption(_ name: String?, isRestoring: Bool, _ parent: Cause?) -> Cause {
    Cause(
      .interruption, name ?? "", detail: isRestoring ? "restored" : nil, at: loop.wallNow, parent: parent)
  }

  /// Returns the limit of a speaker as a cause; `parent` is that of the volume which was asked for.
  private func limit(of device: Device, _ limit: AppliedLimit?, parent: Cause?) -> Cause {
    let rise =
      device.mayExceedLimit
      ? "an alarm that may exceed its limit"
      : device.limit?.quiet == nil ? "its limit" : "the end of its quiet hours"
    let reason = limit?.reason ?? rise
    return Cause(.limit, reason, at: loop.wallNow, parent: parent)
  }

  /// Returns another client of the speakers as a cause.
  private func controller(_ house: House) -> Cause {
    Cause(.controller, house.driverName, at: loop.wallNow)
  }

  private func receive(_ device: Device, _ reason: DeviceReason, _ house: House) {
    let (before, now) = (origins[device], emitted.current?.state ?? SpeakerState(device))
    func itself(_ detail: String? = nil) -> Cause {
      Cause(.driver, house.driverName, detail: detail, at: loop.wallNow)
    }
    let other = house.events.isByController ? controller(house) : nil
    func edited() -> Cause? { other ?? (before.edit(reason, at: loop.now) ?? itself()) }
    if let other, reason == .joined || reason == .left { before.move = other }
    switch reason {
    case .joined:
      let playing = device.session.flatMap { $0.state == .playing ? $0.source?.title ?? "nothing" : nil }
      add(
        .join, device, to: .text(now.session), facts: playing.map { [.init("source", .string($0))] } ?? [],
        other ?? emitter ?? before.move)
    case .left: add(.leave, device, other ?? emitter ?? before.move ?? itself())
    case .renamed: add(.name, device, from: .text(before.name), to: .text(now.name), edited())
    case .regrouped:
      guard before.group != now.group else { break }
      add(.group, device, from: .text(before.group), to: .text(now.group), edited())
    case .role: add(.role, device, to: .text(now.role), edited())
    case .balance: add(.balance, device, to: .number(now.balance), edited())
    case .available:
      add(.back, device, emitter ?? itself(before.isLost ? "the connection is back" : nil))
      before.isLost = false
    case .unavailable:
      before.isLost = origins.loss != nil
      add(.away, device, emitter ?? itself(origins.loss))
    case .added: add(.added, device, other ?? emitter ?? itself())
    case .removed: add(.removed, device, other ?? emitter ?? itself())
    case .wifi, .playing: return
    }
    if reason == .removed { origins.forget(device) } else { origins.know(device, now) }
  }

  private func receive(_ change: SessionChange, _ session: Session, _ house: House) {
    if case .gainEnd(let reached, let time) = change {
      // The change follows from one that was recorded.
      guard let entry = origins.gains.removeValue(forKey: session.id) else { return }
      return amend(entry, to: .decimal(reached), facts: [.init("over", .decimal(time.inSeconds))])
    }
    let cause = origins.removePending()
    switch change {
    case .gain(let from, let to, let over):
      let number = add(
        .gain, session, from: .decimal(from), to: .decimal(to),
        facts: [.init("over", .decimal(over.inSeconds))], cause)
      origins.gains[session.id] = over > .zero ? recent(number) : nil
    case .gainEnd: break
    case .equalizer(let gains):
      add(
        .equalizer, session, to: JournalText.value(of: gains), detail: JournalText.name(of: gains),
        facts: [
          .init("preset", .optional(gains.preset)),
          .init(
            "bands", .object(zip(EqualizerGains.bands, gains.decibels).map { ("\($0)", .decimal($1)) })),
        ], cause)
    case .seek(let frame): add(.seek, session, to: .number(frame / session.format.sampleRate), cause)
    case .missed(let id, let reason):
      guard let device = house.devices.first(where: { $0.id == id }) else { break }
      record(
        .refused, of: .speaker, device.name, speakers: [id], detail: "play: \(reason)", cause: cause,
        session: session.id)
    case .interruption(let isBeginning, let ids, let duck):
      for device in house.devices where isBeginning && ids.contains(device.id) {
        origins[device].interruption = session.name
      }
      origins.members[session.id] = ids
      record(
        isBeginning ? .interrupt : .release, of: .session, session.name, speakers: ids,
        facts: duck.map { [.init("duck", .decimal($0))] } ?? [], cause: cause, session: session.id)
    }
  }
}

/// The volumes at which a session plays, among the speakers that can be reached.
private enum Level {
  case none, muted
  case volumes(Int, Int)

  init(of session: Session) {
    let devices = session.devices.filter(\.isAvailable)
    let levels = devices.compactMap { $0.level(in: session) }.sorted()
    guard let least = levels.first, let most = levels.last else {
      self = devices.isEmpty ? .none : .muted
      return
    }
    self = .volumes(least, most)
  }

  var text: String {
    switch self {
    case .none: "at no volume"
    case .muted: "muted"
    case .volumes(let least, let most) where least == most: "at volume \(least)"
    case .volumes(let least, let most): "at volume \(least) to \(most)"
    }
  }

  var facts: [JournalEntry.Fact] {
    switch self {
    case .none: [.init("volume", nil), .init("muted", false)]
    case .muted: [.init("volume", nil), .init("muted", true)]
    case .volumes(let least, let most):
      [
        .init("volume", .number(least)), .init("volume_most", .number(most)), .init("muted", false),
      ]
    }
  }
}
