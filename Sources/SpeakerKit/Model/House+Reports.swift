public import EventLoop

extension House: DriverReports {
  /// Applies levels that have taken effect, and emits a `volume` event for each that differs, and for each
  /// that an interruption has set or restored, which fades wait for.
  public func levelsChanged(_ levels: [(device: String, volume: Int, isMuted: Bool)]) {
    guard isOpen else { return }
    var changed: [Device] = []
    changed.reserveCapacity(levels.count)
    for level in levels {
      guard let device = devices.first(where: { $0.id == level.device }) else { continue }
      endRestoring(device)
      let isOther = device.volume != level.volume || device.isMuted != level.isMuted
      if events.isReportedByController {
        device.levelTouches += 1
        device.fade = nil
        // An interruption that set the level before is not the cause of a change by another controller.
        if isOther { device.levelCause = nil }
        if device.volume != level.volume {
          forgetAsked(of: device)
          device.levelSession = nil
        }
      }
      guard isOther || device.levelCause != nil else { continue }
      device.info.volume = level.volume
      device.info.isMuted = level.isMuted
      changed.append(device)
    }
    let average = volume
    for device in changed {
      events.emit(
        .volume(
          device, volume: device.volume, muted: device.isMuted, average: average,
          cause: events.isReportedByController ? .controller : device.levelCause, limit: device.appliedLimit))
    }
    for device in changed {
      // Below an alarm's volume, a level of this host is one of the alarm, or a newer one is on its way.
      let session = events.isReportedByController ? device.levelSession : device.session
      if let ceiling = ceiling(of: device, for: session), device.volume > ceiling {
        events.byItself { applyLimit(to: device, givesBack: false) }
      }
      if device.session?.volumeOverLimit != nil { renderOverlay(of: device) }
    }
  }

  /// Emits the events of the reports that are made in `body` with cause `controller`.
  public func byController(_ body: () -> Void) { events.byController(body) }

  /// Moves a speaker to the session that another controller has chosen for it, and emits the events.
  public func sessionChanged(_ stream: DriverStream?, ofDevice device: String) -> DriverStream? {
    guard isOpen, let device = devices.first(where: { $0.id == device }) else { return nil }
    let target = stream.flatMap { stream in sessions.first { $0.stream == stream } }
    if let old = device.session, old !== target { old.wanted.removeAll { $0 === device } }
    if let target, !target.wanted.contains(where: { $0 === device }) { target.wanted.append(device) }
    move(device, to: target, isReported: true)
    return target?.stream
  }

  /// Passes the end of a source on to its session.
  public func ended(cue: Int, in stream: DriverStream, failure: (any CodedError)?) {
    guard isOpen else { return }
    sessions.first { $0.stream == stream }?.ended(cue: cue, failure: failure)
  }

  /// Lets the fade of a speaker continue, once its restored level has taken effect or was refused.
  private func endRestoring(_ device: Device) {
    guard device.isRestoring else { return }
    device.isRestoring = false
    device.fade?.levelIsFree(of: device)
  }

  /// Emits an `error` event for a failure of the driver. A level that is on its way to the speaker is refused.
  public func failed(_ error: any CodedError, device: String?, stream: DriverStream?) {
    guard isOpen else { return }
    let device = devices.first { $0.id == device }
    if let device { endRestoring(device) }
    events.emit(
      .error(
        code: error.code, message: error.message, device: device,
        session: stream.flatMap { stream in sessions.first { $0.stream == stream } }))
  }

  /// Applies a change of a speaker, and emits its `device` event.
  public func deviceChanged(_ change: DeviceChange, of device: String) {
    guard isOpen, let device = devices.first(where: { $0.id == device }) else { return }
    switch change {
    case .name(let name):
      device.info.name = name
      events.emit(.device(device, .renamed))
      adoptLimit(of: device)
    case .group(let name, let rank, let id):
      regroup(device, name, rank, id)
    case .role(let role):
      device.info.role = role
      events.emit(.device(device, .role))
    case .balance(let balance):
      device.info.balance = balance
      events.emit(.device(device, .balance))
    case .wifiSignal(let signal):
      guard device.info.wifiSignal != signal else { return }
      device.info.wifiSignal = signal
      events.emit(.device(device, .wifi))
    case .playsOthers(let playsOthers):
      device.info.playsOthers = playsOthers
      reportPlaying()
    case .available(let isAvailable):
      guard device.info.isAvailable != isAvailable else { return }
      device.info.isAvailable = isAvailable
      events.emit(.device(device, isAvailable ? .available : .unavailable))
      device.isRestoring = false
      if isAvailable { applyLimit(to: device, givesBack: true) }
      if isAvailable, let level = device.owedLevel { restoreLevel(level, to: device) }
      if isAvailable { device.fade?.levelIsFree(of: device) }
      device.session?.watchSilence()
      device.overlay?.session.watchSilence()
      reportPlaying()
    }
  }

  /// Adds a speaker, in no session, and emits its `device` event.
  public func deviceAdded(_ info: DeviceInfo) {
    guard isOpen, !devices.contains(where: { $0.id == info.id }) else { return }
    let device = Device(info, house: self)
    devices.append(device)
    events.emit(.device(device, .added))
    adoptLimit(of: device)
  }

  /// Removes a speaker from its session, its group and the house, and emits the `device` events.
  public func deviceRemoved(_ device: String) {
    guard isOpen, let place = devices.firstIndex(where: { $0.id == device }) else { return }
    let device = devices[place]
    for session in sessions { session.wanted.removeAll { $0 === device } }
    move(device, to: nil)
    uncover(device)
    endLimit(of: device)
    let before = groupIDs
    devices.remove(at: place)
    device.isRemoved = true
    device.info.isAvailable = false
    device.fade = nil
    let after = groupIDs
    events.emit(.device(device, .removed))
    for other in devices where before[other.id] != after[other.id] {
      events.emit(.device(other, .regrouped))
    }
  }

  /// Changes a speaker's group; emits `regrouped` for it, and for those whose group has another id now that
  /// its founder has left.
  private func regroup(_ device: Device, _ name: String, _ rank: Int, _ id: String?) {
    let before = groupIDs
    device.leavesGroup = device.groupName
    (device.info.groupName, device.info.groupRank, device.info.groupID) = (name, rank, id)
    let after = groupIDs
    events.emit(.device(device, .regrouped))
    device.leavesGroup = nil
    for other in devices where other !== device && before[other.id] != after[other.id] {
      events.emit(.device(other, .regrouped))
    }
  }

  /// The group ids of all speakers in groups, by speaker id.
  private var groupIDs: [String: String] {
    var ids: [String: String] = [:]
    for group in groups { for device in group.devices { ids[device.id] = group.id } }
    return ids
  }
}
