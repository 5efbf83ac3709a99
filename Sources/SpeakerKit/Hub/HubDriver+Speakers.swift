internal import AudioCore
internal import EventLoop
internal import JSONText

/// A level as the host wants it: the hub knows a muted speaker as one at level 0.
struct HubLevel: Equatable {
  var volume: Int
  var isMuted: Bool
  /// Level for the hub.
  var sent: Int { isMuted ? 0 : volume }
}

/// A level that is requested of a speaker.
struct PendingHubLevel {
  /// The newest level that was requested.
  var level: HubLevel
  /// The level of the request under way; nil before it is sent.
  var sent: HubLevel?
  /// `true` if the speaker shows a newer level than that of the request under way.
  var isAhead = false
  /// Level that the hub has, while the speaker shows a requested one ahead of the hub's answer; nil while it shows the
  /// hub's.
  var confirmed: HubLevel?
}

/// The speakers of the hub: their levels, their membership, and the differences between two of its answers.
extension HubDriver {
  // MARK: Levels

  /// Changes levels on the hub: one request for each speaker, with its newest level.
  public func change(_ changes: [(device: String, change: LevelChange)]) {
    for (id, change) in changes {
      guard let device = devices.first(where: { $0.id == id }) else { continue }
      let isQueued = pendingLevels[id] != nil
      var level = pendingLevels[id]?.level ?? HubLevel(volume: device.volume, isMuted: device.isMuted)
      switch change {
      case .volume(let volume): level = HubLevel(volume: volume, isMuted: false)
      case .muted(let isMuted): level.isMuted = isMuted
      case .role, .balance: continue  // not among the capabilities
      }
      pendingLevels[id, default: PendingHubLevel(level: level)].level = level
      if !isQueued { sendLevel(of: id) }
    }
  }

  /// Reports requested levels at once; they hold until the hub has confirmed or refused them.
  public func settle() {
    var levels: [(device: String, volume: Int, isMuted: Bool)] = []
    for index in devices.indices {
      let id = devices[index].id
      let shown = HubLevel(volume: devices[index].volume, isMuted: devices[index].isMuted)
      guard var pending = pendingLevels[id], pending.level != shown else { continue }
      pending.confirmed = pending.confirmed ?? shown
      pending.isAhead = pending.sent != nil && pending.sent != pending.level
      pendingLevels[id] = pending
      (devices[index].volume, devices[index].isMuted) = (pending.level.volume, pending.level.isMuted)
      levels.append((id, pending.level.volume, pending.level.isMuted))
    }
    if !levels.isEmpty { reports?.levelsChanged(levels) }
  }

  /// Number of speakers whose level the hub has not confirmed.
  public var pendingChangeCount: Int { pendingLevels.count }

  /// Waits until the hub has confirmed the requested levels, or is lost.
  public func awaitChanges() async throws {
    while !pendingLevels.isEmpty, link?.isOpen == true { try await loop.sleep(for: .milliseconds(5)) }
    try Task.checkCancellation()
  }

  func sendLevel(of device: String) {
    var sent: HubLevel?
    link?.request(
      "set_volume_device",
      { [weak self] in
        sent = self?.pendingLevels[device]?.level
        self?.pendingLevels[device]?.sent = sent
        self?.pendingLevels[device]?.isAhead = false
        return [("DeviceID", device), ("Volume", "\(sent?.sent ?? 0)")]
      }
    ) { [weak self] result in
      guard let self, let sent, let pending = pendingLevels[device] else { return }
      switch result {
      case .success:
        pendingLevels[device] = pending.level == sent ? nil : PendingHubLevel(level: pending.level)
        if pending.isAhead {
          pendingLevels[device]?.confirmed = sent
        } else if pending.confirmed == nil {
          setLevel(sent, of: device)
        } else {
          showLevel(sent, of: device)
        }
        if pendingLevels[device] != nil { sendLevel(of: device) }
      case .failure(let error):
        // On a lost hub the level is set when that is back.
        guard link?.isOpen == true else { return }
        pendingLevels[device] = nil
        if let confirmed = pending.confirmed { showLevel(confirmed, of: device) }
        reports?.failed(error, device: device, session: nil)
      }
    }
  }

  private func setLevel(_ level: HubLevel, of device: String) {
    guard let index = devices.firstIndex(where: { $0.id == device }) else { return }
    (devices[index].volume, devices[index].isMuted) = (level.volume, level.isMuted)
    reports?.levelsChanged([(device, level.volume, level.isMuted)])
  }

  /// Reports a level unless the speaker shows it already.
  private func showLevel(_ level: HubLevel, of device: String) {
    guard let shown = devices.first(where: { $0.id == device }) else { return }
    if level != HubLevel(volume: shown.volume, isMuted: shown.isMuted) { setLevel(level, of: device) }
  }

  // MARK: Membership

  /// Puts a speaker into the hub's session, or removes it; heard when the hub has answered.
  public func setSession(_ session: SessionID?, ofDevice device: String) {
    if session == nil { members.remove(device) } else { members.insert(device) }
    move(device, isIn: session != nil)
  }

  func move(_ device: String, isIn: Bool) {
    guard let link, link.isOpen else { return }
    pendingMoves[device, default: 0] += 1
    link.request(isIn ? "add_device_to_session" : "remove_device_from_session", { [("DeviceID", device)] }) {
      [weak self] result in
      guard let self, link.isOpen else { return }
      pendingMoves[device, default: 1] -= 1
      switch result {
      case .success: actives[device] = isIn
      case .failure(let error): reports?.failed(error, device: device, session: nil)
      }
    }
  }

  // MARK: Adopting

  /// Reports the differences between an answer to `device_list` and what was reported.
  func adopt(_ answer: JSON) {
    guard let reports else { return }
    guard let speakers = HubSpeaker.list(answer) else {
      return complain("device_list", "the hub lists no speakers: its answer has a form that is not known")
    }
    complaints.remove("device_list")
    let found = infos(of: speakers)
    for index in devices.indices where !found.contains(where: { $0.id == devices[index].id }) {
      setAvailable(false, index)
    }
    for new in found where !devices.contains(where: { $0.id == new.id }) {
      devices.append(new)
      reports.deviceAdded(new)
    }
    for new in found {
      guard let index = devices.firstIndex(where: { $0.id == new.id }) else { continue }
      update(index, new, reports)
    }
    for speaker in speakers {
      follow(speaker, reports)
      followPlaying(speaker, reports)
    }
  }

  /// Takes what a speaker plays for another controller.
  private func followPlaying(_ speaker: HubSpeaker, _ reports: any DriverReports) {
    guard let index = devices.firstIndex(where: { $0.id == speaker.id }) else { return }
    if player.playing != nil, members.contains(speaker.id) {
      ownPlaying.insert(speaker.id)
      return setPlaysOthers(false, index)
    }
    // The hub may list a speaker as playing for a moment after what this host played there has ended.
    if ownPlaying.remove(speaker.id) != nil, speaker.isPlaying { return }
    reports.byController { setPlaysOthers(speaker.isPlaying, index) }
  }

  func setPlaysOthers(_ playsOthers: Bool, _ index: Int) {
    guard devices[index].playsOthers != playsOthers else { return }
    devices[index].playsOthers = playsOthers
    reports?.deviceChanged(.playsOthers(playsOthers), of: devices[index].id)
  }

  private func update(_ index: Int, _ new: DeviceInfo, _ reports: any DriverReports) {
    let old = devices[index]
    // A level under way is newer than the answer.
    let isSet = pendingLevels[new.id] != nil
    devices[index] = new
    (devices[index].isAvailable, devices[index].playsOthers) = (old.isAvailable, old.playsOthers)
    if isSet { (devices[index].volume, devices[index].isMuted) = (old.volume, old.isMuted) }
    if old.wifiSignal != new.wifiSignal { reports.deviceChanged(.wifiSignal(new.wifiSignal), of: new.id) }
    reports.byController {
      if old.name != new.name { reports.deviceChanged(.name(new.name), of: new.id) }
      if old.groupName != new.groupName || old.groupID != new.groupID {
        reports.deviceChanged(.group(new.groupName, rank: new.groupRank, id: new.groupID), of: new.id)
      }
      if old.role != new.role { reports.deviceChanged(.role(new.role), of: new.id) }
      if !isSet, old.volume != new.volume || old.isMuted != new.isMuted {
        reports.levelsChanged([(new.id, new.volume, new.isMuted)])
      }
    }
    guard !old.isAvailable else { return }
    setAvailable(true, index)
    actives[new.id] = nil
    if members.contains(new.id) { move(new.id, isIn: true) }
  }

  func setAvailable(_ isAvailable: Bool, _ index: Int) {
    guard devices[index].isAvailable != isAvailable else { return }
    devices[index].isAvailable = isAvailable
    reports?.deviceChanged(.available(isAvailable), of: devices[index].id)
  }

  /// Takes the membership that another controller has changed.
  private func follow(_ speaker: HubSpeaker, _ reports: any DriverReports) {
    let before = actives[speaker.id]
    guard pendingMoves[speaker.id, default: 0] == 0 else { return }
    actives[speaker.id] = speaker.isActive
    guard let before, before != speaker.isActive, speaker.isActive != members.contains(speaker.id) else {
      return
    }
    reports.byController {
      let session = reports.sessionChanged(speaker.isActive ? 0 : nil, ofDevice: speaker.id)
      if session == nil { members.remove(speaker.id) } else { members.insert(speaker.id) }
    }
  }

  /// Returns the descriptions of speakers, those known before with the levels that are kept while they are muted.
  func infos(of speakers: [HubSpeaker]) -> [DeviceInfo] {
    var names: Set<String> = []
    // Known speakers keep their names before others receive one.
    let ranked = speakers.sorted { place(of: $0) < place(of: $1) }
    let infos = ranked.map { speaker -> DeviceInfo in
      let old = devices.first { $0.id == speaker.id }
      let group = speaker.groupName.isEmpty ? Group.ungrouped : speaker.groupName
      var info = DeviceInfo(
        id: speaker.id, name: name(of: speaker, old?.name, besides: &names), groupName: group,
        model: speaker.model, ipAddress: speaker.address, port: speaker.port,
        macAddress: speaker.macAddress, version: speaker.version, wifiSignal: speaker.wifiSignal,
        volume: speaker.volume, role: role(of: speaker))
      if group != Group.ungrouped { info.groupID = speaker.groupID }
      if let old, old.isMuted, speaker.volume == 0 { (info.volume, info.isMuted) = (old.volume, true) }
      if let old, old.groupName == group {
        info.groupRank = old.groupRank
      } else {
        lastRank += 1
        info.groupRank = lastRank
      }
      noteLevel(of: speaker, info.name)
      return info
    }
    for speaker in speakers { givenNames[speaker.id] = speaker.name }
    return infos
  }

  private func place(of speaker: HubSpeaker) -> Int {
    devices.firstIndex { $0.id == speaker.id } ?? devices.count
  }

  /// Returns the role of a speaker: stereo for a number that is not documented, which is logged.
  private func role(of speaker: HubSpeaker) -> ChannelRole {
    if let role = speaker.role { return role }
    if let number = speaker.roleNumber, unknownRoles.updateValue(number, forKey: speaker.id) != number {
      log(
        "the hub says role \(number) of \(quoted(speaker.name)), which is not documented: shown as stereo")
    }
    return .stereo
  }

  private func noteLevel(of speaker: HubSpeaker, _ name: String) {
    guard speaker.volume != speaker.statedVolume else { return _ = wrongLevels.remove(speaker.id) }
    guard wrongLevels.insert(speaker.id).inserted else { return }
    log("the hub says volume \(speaker.statedVolume) of \(quoted(name)), which counts as \(speaker.volume)")
  }

  /// Returns the name of a speaker: the hub's, with a number where another one has it, which it keeps when that one is
  /// renamed.
  private func name(of speaker: HubSpeaker, _ old: String?, besides names: inout Set<String>) -> String {
    if givenNames[speaker.id] == speaker.name, let old, names.insert(old).inserted { return old }
    let base = String(speaker.name.prefix(90))
    var (name, number) = (speaker.name, 1)
    while !names.insert(name).inserted {
      number += 1
      name = "\(base) \(number)"
    }
    return name
  }
}
