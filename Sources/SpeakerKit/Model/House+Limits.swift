public import EventLoop

// The limits of speakers. Every level that a driver is told passes through `send`, which keeps the one that was asked for.

extension Device {
  /// The volume that was asked for last: above `volume` while the limit of the speaker keeps it from that.
  public var requestedVolume: Int { asked ?? volume }

  /// Returns the volume that was asked for last, louder by some steps, and no further than the limit of the speaker; or
  /// the one that the limit allows of it, softer by some steps when negative, which is heard at once.
  public func volume(steppedBy steps: Int) -> Int {
    let ceiling = house?.ceiling(of: self) ?? House.maximumVolume
    if steps < 0 { return max(min(requestedVolume, ceiling) + steps, 0) }
    return min(requestedVolume + steps, max(requestedVolume, ceiling))
  }

  /// `true` while an alarm plays on the speaker that may exceed its limit.
  public var mayExceedLimit: Bool { session?.isOverLimit == true }

  /// The limit that keeps the speaker below the volume that was asked for; nil for none.
  public var appliedLimit: AppliedLimit? {
    guard let asked, let limit, let house else { return nil }
    let (maximum, quiet) = house.limits.maximum(limit, at: house.loop.wallNow)
    return AppliedLimit(asked: asked, maximum: min(volume, maximum), quiet: quiet)
  }

  /// The highest volume that the limit of the speaker allows now; nil without a limit.
  public var volumeLimit: Int? {
    guard let limit, let house else { return nil }
    return house.limits.maximum(limit, at: house.loop.wallNow).volume
  }
}

extension House {
  /// The names of limits that no speaker has.
  public var unknownLimits: [String] {
    let known = Set(devices.flatMap { [$0.id, $0.name] })
    return limits.limits.keys.filter { !known.contains($0) }.sorted()
  }

  /// Passes changes to the driver, each level no higher than the limit of its speaker; keeps the one that was asked for.
  func send(_ changes: [(device: Device, change: LevelChange)]) {
    driver.change(
      changes.map { device, change in
        guard case .volume(let volume) = change, device.limit != nil else { return (device.id, change) }
        let ceiling = ceiling(of: device) ?? Self.maximumVolume
        keep(asked: volume > ceiling ? volume : nil, of: device, at: ceiling)
        return (device.id, .volume(min(volume, ceiling)))
      })
  }

  /// Returns the level that a sound over the playback of a speaker has there.
  func limited(_ volume: Int, on device: Device) -> Int { min(volume, ceiling(of: device) ?? volume) }

  /// Returns a command with the levels that it leads to.
  func limited(_ command: HouseCommand) -> HouseCommand {
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

  /// Returns the volume that nothing on a speaker exceeds now; nil for none.
  func ceiling(of device: Device) -> Int? {
    guard let limit = device.limit, device.session?.isOverLimit != true else { return nil }
    return limits.maximum(limit, at: loop.wallNow).volume
  }

  /// Keeps the volume that was asked for, also for the next process; nil for the one in effect.
  private func keep(asked: Int?, of device: Device, at ceiling: Int) {
    guard asked != device.asked else { return }
    device.asked = asked
    if let number = device.askedNumber { forget(borrowed: number) }
    let lowest = min(ceiling, device.limit?.lowest ?? ceiling)
    device.askedNumber = asked.flatMap {
      BorrowedLevel(device: device.id, volume: $0, isMuted: false, meanwhile: lowest, ceiling)
    }.map { borrow([$0]) }
  }

  /// Lets the speakers of an interruption's session exceed their limits until it ends: for alarms that were asked to.
  /// The volume that the interruption has asked for takes effect.
  /// - Throws: `speaker.range` for another session.
  public func exceedLimits(in session: Session) throws(SpeakerError) {
    guard interruptions.contains(where: { $0.session === session }) else {
      throw SpeakerError(.range, "only an interruption may exceed the limits of its speakers")
    }
    session.isOverLimit = true
    for device in session.devices { applyLimit(to: device, givesBack: true) }
  }

  // MARK: Changes of limits

  /// Applies the limits to the speakers of a house that opens, before anything sounds, and follows their hours.
  func beginLimits() {
    for device in devices { adoptLimit(of: device) }
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
    for device in devices where device.session?.isOverLimit != true {
      applyLimit(to: device, givesBack: true)
    }
    awaitHours()
  }

  /// Gives a speaker the limit of its id or name, which it keeps under another name. Does nothing without one.
  func adoptLimit(of device: Device) {
    guard device.limit == nil, let limit = limits.limit(id: device.id, name: device.name) else { return }
    device.limit = limit
    applyLimit(to: device, givesBack: true)
  }

  /// Applies the limit to a speaker that has moved to another session, before it sounds there.
  func applyLimit(toMoved device: Device, from old: Session?) {
    applyLimit(to: device, givesBack: old?.isOverLimit == true)
  }

  /// Lowers a speaker to its limit, where it is above.
  /// - Parameter givesBack: `true` if a limit that is higher now gives back the volume that was asked for.
  func applyLimit(to device: Device, givesBack: Bool) {
    guard device.limit != nil else { return }
    let ceiling = ceiling(of: device)
    if device.ceiling != ceiling {
      device.ceiling = ceiling
      driver.setCeiling(ceiling, ofDevice: device.id)
    }
    let asked = device.requestedVolume
    let volume = min(asked, ceiling ?? asked)
    guard volume < device.volume || givesBack && volume != device.volume else { return }
    device.levelCause = .limit
    // Before the report: its cause names the limit that applies.
    keep(asked: asked > volume ? asked : nil, of: device, at: volume)
    report(.level([(device, .set(volume, isMuted: device.isMuted))], by: .limit))
    driver.change(
      [(device.id, .volume(volume))] + (device.isMuted ? [(device.id, .muted(true))] : []))
  }

  /// Keeps a volume that an earlier process was asked for, where the speaker has a limit and is below that volume.
  func keepAsked(_ volume: Int, of device: Device) {
    if device.limit != nil, volume > device.volume { keep(asked: volume, of: device, at: device.volume) }
  }

  /// Takes the present volume of a speaker as the one that was asked for.
  func forgetAsked(of device: Device) { keep(asked: nil, of: device, at: device.volume) }
}
