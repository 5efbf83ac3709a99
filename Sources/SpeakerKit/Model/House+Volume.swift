internal import EventLoop

extension House {
  /// The average level: rounded to the nearest whole number over the available speakers, a muted one counts
  /// as 0; 0 without speakers.
  public var volume: Int { Self.average(of: devices) }

  /// Whether every available speaker that `mute` acts on is muted; false without speakers.
  public var isMuted: Bool { Self.areMuted(commonDevices) }

  /// What levels of the house act on: members of the default session and speakers in no session. What somebody
  /// put into a session of its own is left alone.
  private var commonDevices: [Device] { devices.filter { $0.session == nil || $0.session === session } }

  /// Sets those speakers to one level and unmutes them. Takes effect some milliseconds later, for all in the same
  /// block; each then has its `volume` event.
  /// - Parameter volume: 0...50.
  /// - Throws: `speaker.range`, `speaker.closed`.
  public func setVolume(_ volume: Int) throws(SpeakerError) {
    try change(.volume(volume), of: commonDevices)
  }

  /// Silences the speakers of the default session and of none; each keeps its level.
  /// - Throws: `speaker.closed`.
  public func mute() throws(SpeakerError) { try change(.muted(true), of: commonDevices) }

  /// Gives each of them the level that it had.
  /// - Throws: `speaker.closed`.
  public func unmute() throws(SpeakerError) { try change(.muted(false), of: commonDevices) }

  /// Hands a change to the driver, checked, for the speakers that can be reached.
  func change(_ change: LevelChange, of devices: [Device]) throws(SpeakerError) {
    guard isOpen else { throw Self.closedError }
    if case .volume(let level) = change { try Self.check(volume: level) }
    let reachable = devices.filter(\.isAvailable)
    guard !reachable.isEmpty else { return }
    switch change {
    case .volume, .muted: for device in reachable { device.levelTouches += 1 }
    // An interruption gives back the level of a speaker whose role or balance was changed.
    case .role, .balance: break
    }
    driver.change(reachable.map { ($0.id, change) })
  }

  /// Gives a speaker the level that it had, unless somebody has set another since. One that can't be reached gets it
  /// when it can.
  func giveBack(_ level: (volume: Int, isMuted: Bool, touches: Int), to device: Device) {
    device.owedLevel = nil
    guard level.touches == device.levelTouches else { return }
    guard device.isAvailable else {
      device.owedLevel = level
      return
    }
    setLevels([(device, level.volume, level.isMuted)])
  }

  /// Sets level and mute of speakers in one change: each is told once.
  func setLevels(_ levels: [(device: Device, volume: Int, isMuted: Bool)]) {
    driver.change(
      levels.flatMap { level in
        [(level.device.id, .volume(level.volume))] + (level.isMuted ? [(level.device.id, .muted(true))] : [])
      })
  }

  static func check(volume: Int) throws(SpeakerError) {
    guard !(0...maximumVolume).contains(volume) else { return }
    throw SpeakerError(
      .range, "volume \(volume) is not in 0...\(maximumVolume)", facts: [.init("volume", .int(volume))])
  }

  static func average(of devices: [Device]) -> Int {
    let available = devices.filter(\.isAvailable)
    guard !available.isEmpty else { return 0 }
    let sum = available.reduce(0) { $0 + ($1.isMuted ? 0 : $1.volume) }
    return (2 * sum + available.count) / (2 * available.count)
  }

  static func areMuted(_ devices: [Device]) -> Bool {
    let available = devices.filter(\.isAvailable)
    return !available.isEmpty && available.allSatisfy(\.isMuted)
  }
}
