internal import EventLoop

extension House {
  /// The most by which the sound under another one is lowered, in dB: silence.
  public static let duckRange = 0.0...90.0

  /// Plays a sound over the playback of speakers, which continues `duck` dB lower, in step with its other
  /// speakers, and returns to its level afterwards. Waits until no other such sound is on the speakers;
  /// returns when the sound has ended.
  ///
  /// Membership, volume and position of the playback below are not touched: it may change, end or begin
  /// meanwhile.
  /// - Parameters:
  ///   - devices: the speakers, all or none.
  ///   - priority: sessions with a higher one are not talked over.
  ///   - volume: the level of the sound, nil for that of each speaker; heard from muted speakers too.
  ///   - duck: the attenuation of the playback below, in `duckRange`.
  ///   - fade: duration of its way down before the sound, and up again after it.
  ///   - name: display name of the sound's session.
  ///   - play: called with a session of the speakers; closing that session ends the sound early.
  /// - Throws: as `interrupt`.
  public func playOver(
    devices: [Device], priority: Int = 100, volume: Int? = nil, duck: Double, fade: Duration = .zero,
    name: String = "interruption", play: (Session) async throws -> Void
  ) async throws {
    loop.assertOnLoop()
    guard isOpen else { throw Self.closedError }
    try require("duck", for: "sound over other sound")
    if let volume { try Self.check(volume: volume) }
    try Session.check(fade)
    guard Self.duckRange.contains(duck) else {
      throw SpeakerError(
        .range, "an attenuation of \(duck) dB is not in 0...90", facts: [.init("duck", .number(duck))])
    }
    let devices = Self.eachOnce(devices)
    while let other = overlays.first(where: { $0.shares(devices) }) {
      try await other.session.closing.wait(on: loop)
      guard isOpen else { throw Self.closedError }
    }
    guard devices.contains(where: \.isAvailable) else {
      throw SpeakerError(.noActiveDevice, "interrupt: no speaker that can be reached", hint: "name one")
    }
    for device in devices { try check(device, mayGoTo: priority) }
    let session = try makeInterruptingSession(name: name, priority: priority, on: [])
    let overlay = Overlay(self, session, devices, volume: volume, duck: duck, fade: fade)
    overlays.append(overlay)
    let outcome: Result<Void, any Error>
    do {
      try await overlay.begin()
      try await play(session)
      outcome = .success(())
    } catch { outcome = .failure(error) }
    overlay.end()
    try outcome.get()
  }

  /// Lays a sound over the playback of a speaker, which falls by `duck` dB.
  func lay(_ session: Session, volume: Int?, duck: Double, fade: Duration, over device: Device) {
    device.overlay = (session, volume)
    renderOverlay(of: device)
    driver.setDuck(-duck, over: fade, ofDevice: device.id)
  }

  /// Removes the sound over the playback of a speaker, which rises to its level. Does nothing without such a
  /// sound.
  func uncover(_ device: Device, fade: Duration = .zero) {
    guard device.overlay != nil else { return }
    device.overlay = nil
    driver.setOverlay(nil, volume: nil, ofDevice: device.id)
    driver.setDuck(0, over: fade, ofDevice: device.id)
  }
}

/// A sound over the playback of speakers. Confined to the loop.
final class Overlay {
  let session: Session
  private unowned let house: House
  private let devices: [Device]
  private let volume: Int?
  private let duck: Double
  private let fade: Duration
  private var phase = Phase.waiting
  private enum Phase { case waiting, laid, ended }

  init(_ house: House, _ session: Session, _ devices: [Device], volume: Int?, duck: Double, fade: Duration) {
    (self.house, self.session, self.devices) = (house, session, devices)
    (self.volume, self.duck, self.fade) = (volume, duck, fade)
  }

  /// Lowers the playback, then lays the session over it.
  func begin() async throws {
    phase = .laid
    for device in devices where !device.isRemoved {
      house.lay(session, volume: volume, duck: duck, fade: fade, over: device)
    }
    house.report(.interruption(isBeginning: true, devices: devices.map(\.id), duck: duck), of: session)
    if fade > .zero, devices.contains(where: { $0.session?.isRunning == true }) {
      try await house.loop.sleep(for: fade)
    }
    try session.requireOpen()
  }

  /// Removes the session, and raises the playback below. Does nothing the second time.
  func end() {
    guard phase != .ended else { return }
    let wasLaid = phase == .laid
    phase = .ended
    if house.isOpen { session.stop() }
    house.overlays.removeAll { $0 === self }
    guard house.isOpen else { return }
    if wasLaid {
      for device in devices where device.overlay?.session === session {
        house.uncover(device, fade: fade)
      }
      house.report(.interruption(isBeginning: false, devices: devices.map(\.id), duck: duck), of: session)
    }
    session.close()
    house.reportPlaying()
  }

  func shares(_ others: [Device]) -> Bool {
    devices.contains { device in others.contains { $0 === device } }
  }
}
