public import AudioCore
public import EventLoop

extension Session {
  /// Sets the gain of the session's source, ahead of its speakers' levels, over a ramp of one block. Above 0
  /// dB a limiter keeps it below full scale.
  /// - Parameter decibels: in `Decibels.gainRange`; 0 is neutral.
  /// - Throws: `speaker.range`, `speaker.unsupported`, `speaker.closed`.
  public func setGain(_ decibels: Double) throws(SpeakerError) {
    _ = try changeGain(to: decibels, over: .zero)
  }

  /// Sets the gains of the session's ten bands; heard within one block, without a click. A limiter keeps the
  /// sound below full scale; with all gains at 0 dB every bit passes.
  /// - Throws: `speaker.unsupported`, `speaker.closed`.
  public func setEqualizer(_ gains: EqualizerGains) throws(SpeakerError) {
    try openHouse().require("equalizer", for: "equalizers")
    equalizer = gains
    house?.report(.equalizer(gains), of: self)
    if let stream { driver.setEqualizer(gains, of: stream) }
  }

  /// Fades the session's gain in a straight line of decibels, in the mix, exact to the block. Returns when
  /// the gain is reached, or replaced by another change. A pause of the session pauses the fade; when nothing
  /// plays, or the source ends, the gain is reached at once. Cancelling the wait leaves the fade running.
  /// - Parameters:
  ///   - decibels: in `Decibels.gainRange`.
  ///   - duration: 0 or more, of playback.
  /// - Throws: as `setGain`; `CancellationError`.
  public func fade(gain decibels: Double, over duration: Duration) async throws {
    let number = try changeGain(to: decibels, over: duration)
    let end = playClock.played(at: loop.now) + duration
    while number == gainState.changes, machine.current != nil {
      let left = end - playClock.played(at: loop.now)
      guard left > .zero else { return }
      try await fading.wait(on: loop, timeout: playClock.isRunning ? left : nil)
    }
  }

  /// Fades the levels of the session's `rooms` to one level, as `House.fade` does; a speaker that leaves is
  /// left alone from then on.
  /// - Throws: `speaker.no_active_device` without a room, `speaker.range`, `speaker.unsupported`, `speaker.closed`, `CancellationError`.
  public func fade(volume: Int, over duration: Duration) async throws {
    try openHouse().require("fade", for: "fades")
    try await openHouse().fade(requireRooms(for: "fade"), volume: volume, over: duration, in: self)
  }

  private func changeGain(to decibels: Double, over duration: Duration) throws(SpeakerError) -> Int {
    try openHouse().require("gain", for: "gains")
    guard Decibels.gainRange.contains(decibels) else {
      throw SpeakerError(
        .range, "a gain of \(decibels) dB is not in \(Decibels.gainRangeText)",
        facts: [.init("gain", .number(decibels))])
    }
    try Self.check(duration)
    let from = endGainFade() ?? gain
    // Without a source the gain is reached at once.
    let time = machine.current == nil ? .zero : duration
    house?.report(.gain(from: from, to: decibels, over: time), of: self)
    if time > .zero {
      gainState.change(
        by: SessionFade(from: from, to: decibels, over: time, since: playClock.played(at: loop.now)))
      watchGain()
    } else {
      gainState.change(to: decibels)
    }
    fading.settle(.success(()))
    if gainState.isHeard, let stream { driver.setGain(decibels, over: duration, of: stream) }
    return gainState.changes
  }

  /// Fades the sound out for an interruption; `gain` stays as it is.
  func fadeOut(over duration: Duration) {
    gainState.isHeard = false
    if let stream { driver.setGain(gainState.heard, over: duration, of: stream) }
  }

  /// Fades the sound in to `gain`, after an interruption.
  func fadeIn(over duration: Duration) {
    gainState.isHeard = true
    if let stream { driver.setGain(gainState.heard, over: duration, of: stream) }
  }

  /// Ends the fade of the gain where it is.
  /// - Returns: the gain that it has reached; nil when none is in progress.
  private func endGainFade() -> Double? {
    guard let fade = gainState.fade else { return nil }
    let time = fade.time(at: playClock.played(at: loop.now))
    endGainFade(at: fade.gain(after: time), after: time)
    return fade.gain(after: time)
  }

  private func endGainFade(at gain: Double, after time: Duration) {
    gainState.endFade()
    house?.report(.gainEnd(at: gain, after: time), of: self, isCommanded: false)
  }

  /// Ends the fade of the gain when its time has been played or nothing plays any more; otherwise arms its timer while
  /// the session plays. To be called after every change of `isRunning`.
  func watchGain() {
    gainState.watch(nil)
    guard let fade = gainState.fade else { return }
    let time = fade.time(at: playClock.played(at: loop.now))
    guard machine.current != nil, time < fade.over else { return endGainFade(at: fade.to, after: time) }
    guard playClock.isRunning else { return }
    gainState.watch(loop.after(fade.over - time) { [weak self] in self?.watchGain() })
  }

  static func check(_ duration: Duration) throws(SpeakerError) {
    guard duration < .zero || duration > .seconds(86_400) else { return }
    throw SpeakerError(.range, "a fade takes from 0 s to a day, not \(duration)")
  }
}

/// The gain of a session, at rest or on its way.
struct GainState {
  private enum Phase {
    case steady(Double)
    /// A fade, with the timer of its end while the session plays.
    case fading(SessionFade, LoopTimer?)
  }

  private var phase = Phase.steady(0)
  /// The number of changes so far; a newer change ends an older fade.
  private(set) var changes = 0
  /// `false` while an interruption has faded the sound out: a gain that is set is heard once it fades in.
  var isHeard = true

  /// The gain in dB; that at the end of a fade.
  var target: Double {
    switch phase {
    case .steady(let gain): gain
    case .fading(let fade, _): fade.to
    }
  }
  /// The gain in dB that is heard, at the end of a fade: that of silence while an interruption has faded the sound out.
  var heard: Double { isHeard ? target : Decibels.gainRange.lowerBound }
  /// The fade in progress; nil for none.
  var fade: SessionFade? { if case .fading(let fade, _) = phase { fade } else { nil } }

  /// Sets the gain at once.
  mutating func change(to gain: Double) {
    changes += 1
    phase = .steady(gain)
  }

  /// Begins a fade, whose timer `watch` sets.
  mutating func change(by fade: SessionFade) {
    changes += 1
    phase = .fading(fade, nil)
  }

  /// Replaces the timer of the fade; nil for none.
  mutating func watch(_ timer: LoopTimer?) {
    guard case .fading(let fade, let old) = phase else { return }
    old?.cancel()
    phase = .fading(fade, timer)
  }

  /// Ends the fade at its target.
  mutating func endFade() {
    watch(nil)
    phase = .steady(target)
  }
}

/// A fade of a session's gain: a straight line of decibels over time played.
struct SessionFade {
  let from: Double
  let to: Double
  /// The length, more than 0.
  let over: Duration
  /// The running time of the session at its beginning.
  let since: Duration

  /// Returns the time of the fade, at most its length, at a running time of the session.
  func time(at played: Duration) -> Duration { min(played - since, over) }

  /// Returns the gain after a time of the fade.
  func gain(after time: Duration) -> Double { from + (to - from) * (time / over) }
}

/// Accumulated running time, without the pauses.
struct PlayClock {
  private var before = Duration.zero
  private var since: Instant?

  /// `true` if the clock runs.
  var isRunning: Bool { since != nil }

  /// Returns the running time up to `now`.
  func played(at now: Instant) -> Duration { before + (since.map { $0.duration(to: now) } ?? .zero) }

  /// Starts or pauses the clock at `now`.
  mutating func run(_ isRunning: Bool, at now: Instant) {
    before = played(at: now)
    since = isRunning ? now : nil
  }
}
