internal import AudioCore
internal import EventLoop
internal import JSONText

/// A level as the host wants it: the hub knows a muted speaker as one at level 0.
struct HubLevel: ServerLevel {
  var volume: Int
  var isMuted: Bool
  /// The level for the hub.
  var sent: Int { isMuted ? 0 : volume }
}

extension HubLevel {
  init(volume: Int) { self.init(volume: volume, isMuted: false) }
}

extension HubDriver {
  /// The record of a speaker.
  struct Speaker: RemoteSpeaker {
    var givenName: String?
    var level = RequestedLevel<HubLevel>()
    /// `true` if the speaker is in the session of the house.
    var isMember = false
    /// `true` if the speaker is in the hub's session, as that was read last or set since; nil before.
    var isActive: Bool?
    /// The number of unanswered moves into or out of the hub's session.
    var moves = 0
    /// `true` if the speaker plays for this host, or did when the hub was asked last.
    var playsForHost = false
    /// `true` if its wrong level was logged.
    var hasWrongLevel = false
    /// The logged number of its unknown role.
    var unknownRole: Int?
  }
}

/// The speakers of the hub: their levels, their membership, and the differences between two of its answers.
extension HubDriver {
  // MARK: Levels

  /// Changes levels on the hub: one request for each speaker, with its newest level.
  public func change(_ changes: [(device: String, change: LevelChange)]) { request(changes) }

  func requestLevel(of device: String) {
    var sent: HubLevel?
    link?.request(
      "set_volume_device",
      { [weak self] in
        sent = self?.speakers[device]?.level.send()
        return [("DeviceID", device), ("Volume", "\(sent?.sent ?? 0)")]
      }
    ) { [weak self] result in
      self?.answered(result.map { _ in sent ?? HubLevel(volume: 0, isMuted: true) }, device)
    }
  }

  func shownLevel(of device: String) -> HubLevel? {
    devices.first { $0.id == device }.map { HubLevel(volume: $0.volume, isMuted: $0.isMuted) }
  }

  func show(_ levels: [(device: String, level: HubLevel)]) {
    for (device, level) in levels {
      guard let index = devices.firstIndex(where: { $0.id == device }) else { continue }
      (devices[index].volume, devices[index].isMuted) = (level.volume, level.isMuted)
    }
    reports?.levelsChanged(levels.map { ($0.device, $0.level.volume, $0.level.isMuted) })
  }

  // MARK: Membership

  /// Puts a speaker into the hub's session, or removes it; heard when the hub has answered.
  public func setSession(_ session: DriverStream?, ofDevice device: String) {
    speakers[device, default: Speaker()].isMember = session != nil
    move(device, isIn: session != nil)
  }

  func move(_ device: String, isIn: Bool) {
    guard let link, link.isOpen else { return }
    speakers[device, default: Speaker()].moves += 1
    link.request(isIn ? "add_device_to_session" : "remove_device_from_session", { [("DeviceID", device)] }) {
      [weak self] result in
      guard let self, link.isOpen else { return }
      speakers[device]?.moves -= 1
      switch result {
      case .success: speakers[device]?.isActive = isIn
      case .failure(let error): reports?.failed(error, device: device, stream: nil)
      }
    }
  }

  // MARK: Adopting

  /// Reports the differences between an answer to `device_list` and the state reported so far.
  func adopt(_ answer: JSON) {
    guard let reports else { return }
    guard let listed = HubSpeaker.list(answer) else {
      return complain("device_list", "the hub lists no speakers: its answer has a form that is not known")
    }
    complaints.remove("device_list")
    let found = infos(of: listed)
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
    for speaker in listed {
      follow(speaker, reports)
      followPlaying(speaker, reports)
    }
  }

  /// Applies the playback of a speaker for another controller.
  private func followPlaying(_ speaker: HubSpeaker, _ reports: any DriverReports) {
    guard let index = devices.firstIndex(where: { $0.id == speaker.id }) else { return }
    if player.playing != nil, speakers[speaker.id]?.isMember == true {
      speakers[speaker.id]?.playsForHost = true
      return setPlaysOthers(false, index)
    }
    // The hub may list a speaker as playing for a moment after the sound of this host has ended there.
    let playedForHost = speakers[speaker.id]?.playsForHost == true
    speakers[speaker.id]?.playsForHost = false
    if playedForHost, speaker.isPlaying { return }
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
    let isSet = speakers[new.id]?.level.requested != nil
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
    speakers[new.id]?.isActive = nil
    if speakers[new.id]?.isMember == true { move(new.id, isIn: true) }
  }

  /// Applies a membership that another controller has changed.
  private func follow(_ speaker: HubSpeaker, _ reports: any DriverReports) {
    guard let record = speakers[speaker.id], record.moves == 0 else { return }
    speakers[speaker.id]?.isActive = speaker.isActive
    guard let before = record.isActive, before != speaker.isActive, speaker.isActive != record.isMember else {
      return
    }
    reports.byController {
      let session = reports.sessionChanged(speaker.isActive ? 0 : nil, ofDevice: speaker.id)
      speakers[speaker.id]?.isMember = session != nil
    }
  }

  /// Returns the descriptions of speakers; known ones have the levels that are kept while they are muted.
  func infos(of listed: [HubSpeaker]) -> [DeviceInfo] {
    var names: Set<String> = []
    // Known speakers keep their names before others receive one.
    let ranked = listed.sorted { place(of: $0) < place(of: $1) }
    let infos = ranked.map { speaker -> DeviceInfo in
      let old = devices.first { $0.id == speaker.id }
      let group = speaker.groupName.isEmpty ? Group.ungrouped : speaker.groupName
      var info = DeviceInfo(
        id: speaker.id, name: name(of: speaker.id, given: speaker.name, besides: &names), groupName: group,
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
    for speaker in listed { speakers[speaker.id, default: Speaker()].givenName = speaker.name }
    return infos
  }

  private func place(of speaker: HubSpeaker) -> Int {
    devices.firstIndex { $0.id == speaker.id } ?? devices.count
  }

  /// Returns the role of a speaker: stereo for a number that is not documented, which is logged.
  private func role(of speaker: HubSpeaker) -> ChannelRole {
    if let role = speaker.role { return role }
    if let number = speaker.roleNumber, speakers[speaker.id]?.unknownRole != number {
      speakers[speaker.id, default: Speaker()].unknownRole = number
      context.log(
        "the hub says role \(number) of \(quoted(speaker.name)), which is not documented: shown as stereo")
    }
    return .stereo
  }

  private func noteLevel(of speaker: HubSpeaker, _ name: String) {
    let isWrong = speaker.volume != speaker.statedVolume
    guard speakers[speaker.id, default: Speaker()].hasWrongLevel != isWrong else { return }
    speakers[speaker.id, default: Speaker()].hasWrongLevel = isWrong
    guard isWrong else { return }
    context.log(
      "the hub says volume \(speaker.statedVolume) of \(quoted(name)), which counts as \(speaker.volume)")
  }
}
