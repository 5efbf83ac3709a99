public import AudioCore
internal import EventLoop

extension Session {
  /// The gains that there are, in dB. The lowest cannot be told from silence at 16 bits.
  public static let gainRange = -90.0...12.0

  /// Sets what its source is amplified by, ahead of its speakers' levels; heard over a ramp of one block. Above 0 dB
  /// a limiter keeps it below full scale.
  /// - Parameter decibels: in `gainRange`; 0 is neutral.
  /// - Throws: `speaker.range`, `speaker.unsupported`, `speaker.closed`.
  public func setGain(_ decibels: Double) throws(SpeakerError) {
    _ = try changeGain(to: decibels, over: .zero)
  }

  /// Sets the gains of its ten bands; heard within one block, without a click. A limiter keeps what exceeds full scale
  /// below it; all at 0 dB every bit passes.
  /// - Throws: `speaker.unsupported`, `speaker.closed`.
  public func setEqualizer(_ gains: EqualizerGains) throws(SpeakerError) {
    try openHouse().require("equalizer", for: "equalizers")
    equalizer = gains
    driver.setEqualizer(gains, of: id)
  }

  /// Moves its gain in a straight line of decibels, in the mix, exact to the block. Returns when it is there, or when
  /// another change of the gain has taken its place. A pause stops the fade until it goes on; when nothing plays, or
  /// what plays ends, the gain is there at once. A cancelled wait leaves the fade going.
  /// - Parameters:
  ///   - decibels: in `gainRange`.
  ///   - duration: 0 or more, of what plays.
  /// - Throws: as `setGain`; `CancellationError`.
  public func fade(gain decibels: Double, over duration: Duration) async throws {
    let number = try changeGain(to: decibels, over: duration)
    let end = playClock.played(at: loop.now) + duration
    while number == gainChanges, machine.current != nil {
      let left = end - playClock.played(at: loop.now)
      guard left > .zero else { return }
      try await SessionWaiters.wait(on: self, \.fading, timeout: playClock.isRunning ? left : nil)
    }
  }

  /// Moves the levels of its members to one level, in equal times for equal steps: each step is a change of volume
  /// with its event, heard over a ramp of one block. Returns when they are there.
  ///
  /// A speaker whose level somebody else sets meanwhile, or that leaves, is left alone from then on; a muted one
  /// rises from 0. Another volume fade takes the place of this one.
  /// - Parameters:
  ///   - volume: 0...50.
  ///   - duration: 0 or more.
  /// - Throws: `speaker.range`, `speaker.unsupported`, `speaker.closed`, `CancellationError`; levels stay where they
  ///   are then.
  public func fade(volume: Int, over duration: Duration) async throws {
    let house = try openHouse()
    try house.require("fade", for: "fades")
    try House.check(volume: volume)
    try Self.check(duration)
    volumeFades += 1
    let number = volumeFades
    var members = devices.filter(\.isAvailable)
      .map { (device: $0, from: $0.isMuted ? 0 : $0.volume, touches: $0.levelTouches) }
    let steps = members.map { abs(volume - $0.from) }.max() ?? 0
    let start = loop.now
    for step in stride(from: 1, through: steps, by: 1) {
      try await loop.sleep(until: start.advanced(by: duration * step / steps))
      guard number == volumeFades, isOpen else { return }
      members.removeAll {
        $0.device.levelTouches != $0.touches || $0.device.session !== self || !$0.device.isAvailable
      }
      let levels = members.compactMap { member -> (device: String, change: LevelChange)? in
        let before = Self.level(member.from, volume, step - 1, steps)
        let after = Self.level(member.from, volume, step, steps)
        return before == after ? nil : (member.device.id, .volume(after))
      }
      if !levels.isEmpty { driver.change(levels) }
    }
  }

  /// Where a level is after `step` of `steps`, rounded to the nearest.
  private static func level(_ from: Int, _ to: Int, _ step: Int, _ steps: Int) -> Int {
    from + (2 * (to - from) * step + (to > from ? steps : -steps)) / (2 * steps)
  }

  private func changeGain(to decibels: Double, over duration: Duration) throws(SpeakerError) -> Int {
    try openHouse().require("gain", for: "gains")
    guard Self.gainRange.contains(decibels) else {
      throw SpeakerError(
        .range, "a gain of \(decibels) dB is not in -90...12", facts: [.init("gain", .number(decibels))])
    }
    try Self.check(duration)
    gain = decibels
    gainChanges += 1
    fading.wake(.idle)
    driver.setGain(decibels, over: duration, of: id)
    return gainChanges
  }

  private static func check(_ duration: Duration) throws(SpeakerError) {
    guard duration < .zero || duration > .seconds(86_400) else { return }
    throw SpeakerError(.range, "a fade takes from 0 s to a day, not \(duration)")
  }
}

/// How long something has run, with interruptions.
struct PlayClock {
  private var before = Duration.zero
  private var since: Instant?

  /// Whether it runs.
  var isRunning: Bool { since != nil }

  /// How long it has run by then.
  func played(at now: Instant) -> Duration { before + (since.map { $0.duration(to: now) } ?? .zero) }

  /// It runs from now on, or stands still.
  mutating func run(_ isRunning: Bool, at now: Instant) {
    before = played(at: now)
    since = isRunning ? now : nil
  }
}
