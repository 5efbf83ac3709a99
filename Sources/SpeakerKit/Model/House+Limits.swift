public import EventLoop

// The limits of speakers. Every level that a driver is told passes through `send`, which keeps the one that was asked for.

extension Device {
  /// The volume that was asked for last: above `volume` while the limit of the speaker keeps it from that.
  public var requestedVolume: Int { asked ?? volume }

  /// Returns the volume that was asked for last, louder by some steps, and no further than the limit of the speaker; or
  /// the one that the limit allows of it, softer by some steps when negative, which is heard at once.
  public func volume(steppedBy steps: Int) -> Int {
    if steps < 0 {
      let heard = house?.limited(requestedVolume, on: self, for: levelSession) ?? requestedVolume
      return max(heard + steps, 0)
    }
    let ceiling = house?.ceiling(of: self) ?? House.maximumVolume
    return min(requestedVolume + steps, max(requestedVolume, ceiling))
  }

  /// `true` while an alarm plays on the speaker that may exceed its limit.
  public var mayExceedLimit: Bool { session?.volumeOverLimit != nil }

  /// `true` while an alarm has the speaker above its limit, so that every other command for its volume lowers it.
  public var isAboveLimit: Bool {
    guard let house, let ceiling = house.ceiling(of: self) else { return false }
    return house.limited(requestedVolume, on: self, for: levelSession) > ceiling
  }

  /// The limit that keeps the speaker below the volume that was asked for; nil for none.
  public var appliedLimit: AppliedLimit? {
    guard let asked, let limit, let house else { return nil }
    let (maximum, quiet) = house.limits.maximum(limit, at: house.loop.wallNow)
    let ceiling = house.ceiling(of: self, for: levelSession) ?? maximum
    return AppliedLimit(asked: asked, maximum: min(volume, ceiling), quiet: quiet)
  }

  /// The highest volume that the limit of the speaker allows now; nil without a limit.
  public var volumeLimit: Int? {
    guard let limit, let house else { return nil }
    return house.limits.maximum(limit, at: house.loop.wallNow).volume
  }
}

extension House {
  /// The names of limits that no speaker has.
  public var unknownLimits: [String] { limits.unknown(among: devices.map(\.info)) }

  /// Passes changes to the driver, each level no higher than the limit of its speaker; keeps the one that was asked for.
  /// - Parameter session: the session whose command it is, which may exceed the limits of its speakers; nil for others.
  func send(_ changes: [(device: Device, change: LevelChange)], for session: Session? = nil) {
    driver.change(
      changes.map { device, change in
        guard case .volume(let volume) = change, device.limit != nil else { return (device.id, change) }
        let ceiling = ceiling(of: device, for: session) ?? Self.maximumVolume
        device.levelSession = session
        keep(asked: volume > ceiling ? volume : nil, of: device, at: ceiling)
        return (device.id, .volume(min(volume, ceiling)))
      })
  }

  /// Returns the volume that a command leads to.
  /// - Parameter session: the session whose command it is; nil for others.
  func limited(_ volume: Int, on device: Device, for session: Session? = nil) -> Int {
    min(volume, ceiling(of: device, for: session) ?? volume)
  }

  /// Returns a command with the levels that it leads to.
  func limited(_ command: HouseCommand, for session: Session?) -> HouseCommand {
    func limited(_ volume: Int, on device: Device) -> Int { self.limited(volume, on: device, for: session) }
    guard case .level(let commands, let author) = command else { return command }
    let effective = commands.map { device, command -> (device: Device, command: LevelCommand) in
      switch command {
      case .set(let volume, let isMuted): (device, .set(limited(volume, on: device), isMuted: isMuted))
      case .step(let volume): (device, .step(limited(volume, on: device)))
      case .fade(let fade): (device, .fade(LevelFade(to: limited(fade.to, on: device), over: fade.over)))
      case .mute, .unmute, .fadeEnd: (device, command)
      }
    }
    return .level(effective, by: author)
  }

  /// Returns the volume that no command for a speaker exceeds now; nil for none.
  /// - Parameter session: the session whose command it is: that of an alarm may exceed the limits of the speakers that
  ///   it has, up to the alarm's volume.
  func ceiling(of device: Device, for session: Session? = nil) -> Int? {
    guard let maximum = device.volumeLimit else { return nil }
    guard let session, session === device.session, let volume = session.volumeOverLimit else {
      return maximum
    }
    return max(maximum, volume)
  }

  /// Returns the level of the sound over the playback of a speaker; nil for the speaker's own, as long as that is not an
  /// alarm's, which may exceed the limit.
  func levelOfOverlay(on device: Device) -> Int? {
    guard let overlay = device.overlay else { return nil }
    if let volume = overlay.volume { return limited(volume, on: device) }
    guard device.session?.volumeOverLimit != nil, device.limit != nil else { return nil }
    return device.isMuted ? 0 : limited(device.volume, on: device)
  }

  /// Passes the sound over the playback of a speaker to the driver, with its level. Does nothing without such a sound.
  func renderOverlay(of device: Device) {
    guard let overlay = device.overlay else { return }
    driver.setOverlay(overlay.session.stream, volume: levelOfOverlay(on: device), ofDevice: device.id)
  }

  /// Keeps the volume that was asked for, also for the next process; nil for the one in effect.
  private func keep(asked: Int?, of device: Device, at ceiling: Int) {
    guard asked != device.asked else { return }
    device.asked = asked
    let lowest = min(ceiling, device.limit?.lowest ?? ceiling)
    let level = asked.flatMap {
      BorrowedLevel(device: device.id, volume: $0, isMuted: false, meanwhile: lowest, ceiling)
    }
    // A fade asks for one volume after the other: the first is kept for the next process, and that at the end.
    let isStep = device.fade != nil && level != nil && device.askedNumber != nil
    device.askedNumber = replace(borrowed: device.askedNumber, with: level, isReported: !isStep)
  }

  /// Lets the speakers of an interruption's session exceed their limits up to a volume until it ends, by commands of that
  /// session alone: for alarms that were asked to. The volume that the interruption has asked for takes effect.
  /// - Throws: `speaker.range` for a volume that is not in 0...50, and for another session.
  public func exceedLimits(in session: Session, to volume: Int) throws(SpeakerError) {
    try Self.check(volume: volume)
    guard interruptions.contains(where: { $0.session === session }) else {
      throw SpeakerError(.range, "only an interruption may exceed the limits of its speakers")
    }
    session.volumeOverLimit = volume
    for device in session.devices { applyLimit(to: device, givesBack: true) }
  }

  // MARK: Changes of limits

  /// Applies the limits to the speakers of a house that opens, before anything sounds, and follows their hours.
  func beginLimits() {
    for device in devices { adoptLimit(of: device) }
    guard limits.areEnforced else { return }
    driver.settle()
    guard limits.limits.values.contains(where: { $0.quiet != nil }) else { return }
    loop.onClockSet { [weak self] _ in self?.hoursChanged() }
    awaitHours()
  }

  private func awaitHours() {
    limitTimer?.cancel()
    limitTimer = limits.nextChange(after: loop.wallNow).map { moment in
      loop.at(moment, keepsAlive: false) { [weak self] in self?.hoursChanged() }
    }
  }

  private func hoursChanged() {
    guard isOpen else { return }
    // A pending level takes effect first: it is the one to lower, or was asked for.
    driver.settle()
    for device in devices { applyLimit(to: device, givesBack: true) }
    awaitHours()
  }

  /// Gives a speaker the limit of its id or name, which it keeps under another name. Does nothing without one.
  func adoptLimit(of device: Device) {
    guard device.limit == nil, let limit = limits.limit(id: device.id, name: device.name) else { return }
    device.limit = limit
    applyLimit(to: device, givesBack: true)
  }

  /// Ends the limit of a speaker that leaves the house, and forgets the volume that was asked for.
  func endLimit(of device: Device) {
    keep(asked: nil, of: device, at: device.volume)
    device.limit = nil
    guard device.ceiling != nil else { return }
    device.ceiling = nil
    driver.setCeiling(nil, ofDevice: device.id)
  }

  /// Applies the limit to a speaker that has moved to another session, before it sounds there. One that has come back to
  /// an alarm, which set its level last, has that again.
  func applyLimit(toMoved device: Device) {
    let isBack = device.mayExceedLimit && device.levelSession === device.session
    applyLimit(to: device, givesBack: isBack)
  }

  /// Lowers a speaker to its limit, where it is above.
  /// - Parameter givesBack: `true` if a limit that is higher now gives back the volume that was asked for.
  func applyLimit(to device: Device, givesBack: Bool) {
    guard device.limit != nil, limits.areEnforced else { return }
    let ceiling = ceiling(of: device, for: device.session)
    if device.ceiling != ceiling {
      device.ceiling = ceiling
      driver.setCeiling(ceiling, ofDevice: device.id)
    }
    renderOverlay(of: device)
    let asked = device.requestedVolume
    let volume = limited(asked, on: device, for: device.levelSession)
    guard volume < device.volume || givesBack && volume != device.volume else { return }
    device.levelCause = .limit
    // Before the report: its cause names the limit that applies.
    keep(asked: asked > volume ? asked : nil, of: device, at: volume)
    report(
      .level([(device, .set(volume, isMuted: device.isMuted))], by: .limit), for: device.levelSession)
    driver.change([(device.id, .level(volume))])
  }

  /// Keeps a volume that an earlier process was asked for, where the speaker has a limit and is below that volume.
  func keepAsked(_ volume: Int, of device: Device) {
    if device.limit != nil, volume > device.volume { keep(asked: volume, of: device, at: device.volume) }
  }

  /// Takes the present volume of a speaker as the one that was asked for.
  func forgetAsked(of device: Device) { keep(asked: nil, of: device, at: device.volume) }
}
