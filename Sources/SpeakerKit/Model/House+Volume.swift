internal import EventLoop

extension House {
  /// The average level: rounded to the nearest whole number over the available speakers, a muted one counts
  /// as 0; 0 without speakers.
  public var volume: Int { Self.average(of: devices) }

  /// Waits until the driver has answered the changes of levels that were requested so far.
  /// - Throws: the failure that the driver has reported meanwhile, of one of `devices` or of all speakers;
  ///   `CancellationError`.
  public func awaitChanges(of devices: [Device]) async throws {
    var failure: (any CodedError)?
    let subscription = events.on(.error) { event in
      guard case .error(let code, let message, let device, nil) = event, failure == nil,
        let kind = SpeakerErrorKind(rawValue: code)
      else { return }
      let isConcerned = device.map { failed in devices.contains { $0 === failed } } ?? (kind == .lost)
      if isConcerned { failure = SpeakerError(kind, message) }
    }
    defer { subscription.cancel() }
    try await driver.awaitChanges()
    // Events are delivered in later turns of the loop.
    while events.hasPending { try await loop.sleep(for: .zero) }
    if let failure { throw failure }
  }

  /// The maximum number of pending changes: more than a person or a fade ever requests.
  private static let mostPendingChanges = 5000

  /// Checks that the driver can receive further changes.
  /// - Throws: `script.flooded`, `speaker.closed`.
  func requireRoomForChanges() throws(SpeakerError) {
    guard isOpen else { throw Self.closedError }
    guard driver.pendingChangeCount < Self.mostPendingChanges else {
      throw SpeakerError(
        .flooded, "\(driver.pendingChangeCount) changes of speakers wait to take effect",
        hint: "let time pass between them")
    }
  }

  /// Checks a change and passes it to the driver, for the available ones of `devices`.
  /// - Parameter session: the session whose command it is; nil for others.
  /// - Throws: `speaker.range`, `script.flooded`, `speaker.closed`.
  func change(
    _ change: LevelChange, of devices: [Device], for session: Session? = nil
  ) throws(SpeakerError) {
    if case .volume(let level) = change, isOpen { try Self.check(volume: level) }
    try requireRoomForChanges()
    let reachable = devices.selected(\.isAvailable)
    guard !reachable.isEmpty else { return }
    func report(_ command: LevelCommand) {
      for device in reachable {
        device.levelTouches += 1
        device.levelCause = nil
        device.fade = nil
      }
      self.report(.level(reachable.map { ($0, command) }, by: .caller), for: session)
    }
    switch change {
    case .volume(let volume), .level(let volume): report(.set(volume))
    case .muted(let isMuted): report(isMuted ? .mute : .unmute)
    // Not counted: an interruption restores the level of a speaker whose role or balance was changed.
    case .role: for device in reachable { self.report(.edit(device, .role)) }
    case .balance: for device in reachable { self.report(.edit(device, .balance)) }
    }
    send(reachable.map { ($0, change) }, for: session)
  }

  /// Restores a speaker's level, unless another has been set since. An unavailable speaker receives it when
  /// it is available again.
  func restoreLevel(_ level: FormerLevel, to device: Device) {
    device.owedLevel = nil
    guard level.touches == device.levelTouches else { return }
    guard device.isAvailable else {
      device.owedLevel = level
      return
    }
    device.levelCause = interruptions.contains { $0.setsLevel(of: device) } ? .interruption : .restored
    device.isRestoring = true
    report(
      .level(
        [(device, .set(level.volume, isMuted: level.isMuted))],
        by: device.levelCause == .interruption ? .interruption : .restoration), for: level.session)
    setLevels([(device, level.volume, level.isMuted)], for: level.session)
  }

  /// Sets level and mute of speakers in one change, which emits one event per speaker.
  /// - Parameter session: the session whose command it is; nil for others.
  func setLevels(_ levels: [(device: Device, volume: Int, isMuted: Bool)], for session: Session? = nil) {
    guard !levels.isEmpty else { return }
    send(
      levels.flatMap { level in
        [(level.device, .volume(level.volume))] + (level.isMuted ? [(level.device, .muted(true))] : [])
      }, for: session)
  }

  static func check(volume: Int) throws(SpeakerError) {
    guard !volumeRange.contains(volume) else { return }
    throw SpeakerError(
      .range, "volume \(volume) is not in \(volumeRange)", facts: [.init("volume", .int(volume))])
  }

  static func average(of devices: [Device]) -> Int {
    var (sum, count) = (0, 0)
    for device in devices where device.isAvailable {
      sum += device.isMuted ? 0 : device.volume
      count += 1
    }
    return count == 0 ? 0 : (2 * sum + count) / (2 * count)
  }

  static func areMuted(_ devices: [Device]) -> Bool {
    let available = devices.filter(\.isAvailable)
    return !available.isEmpty && available.allSatisfy(\.isMuted)
  }
}

/// A level of a speaker that returns, unless another is set meanwhile.
struct FormerLevel {
  let volume: Int
  let isMuted: Bool
  /// The value of `Device.levelTouches` after which no other level has been set.
  let touches: Int
  /// The session whose own command set it; nil for another command.
  private(set) weak var session: Session?
}

extension FormerLevel {
  /// The volume that was asked for of a speaker, and its mute.
  init(of device: Device) {
    self.init(
      volume: device.requestedVolume, isMuted: device.isMuted, touches: device.levelTouches,
      session: device.levelSession)
  }
}
