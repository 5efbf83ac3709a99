internal import EventLoop

/// What can be done to an embedded house from outside, as a person with a ladder would: for tests and
/// demonstrations. Confined to the loop.
public final class HouseControls {
  private let house: House
  private let driver: HouseDriver

  init(house: House, driver: HouseDriver) {
    self.house = house
    self.driver = driver
  }

  /// Takes a speaker's power: it falls silent over one block, stays what it is and where it is, and can't be
  /// reached. Nothing when it is unplugged already.
  /// - Throws: `speaker.unavailable` when it was removed, `speaker.closed`.
  public func unplug(_ device: Device) throws(SpeakerError) {
    _ = try device.openHouse()
    driver.setAvailable(false, device.id)
  }

  /// Gives it power: it sounds with the next block, in step with the others of its session.
  /// - Throws: as `unplug`.
  public func plug(_ device: Device) throws(SpeakerError) {
    _ = try device.openHouse()
    driver.setAvailable(true, device.id)
  }

  /// Changes how well it is received. The house learns it when it asks: `refresh`, `watch`, `refreshWifi`.
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

  /// Puts up one more speaker, which is in no session. Its name must be free. In real time its file is opened on another
  /// thread: what is wrong with that comes as an `error` event of the speaker.
  /// - Throws: `speaker.range`, `speaker.unknown` as for a configured one, `audio.no_output`, `speaker.closed`.
  @discardableResult
  public func add(_ spec: SpeakerSpec) throws -> Device {
    guard house.isOpen else {
      throw SpeakerError(
        .closed, "the controls belong to a house that was closed",
        hint: "ask for those of the house that is open")
    }
    try NameRule.check(spec.name, of: "speaker")
    return try house.device(try driver.add(spec))
  }

  /// Takes a speaker away for good: it leaves its session and its group.
  /// - Throws: as `unplug`.
  public func remove(_ device: Device) throws(SpeakerError) {
    _ = try device.openHouse()
    driver.remove(device.id)
  }
}

extension House {
  /// The embedded house's own controls.
  /// - Throws: `speaker.unsupported` when another driver drives it.
  public func controls() throws(SpeakerError) -> HouseControls {
    guard let driver = driver as? HouseDriver else {
      throw SpeakerError(
        .unsupported, "the driver \"\(driver.name)\" has no speakers to unplug",
        hint: "the driver \"house\" has")
    }
    return HouseControls(house: self, driver: driver)
  }
}
