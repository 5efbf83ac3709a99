internal import AudioCore
internal import EventLoop
internal import JSONText

/// The state of the server, turned into reports of speakers.
extension SnapcastDriver {
  /// Returns the speakers of the first state.
  func adoptFirst() -> [DeviceInfo] {
    guard let server else { return [] }
    for client in server.clients { speakers[client.id, default: Speaker()].givenName = client.givenName }
    for group in server.groups {
      for client in group.clients {
        let old = kept.last.speakers[client.id]
        let zone = group.zone ?? old.flatMap { $0.group == Group.ungrouped ? nil : $0.group }
        guard let zone else { continue }
        speakers[client.id]?.zone = zone
        if let old, old.group == zone { speakers[client.id]?.zoneRank = old.rank } else { join(client.id) }
      }
    }
    return infos(of: server)
  }

  private func join(_ device: String) {
    lastRank += 1
    speakers[device, default: Speaker()].zoneRank = lastRank
  }

  /// Sets the zone of a speaker; a state is to be adopted afterwards.
  func setZone(_ zone: String?, of device: String) {
    guard speakers[device]?.zone != zone else { return }
    speakers[device, default: Speaker()].zone = zone
    join(device)
    kept.changed()
  }

  // MARK: Messages

  func received(_ method: String, _ parameters: JSON?) {
    // A server that is back reports all in its state.
    guard outage == nil, var server else { return }
    let effect = server.apply(method, parameters)
    if effect != .unknown { observe(server.clients(reportedBy: method, parameters)) }
    switch effect {
    case .none: break
    case .byItself: adopt(server)
    case .byController: adopt(server, isByController: true)
    case .unknown: requestState(isByController: true)
    }
  }

  func requestState(isByController: Bool) {
    let count = link?.notificationCount
    link?.request("Server.GetStatus") { [weak self] result in
      guard let self, case .success(let result) = result, let server = SnapcastServer(result["server"]) else {
        return
      }
      observe(server.clients)
      adopt(server, isByController: isByController)
      recheck(since: count)
    }
  }

  /// Requests the state again if a notification has come since there were `count`: a snapserver answers on several
  /// threads, so that a state may be older than the notification that was sent before it.
  func recheck(since count: Int?) {
    guard let link, link.notificationCount != count, recheck == nil else { return }
    recheck = loop.after(.milliseconds(200), keepsAlive: false) { [weak self] in
      self?.recheck = nil
      self?.requestState(isByController: false)
    }
  }

  // MARK: Adopting

  /// Makes a state the current one, and reports the differences.
  /// - Parameter isByController: `true` if another controller has caused it.
  func adopt(_ new: SnapcastServer, isByController: Bool = false) {
    guard let reports else { return server = new }
    let old = server
    var new = new
    restore(&new)
    server = new
    if isByController, let old { followZones(from: old, to: new) }
    // Speakers come and go by themselves, and one that a server forgets in its restart is only away.
    reportNumber(in: new, isByController ? old : nil, to: reports)
    let found = infos(of: new)
    if isByController {
      reports.byController { report(found, to: reports) }
      if let old { reports.byController { followSessions(from: old, to: new, reports) } }
    } else {
      report(found, to: reports)
    }
    for client in new.clients { speakers[client.id, default: Speaker()].givenName = client.givenName }
    arrange()
  }

  /// Applies the zones of groups that another controller has changed.
  private func followZones(from old: SnapcastServer, to new: SnapcastServer) {
    for group in new.groups {
      for client in group.clients {
        guard let before = old.group(of: client.id), before.id != group.id || before.name != group.name else {
          continue
        }
        if let zone = group.zone {
          setZone(zone, of: client.id)
        } else if before.zone != nil, before.zone == speakers[client.id]?.zone {
          setZone(nil, of: client.id)
        }
      }
    }
  }

  /// Applies the sessions of streams that another controller has chosen.
  private func followSessions(
    from old: SnapcastServer, to new: SnapcastServer, _ reports: any DriverReports
  ) {
    guard let pool else { return }
    for group in new.groups {
      let chosen = pool.session(of: group.stream)
      for client in group.clients {
        // A member of a session without a stream is on the idle one.
        guard let before = old.group(of: client.id)?.stream, before != group.stream,
          chosen != speakers[client.id]?.session || chosen == nil && group.stream != pool.idle
        else { continue }
        let session = reports.sessionChanged(chosen, ofDevice: client.id)
        speakers[client.id, default: Speaker()].session = session
      }
    }
  }

  /// Reports speakers that are new, and those that another controller has deleted from the server.
  private func reportNumber(in new: SnapcastServer, _ old: SnapcastServer?, to reports: any DriverReports) {
    let found = infos(of: new)
    for client in old?.clients ?? [] where !found.contains(where: { $0.id == client.id }) {
      devices.removeAll { $0.id == client.id }
      speakers[client.id]?.session = nil
      reports.byController { reports.deviceRemoved(client.id) }
    }
    for device in found where !devices.contains(where: { $0.id == device.id }) {
      devices.append(device)
      reports.deviceAdded(device)
    }
  }

  /// Reports the differences of speakers.
  private func report(_ found: [DeviceInfo], to reports: any DriverReports) {
    var levels: [(device: String, volume: Int, isMuted: Bool)] = []
    for index in devices.indices where !found.contains(where: { $0.id == devices[index].id }) {
      setAvailable(false, index)
    }
    for new in found {
      guard let index = devices.firstIndex(where: { $0.id == new.id }) else { continue }
      let old = devices[index]
      devices[index] = new
      if old.name != new.name { reports.deviceChanged(.name(new.name), of: new.id) }
      if old.groupName != new.groupName {
        reports.deviceChanged(.group(new.groupName, rank: new.groupRank), of: new.id)
      }
      if old.isAvailable != new.isAvailable { reports.deviceChanged(.available(new.isAvailable), of: new.id) }
      if old.volume != new.volume || old.isMuted != new.isMuted {
        levels.append((new.id, new.volume, new.isMuted))
      }
    }
    if !levels.isEmpty { reports.levelsChanged(levels) }
  }

  /// Returns the speakers of a state: those known before in their order, then the others in that of the server.
  private func infos(of server: SnapcastServer) -> [DeviceInfo] {
    var places: [String: Int] = [:]
    for (place, device) in devices.enumerated() { places[device.id] = place }
    var clients: [(place: Int, client: SnapcastClient, isMuted: Bool)] = []
    var seen: Set<String> = []
    for group in server.groups {
      for client in group.clients where Self.isUsable(client.id) && seen.insert(client.id).inserted {
        let place = places[client.id] ?? devices.count + clients.count
        clients.append((place, client, client.isMuted || group.isMuted))
      }
    }
    clients.sort { $0.place < $1.place }
    var names: Set<String> = []
    return clients.map { _, client, isMuted in
      var info = DeviceInfo(
        id: client.id, name: name(of: client.id, given: client.givenName, besides: &names),
        groupName: speakers[client.id]?.zone ?? Group.ungrouped,
        model: "Snapclient", ipAddress: client.address.cleaned, port: controlPort,
        macAddress: client.macAddress.cleaned, version: client.version.cleaned, wifiSignal: nil,
        volume: client.volume,
        isMuted: isMuted, isAvailable: client.isConnected)
      info.groupRank = speakers[client.id]?.zoneRank ?? 0
      return info
    }
  }

  /// Returns `true` for an id that can be kept and shown.
  private static func isUsable(_ id: String) -> Bool { NameRule.problem(with: id) == nil && id.cleaned == id }

  // MARK: Arranging

  /// Schedules the steps that put each speaker into the group of its zone and on the stream of its session: in a turn of
  /// its own, after all moves of this one.
  func arrange() {
    guard context.access == .drive, !isArranging, isConnected, reports != nil else { return }
    isArranging = true
    let hold = loop.hold("speakers are arranged")
    loop.next { [weak self] in
      self?.takeStep()
      hold.release()
    }
  }

  private func takeStep() {
    guard isArranging, let server, let pool, let link, link.isOpen else { return isArranging = false }
    let plan = SnapcastPlan(
      server, pool, zones: speakers.compactMapValues(\.zone),
      memberships: speakers.compactMapValues(\.session))
    guard let step = plan.next(server) else { return isArranging = false }
    let count = link.notificationCount
    link.request(step.request.method, step.request.parameters) { [weak self] result in
      guard let self, isArranging else { return }
      // A step that is refused concerns a group that has gone meanwhile: the state is requested again.
      guard case .success(let result) = result, var server = self.server, step.apply(result, to: &server)
      else {
        isArranging = false
        if link.isOpen { requestState(isByController: true) }
        return
      }
      if case .setClients = step {
        observe(server.clients)
        recheck(since: count)
      }
      adopt(server)
      takeStep()
    }
  }
}
