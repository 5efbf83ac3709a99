internal import AudioCore
internal import EventLoop

/// What `HouseControls` asks for.
extension HouseDriver {
  func setAvailable(_ isAvailable: Bool, _ device: String) {
    guard let index = index(of: device), devices[index].isAvailable != isAvailable else { return }
    devices[index].isAvailable = isAvailable
    renderMembership(of: index)
    reports?.deviceChanged(.available(isAvailable), of: device)
  }

  func setSignal(_ dBm: Int, _ device: String) {
    if let index = index(of: device) { signals[index] = dBm }
  }

  /// - Returns: its id.
  func add(_ spec: SpeakerSpec) throws -> String {
    let info = try HouseSpeakers.added(spec, at: devices.count, to: present)
    let place: Int
    if let old = devices.firstIndex(where: { $0.id == info.id }) {
      // The same speaker comes back: its output goes on.
      devices[old] = info
      signals[old] = info.wifiSignal
      removed.remove(old)
      place = old
    } else {
      guard devices.count < speakerLimit else {
        throw SpeakerError(
          .range, "the house has no room for more than \(speakerLimit) speakers",
          facts: [.init("limit", .int(speakerLimit))])
      }
      try renderer?.addDevice(spec.name)
      place = devices.count
      devices.append(info)
      signals.append(info.wifiSignal)
      memberships.append(nil)
    }
    renderer?.setMix(info.mix, channel: info.role.channel, ofDevice: place)
    reports?.deviceAdded(info)
    return info.id
  }

  func remove(_ device: String) {
    guard let index = index(of: device) else { return }
    reports?.deviceRemoved(device)
    removed.insert(index)
  }

  /// Asks the speakers that can be reached.
  public func refresh(_ device: String?) async throws {
    try await loop.sleep(for: Self.reactionTime)
    for index in devices.indices where device == nil || devices[index].id == device {
      guard !removed.contains(index), devices[index].isAvailable, devices[index].wifiSignal != signals[index]
      else { continue }
      devices[index].wifiSignal = signals[index]
      reports?.deviceChanged(.wifiSignal(signals[index]), of: devices[index].id)
    }
  }

  /// Who can't be reached is in no session as far as the mix goes.
  func renderMembership(of index: Int) {
    renderer?.setSession(devices[index].isAvailable ? memberships[index] : nil, ofDevice: index)
  }
}
