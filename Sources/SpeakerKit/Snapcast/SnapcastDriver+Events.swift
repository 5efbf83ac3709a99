internal import AudioCore
internal import EventLoop
internal import JSONText

/// The state of the server, turned into reports of speakers.
extension SnapcastDriver {
  /// Returns the speakers of the first state.
  func adoptFirst() -> [DeviceInfo] {
    guard let server else { return [] }
    for client in server.clients { givenNames[client.id] = client.givenName }
    for group in server.groups {
      for client in group.clients {
        let old = kept.speakers[client.id]
        let zone = group.zone ?? old.flatMap { $0.group == Group.ungrouped ? nil : $0.group }
        guard let zone else { continue }
        zones[client.id] = zone
        if let old, old.group == zone { zoneRanks[client.id] = old.rank } else { join(client.id) }
      }
    }
    return infos(of: server)
  }

  private func join(_ device: String) {
    lastRank += 1
    zoneRanks[device] = lastRank
  }

  /// Sets the zone of a speaker, which another state is to be adopted after.
  func setZone(_ zone: String?, of device: String) {
    guard zones[device] != zone else { return }
    zones[device] = zone
    join(device)
    stateChanged()
  }

  // MARK: Messages

  func received(_ method: String, _ parameters: JSON?) {
    // A server that is back reports all in its state.
    guard outage == nil, var server else { return }
    switch server.apply(method, parameters) {
    case .none: break
    case .byItself: adopt(server)
    case .byController: adopt(server, isByController: true)
    case .unknown: requestState(isByController: true)
    }
  }

  func requestState(isByController: Bool) {
    link?.request("Server.GetStatus") { [weak self] result in
      guard let self, case .success(let result) = result, let server = SnapcastServer(result["server"]) else {
        return
      }
      adopt(server, isByController: isByController)
    }
  }

  // MARK: Adopting

  /// Makes a state the current one, and reports what differs.
  /// - Parameters:
  ///   - isByController: `true` if another controller has caused it.
  ///   - answered: the speakers whose levels were requested; they are reported also if their levels are those of before.
  func adopt(_ new: SnapcastServer, isByController: Bool = false, answers answered: Set<String> = []) {
    guard let reports else { return server = new }
    let old = server
    var new = new
    if !holds.isEmpty { restore(&new) }
    server = new
    if isByController, let old { followZones(from: old, to: new) }
    // Speakers come and go by themselves, and one that a server forgets in its restart is only away.
    reportNumber(in: new, isByController ? old : nil, to: reports)
    let found = infos(of: new)
    if isByController {
      reports.byController { report(found, answers: answered, to: reports) }
      if let old { reports.byController { followSessions(from: old, to: new, reports) } }
    } else {
      report(found, answers: answered, to: reports)
    }
    for client in new.clients { givenNames[client.id] = client.givenName }
    arrange()
  }

  /// Takes the zones from groups that another controller has changed.
  private func followZones(from old: SnapcastServer, to new: SnapcastServer) {
    for group in new.groups {
      for client in group.clients {
        guard let before = old.group(of: client.id), before.id != group.id || before.name != group.name else {
          continue
        }
        if let zone = group.zone {
          setZone(zone, of: client.id)
        } else if before.zone != nil, before.zone == zones[client.id] {
          setZone(nil, of: client.id)
        }
      }
    }
  }

  /// Takes the sessions from streams that another controller has chosen.
  private func followSessions(
    from old: SnapcastServer, to new: SnapcastServer, _ reports: any DriverReports
  ) {
    guard let pool else { return }
    for group in new.groups {
      let chosen = pool.session(of: group.stream)
      for client in group.clients {
        guard let before = old.group(of: client.id)?.stream, before != group.stream,
          chosen != memberships[client.id]
        else { continue }
        memberships[client.id] = reports.sessionChanged(chosen, ofDevice: client.id)
      }
    }
  }

  /// Reports speakers that are new, and those that another controller has deleted from the server.
  private func reportNumber(in new: SnapcastServer, _ old: SnapcastServer?, to reports: any DriverReports) {
    let found = infos(of: new)
    for client in old?.clients ?? [] where !found.contains(where: { $0.id == client.id }) {
      devices.removeAll { $0.id == client.id }
      memberships[client.id] = nil
      reports.byController { reports.deviceRemoved(client.id) }
    }
    for device in found where !devices.contains(where: { $0.id == device.id }) {
      devices.append(device)
      reports.deviceAdded(device)
    }
  }

  /// Reports the differences of speakers.
  private func report(_ found: [DeviceInfo], answers answered: Set<String>, to reports: any DriverReports) {
    var levels: [(device: String, volume: Int, isMuted: Bool)] = []
    for index in devices.indices where devices[index].isAvailable {
      guard !found.contains(where: { $0.id == devices[index].id }) else { continue }
      devices[index].isAvailable = false
      reports.deviceChanged(.available(false), of: devices[index].id)
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
      if old.volume != new.volume || old.isMuted != new.isMuted || answered.contains(new.id) {
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
        id: client.id, name: name(of: client, besides: &names),
        groupName: zones[client.id] ?? Group.ungrouped,
        model: "Snapclient", ipAddress: client.address.cleaned, port: controlPort,
        macAddress: client.macAddress.cleaned, version: client.version.cleaned, wifiSignal: nil,
        volume: client.level,
        isMuted: isMuted, isAvailable: client.isConnected)
      info.groupRank = zoneRanks[client.id] ?? 0
      return info
    }
  }

  /// Returns `true` for an id that can be kept and shown.
  private static func isUsable(_ id: String) -> Bool { NameRule.problem(with: id) == nil && id.cleaned == id }

  /// Returns the name of a client, `SnapcastClient.givenName`, with a number where another client has it, which it keeps
  /// when that other one is renamed.
  private func name(of client: SnapcastClient, besides names: inout Set<String>) -> String {
    let given = client.givenName
    let base = String(given.prefix(90))
    if givenNames[client.id] == given, let old = devices.first(where: { $0.id == client.id })?.name,
      names.insert(old).inserted
    {
      return old
    }
    var (name, number) = (given, 1)
    while !names.insert(name).inserted {
      number += 1
      name = "\(base) \(number)"
    }
    return name
  }

  // MARK: Arranging

  /// Schedules the steps that put each speaker into the group of its zone and on the stream of its session: in a turn of
  /// its own, after all moves of this one.
  func arrange() {
    guard access == .drive, !isArranging, link?.isOpen == true, reports != nil else { return }
    isArranging = true
    let hold = loop.hold("speakers are arranged")
    loop.next { [weak self] in
      self?.takeStep()
      hold.release()
    }
  }

  private func takeStep() {
    guard isArranging, let server, let pool, let link, link.isOpen else { return isArranging = false }
    let plan = SnapcastPlan(server, pool, zones: zones, memberships: memberships)
    guard let step = plan.next(server) else { return isArranging = false }
    link.request(step.request.method, step.request.parameters) { [weak self] result in
      guard let self, isArranging else { return }
      // A step that is refused concerns a group that has gone meanwhile: the state is requested again.
      guard case .success(let result) = result, var server = self.server, step.apply(result, to: &server)
      else {
        isArranging = false
        if link.isOpen { requestState(isByController: true) }
        return
      }
      adopt(server)
      takeStep()
    }
  }

  // MARK: State

  /// Schedules writing the zones after a change.
  func stateChanged() {
    guard state != nil, access == .drive, stateTimer == nil else { return }
    stateTimer = loop.after(.seconds(1), keepsAlive: false) { [weak self] in self?.writeState() }
  }

  /// Writes changed zones at once.
  func writeState() {
    guard let timer = stateTimer else { return }
    timer.cancel()
    stateTimer = nil
    do { try state?.write(HouseState(devices, besides: kept)) } catch { log(error.message) }
  }
}
