internal import AudioCore
internal import EventLoop

/// The driver's part of `HouseControls`.
extension HouseDriver {
  func setAvailable(_ isAvailable: Bool, _ device: String) {
    guard let index = index(of: device) else { return }
    if isAvailable { unplugged.remove(index) } else { unplugged.insert(index) }
    updateAvailability(of: index)
  }

  /// Takes the speakers of a sound card out of the house while it is lost. If it is the only card, they
  /// remain, and playback continues until it is back.
  /// - Parameter loss: the reason in words; nil for a card that is present.
  func setCard(_ card: Int, loss: String?) {
    guard let plan, plan.cards.count > 1 else { return }
    for index in plan.cards[card].speakers {
      silenced[index] = loss
      updateAvailability(of: index)
    }
  }

  /// Returns the reason in words for which the sound card of a speaker is lost; nil for a card that plays.
  func loss(ofCardOf device: String) -> String? {
    index(of: device).flatMap { silenced[$0] }
  }

  private func updateAvailability(of index: Int) {
    let isAvailable = !unplugged.contains(index) && silenced[index] == nil
    guard devices[index].isAvailable != isAvailable else { return }
    devices[index].isAvailable = isAvailable
    renderMembership(of: index)
    if !removed.contains(index) { reports?.deviceChanged(.available(isAvailable), of: devices[index].id) }
  }

  func setSignal(_ dBm: Int, _ device: String) {
    if let index = index(of: device) { signals[index] = dBm }
  }

  /// Adds a speaker, or the removed one of that name again.
  /// - Returns: the speaker's id.
  /// - Throws: as `HouseControls.add`.
  func add(_ spec: SpeakerSpec) throws -> String {
    let info = try HouseSpeakers.added(spec, at: devices.count, to: present)
    let place: Int
    if let old = devices.firstIndex(where: { $0.id == info.id }) {
      // A removed speaker is back: its output continues.
      devices[old] = info
      signals[old] = info.wifiSignal
      unplugged.remove(old)
      devices[old].isAvailable = silenced[old] == nil
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
    reports?.deviceAdded(devices[place])
    return info.id
  }

  func remove(_ device: String) {
    guard let index = index(of: device) else { return }
    reports?.deviceRemoved(device)
    removed.insert(index)
  }

  /// Reads the signal strength of the available speakers.
  public func refresh(_ device: String?) async throws {
    try await loop.sleep(for: Self.reactionTime)
    for index in devices.indices where device == nil || devices[index].id == device {
      guard !removed.contains(index), devices[index].isAvailable, devices[index].wifiSignal != signals[index]
      else { continue }
      devices[index].wifiSignal = signals[index]
      reports?.deviceChanged(.wifiSignal(signals[index]), of: devices[index].id)
    }
  }

  /// Applies a speaker's membership to the mix, where an unavailable speaker is in no session.
  func renderMembership(of index: Int) {
    renderer?.setSession(devices[index].isAvailable ? memberships[index] : nil, ofDevice: index)
    if overlays[index] != nil { renderOverlay(of: index) }
  }

  /// Applies the session over that of a speaker to the mix, with its level.
  func renderOverlay(of index: Int) {
    let (device, overlay) = (devices[index], overlays[index])
    let mix = overlay?.volume.map { device.mix(at: $0) } ?? device.mix
    renderer?.setOverlay(device.isAvailable ? overlay?.session : nil, mix, ofDevice: index)
  }
}
