internal import EventLoop
internal import JSONText

/// A level as a snapserver keeps it.
struct SnapcastLevel: ServerLevel {
  /// The volume; nil for that of the server.
  var percent: Int?
  var isMuted: Bool

  var unchanged: SnapcastLevel { SnapcastLevel(percent: nil, isMuted: isMuted) }

  func isMet(by shown: SnapcastLevel) -> Bool {
    (percent == nil || percent == shown.percent) && isMuted == shown.isMuted
  }

  func completed(by shown: SnapcastLevel) -> SnapcastLevel {
    SnapcastLevel(percent: percent ?? shown.percent, isMuted: isMuted)
  }
}

extension SnapcastLevel {
  init(volume: Int) { self.init(percent: 2 * volume, isMuted: false) }
}

extension SnapcastClient {
  var level: SnapcastLevel { SnapcastLevel(percent: percent, isMuted: isMuted) }

  /// Sets the level, or the mute alone.
  mutating func show(_ level: SnapcastLevel) {
    (percent, isMuted) = (level.percent ?? percent, level.isMuted)
  }
}

extension SnapcastDriver {
  /// The record of a client.
  struct Speaker: RemoteSpeaker {
    /// A name that the client shows whatever its server reports.
    enum KeptName {
      /// The client is not back since the server was lost.
      case due(String)
      /// The server is asked to set it, and has not answered.
      case requested(String)
    }

    var givenName: String?
    var level = RequestedLevel<SnapcastLevel>()
    var keptName: KeptName?
    /// The zone; nil for none.
    var zone: String?
    var zoneRank: Int?
    /// The session; nil for none.
    var session: DriverStream?

    /// Keeps level and name of a client whose server is lost, for its return.
    mutating func keep(_ client: SnapcastClient) {
      level.lost(restoring: client.level)
      if !client.name.isEmpty { keptName = .due(client.name) }
    }

    /// Has a client show its kept name in a new state of the server.
    /// - Returns: the name to be requested; nil for none.
    mutating func restoreName(of client: SnapcastClient, in server: inout SnapcastServer) -> String? {
      guard let keptName else { return nil }
      let isNameless = client.name.isEmpty
      switch keptName {
      case .requested(let name):
        if isNameless { server.changeClient(client.id) { $0.name = name } }
        return nil
      case .due(let name):
        if isNameless { server.changeClient(client.id) { $0.name = name } }
        guard client.isConnected else { return nil }
        self.keptName = isNameless ? .requested(name) : nil
        return isNameless ? name : nil
      }
    }
  }

  /// Changes levels on the server: one request for each speaker.
  public func change(_ changes: [(device: String, change: LevelChange)]) {
    request(changes) { level, device in
      let unmutes = changes.contains { changed, change in
        if changed == device, case .volume = change { return true }
        return changed == device && change == .muted(false)
      }
      if unmutes, !level.isMuted { unmuteGroup(of: device) }
    }
  }

  /// Unmutes a group that another controller has muted; its other members are muted by themselves instead.
  private func unmuteGroup(of device: String) {
    guard let group = server?.group(of: device), group.isMuted else { return }
    let others = group.clients.filter { $0.id != device && !$0.isMuted }
    request(others.map { ($0.id, .muted(true)) })
    link?.request("Group.SetMute", [("id", .string(group.id)), ("mute", false)]) { [weak self] result in
      guard let self, case .success = result, var server else { return }
      server.changeGroup(group.id) { $0.isMuted = false }
      adopt(server)
    }
  }

  func requestLevel(of device: String) {
    guard let link, let level = speakers[device]?.level.send() else { return }
    // A percentage out of range is another controller's, and never written back.
    let percent = level.percent.flatMap { (0...100).contains($0) ? $0 : nil }
    let volume: [(name: String, value: JSON)] =
      (percent.map { [("percent", .number($0))] } ?? []) + [("muted", .bool(level.isMuted))]
    link.request("Client.SetVolume", [("id", .string(device)), ("volume", .object(volume))]) {
      [weak self] result in
      guard let self else { return }
      var client = server?.clients.first { $0.id == device }
      answered(
        result.map { answer in
          client?.show(level)
          if let volume = answer["volume"] { client?.read(volume: volume) }
          return client?.level ?? level
        }, device)
    }
  }

  func shownLevel(of device: String) -> SnapcastLevel? { server?.clients.first { $0.id == device }?.level }

  func show(_ levels: [(device: String, level: SnapcastLevel)]) {
    var reported: [(device: String, volume: Int, isMuted: Bool)] = []
    for (device, level) in levels {
      server?.changeClient(device) { $0.show(level) }
      guard let index = devices.firstIndex(where: { $0.id == device }), let group = server?.group(of: device),
        let client = group.clients.first(where: { $0.id == device })
      else { continue }
      (devices[index].volume, devices[index].isMuted) = (client.volume, client.isMuted || group.isMuted)
      reported.append((device, devices[index].volume, devices[index].isMuted))
    }
    if !reported.isEmpty { reports?.levelsChanged(reported) }
  }

  /// Has clients keep the values that they show ahead of a new state of the server, and restores volumes and
  /// names of clients that are back on a server which has forgotten them.
  func restore(_ new: inout SnapcastServer) {
    for client in new.clients {
      guard var record = speakers[client.id] else { continue }
      let name = record.restoreName(of: client, in: &new)
      let actions = client.isConnected && isConnected ? record.level.back(with: client.level) : []
      // A server that has just begun may know the client again only after a state without it.
      if record.level.isAhead, let shown = shownLevel(of: client.id) ?? record.level.requested {
        new.changeClient(client.id) { $0.show(shown) }
      }
      speakers[client.id] = record
      // The name is the last request, so that it holds until the level is answered too.
      perform(actions, of: client.id)
      if let name { requestName(name, of: client.id) }
    }
  }

  /// Keeps levels that the server has reported, for clients that show others.
  func observe(_ clients: [SnapcastClient]) {
    for client in clients { speakers[client.id]?.level.observed(client.level) }
  }

  private func requestName(_ name: String, of device: String) {
    link?.request("Client.SetName", [("id", .string(device)), ("name", .string(name))]) { [weak self] _ in
      if case .requested = self?.speakers[device]?.keptName { self?.speakers[device]?.keptName = nil }
    }
  }
}
