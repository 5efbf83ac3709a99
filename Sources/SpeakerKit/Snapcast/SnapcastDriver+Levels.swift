internal import EventLoop
internal import JSONText

/// Levels and names that a speaker shows whatever its server reports, until that has them.
enum LevelHold {
  /// The speaker is not back since the server was lost.
  case due(SnapcastClient)
  /// The server is asked, and reports its own values until it has answered.
  case requested(SnapcastClient)

  var client: SnapcastClient {
    switch self {
    case .due(let client), .requested(let client): client
    }
  }
}

/// A level that is requested of a speaker.
struct PendingLevel {
  var percent: Int
  var isMuted: Bool
  /// Number of requests without an answer.
  var count = 0
  /// `true` if the level was reported ahead of the answers.
  var isReported = false
}

/// Levels of speakers, a request each.
extension SnapcastDriver {
  /// Number of requested levels without an answer.
  public var pendingChangeCount: Int { pendingLevels.values.reduce(0) { $0 + $1.count } }

  /// Changes levels on the server: one request for each speaker.
  public func change(_ changes: [(device: String, change: LevelChange)]) {
    var wanted: [(device: String, percent: Int?, isMuted: Bool)] = []
    for (device, change) in changes {
      let place = wanted.firstIndex { $0.device == device }
      switch change {
      case .volume(let level):
        if let place {
          wanted[place] = (device, 2 * level, false)
        } else {
          wanted.append((device, 2 * level, false))
        }
      case .muted(let isMuted):
        if let place { wanted[place].isMuted = isMuted } else { wanted.append((device, nil, isMuted)) }
      case .role, .balance: break  // not among the capabilities
      }
    }
    for (device, percent, isMuted) in wanted { setVolume(of: device, percent, isMuted) }
  }

  private func setVolume(of device: String, _ percent: Int?, _ isMuted: Bool) {
    if !isMuted { unmuteGroup(of: device) }
    requestVolume(of: device, percent, isMuted)
  }

  /// Unmutes a group that another controller has muted; its other members are muted by themselves instead.
  private func unmuteGroup(of device: String) {
    guard let group = server?.group(of: device), group.isMuted else { return }
    for client in group.clients where client.id != device && !client.isMuted {
      requestVolume(of: client.id, nil, true)
    }
    link?.request("Group.SetMute", [("id", .string(group.id)), ("mute", false)]) { [weak self] result in
      guard let self, case .success = result, var server else { return }
      server.changeGroup(group.id) { $0.isMuted = false }
      adopt(server)
    }
  }

  func requestVolume(of device: String, _ percent: Int?, _ isMuted: Bool) {
    guard let link else { return }
    let volume: [(name: String, value: JSON)] =
      (percent.map { [("percent", .number($0))] } ?? []) + [("muted", .bool(isMuted))]
    let old = pendingLevels[device]
    let client = server?.clients.first { $0.id == device }
    pendingLevels[device] = PendingLevel(
      percent: percent ?? old?.percent ?? client?.percent ?? 100, isMuted: isMuted,
      count: (old?.count ?? 0) + 1)
    link.request("Client.SetVolume", [("id", .string(device)), ("volume", .object(volume))]) {
      [weak self] in self?.answered($0, device)
    }
  }

  private func answered(_ result: Result<JSON, SpeakerError>, _ device: String) {
    guard var pending = pendingLevels[device] else { return }
    pending.count -= 1
    pendingLevels[device] = pending.count > 0 ? pending : nil
    if pending.count == 0 { release(device) }
    guard case .success(let result) = result, var server, let volume = result["volume"] else {
      // The loss of the server is reported for all.
      if case .failure(let error) = result, link?.isOpen == true {
        reports?.failed(error, device: device, session: nil)
      }
      // The server has another level than the one that was reported.
      if pending.isReported, link?.isOpen == true { requestState(isByController: false) }
      return
    }
    server.changeClient(device) { $0.read(volume: volume) }
    adopt(server, answers: pending.isReported || holds[device] != nil ? [] : [device])
  }

  /// Ends the hold of a speaker whose server has answered.
  func release(_ device: String) {
    if case .requested = holds[device] { holds[device] = nil }
  }

  /// Reports requested levels at once; they hold until the server has answered.
  public func settle() {
    guard var server else { return }
    var reported: Set<String> = []
    for (device, pending) in pendingLevels where !pending.isReported {
      server.changeClient(device) {
        ($0.percent, $0.isMuted) = (pending.percent, pending.isMuted)
        holds[device] = .requested($0)
      }
      pendingLevels[device]?.isReported = true
      reported.insert(device)
    }
    if !reported.isEmpty { adopt(server, answers: reported) }
  }

  /// Waits until the server has answered the requests so far, which it does in their order.
  public func awaitChanges() async throws {
    if !pendingLevels.isEmpty { _ = try? await link?.call("Server.GetRPCVersion") }
    try Task.checkCancellation()
  }

  /// Restores volumes and names of clients that are back on a server which has forgotten them. Those that are not back
  /// have them in `server` alone.
  func restore(_ server: inout SnapcastServer) {
    for client in server.clients {
      guard let hold = holds[client.id] else { continue }
      let old = hold.client
      let isNameless = client.name.isEmpty && !old.name.isEmpty
      server.changeClient(client.id) {
        ($0.percent, $0.isMuted) = (old.percent, old.isMuted)
        if isNameless { $0.name = old.name }
      }
      guard client.isConnected, case .due = hold else { continue }
      let hasOtherLevel = client.percent != old.percent || client.isMuted != old.isMuted
      holds[client.id] = isNameless || hasOtherLevel ? .requested(old) : nil
      // The last answer releases: the server answers in the order of the requests.
      if isNameless {
        link?.request("Client.SetName", [("id", .string(client.id)), ("name", .string(old.name))]) {
          [weak self] _ in if !hasOtherLevel { self?.release(client.id) }
        }
      }
      if hasOtherLevel {
        requestVolume(of: client.id, (0...100).contains(old.percent) ? old.percent : nil, old.isMuted)
      }
    }
  }
}
