public import EventLoop

/// Simulated physical changes of an embedded house, as a person with a ladder would make them: for tests and
/// demonstrations. Confined to the loop.
public final class HouseControls {
  private let house: House
  private let driver: HouseDriver

  init(house: House, driver: HouseDriver) {
    self.house = house
    self.driver = driver
  }

  /// Unplugs a speaker: it fades out over one block, keeps its settings, session and group, and can't be
  /// reached. Does nothing when it is unplugged already.
  /// - Throws: `speaker.unavailable` when it was removed, `speaker.closed`.
  public func unplug(_ device: Device) throws(SpeakerError) {
    _ = try device.openHouse()
    driver.setAvailable(false, device.id)
  }

  /// Plugs a speaker in: it sounds with the next block, in step with the others of its session.
  /// - Throws: `speaker.unavailable` for a speaker of a lost sound card; as `unplug`.
  public func plug(_ device: Device) throws(SpeakerError) {
    _ = try device.openHouse()
    driver.setAvailable(true, device.id)
    if let loss = driver.loss(ofCardOf: device.id) {
      throw SpeakerError(
        .unavailable, "\"\(device.name)\" can't be plugged in: \(loss)",
        hint: "the speaker is back when its card is; roomtone doctor shows the state of the card",
        facts: [.init("speaker", .string(device.name))])
    }
  }

  /// Sets a speaker's received signal strength. The house learns it with its next query: `refresh`, `watch`,
  /// `refreshWifi`.
  /// - Parameter dBm: -100...0.
  /// - Throws: `speaker.range`, and as `unplug`.
  public func setWifi(_ device: Device, dBm: Int) throws(SpeakerError) {
    _ = try device.openHouse()
    guard (-100...0).contains(dBm) else {
      throw SpeakerError(
        .range, "a signal of \(dBm) dBm is not in -100...0", facts: [.init("dBm", .int(dBm))])
    }
    driver.setSignal(dBm, device.id)
  }

  /// Adds a speaker, which is in no session. Its name must be free. In real time its file is opened on
  /// another thread: a failure of that is an `error` event of the speaker.
  /// - Throws: `speaker.range`, `speaker.unknown` as for a configured one, `audio.no_output`,
  ///   `speaker.closed`.
  @discardableResult
  public func add(_ spec: SpeakerSpec) throws -> Device {
    guard house.isOpen else {
      throw SpeakerError(
        .closed, "the controls belong to a house that was closed",
        hint: "use the speakers of the open house")
    }
    try NameRule.check(spec.name, of: "speaker")
    return try house.device(try driver.add(spec))
  }

  /// Removes a speaker for good: it leaves its session and its group.
  /// - Throws: as `unplug`.
  public func remove(_ device: Device) throws(SpeakerError) {
    _ = try device.openHouse()
    driver.remove(device.id)
  }
}

extension House {
  /// Returns the controls of the embedded house.
  /// - Throws: `speaker.unsupported` for another driver.
  public func controls() throws(SpeakerError) -> HouseControls {
    guard let driver = driver as? HouseDriver else {
      throw SpeakerError(
        .unsupported, "the driver \"\(driver.name)\" has no speakers to unplug",
        hint: "the driver \"house\" has")
    }
    return HouseControls(house: self, driver: driver)
  }
}
