public import AudioCore
internal import EventLoop

/// The gain, the taps and the meter of a stream, as set on the loop. Kept while the stream is stopped.
final class SoundControls {
  let chain: SoundChain
  /// Called when `isUsed` may have changed.
  var onUse: () -> Void = {}
  private(set) var gain = 0.0
  private(set) var taps: [StreamTap] = []
  var isMetered = false { didSet { if isMetered != oldValue { onUse() } } }
  /// `true` if the sound can't be decoded: no new attempt is made before the next start.
  var isBroken = false

  private let loop: EventLoop
  private var lastNumber = 0
  private var isOpen = false

  init(_ loop: EventLoop) {
    self.loop = loop
    chain = SoundChain(loop: loop)
  }

  /// `true` if the sound is needed even without a player.
  var isUsed: Bool { !isBroken && (isMetered || !taps.isEmpty) }

  func setGain(_ decibels: Double) {
    gain = decibels
    chain.change { $0.gain = decibels }
  }

  func add(_ kind: StreamTap.Kind) -> StreamTap {
    lastNumber += 1
    let tap = StreamTap(lastNumber, kind, loop: loop) { [weak self] tap in self?.remove(tap) }
    tap.isOpen = isOpen
    taps.append(tap)
    let entry = tap.entry
    chain.change { $0.taps.append(entry) }
    onUse()
    return tap
  }

  private func remove(_ tap: StreamTap) {
    taps.removeAll { $0 === tap }
    let number = tap.number
    chain.change { $0.taps.removeAll { $0.number == number } }
    onUse()
  }

  /// Opens the taps, as the stream plays.
  func begin() {
    isOpen = true
    for tap in taps { tap.isOpen = true }
  }

  /// Closes the taps, as the stream has stopped: they receive nothing more until it starts again.
  func end() {
    (isBroken, isOpen) = (false, false)
    for tap in taps {
      tap.isOpen = false
      tap.end()
    }
  }
}

extension Stream {
  /// The gain in dB, for all sessions and starts.
  public var gain: Double { sound.gain }

  /// Sets the gain; audible behind the sound that is decoded already, over a ramp of 20 ms. A limiter keeps
  /// peaks below full scale.
  /// - Parameter decibels: the gain in `Decibels.gainRange`.
  public func setGain(_ decibels: Double) {
    precondition(
      Decibels.gainRange.contains(decibels), "a gain of \(decibels) dB is not in \(Decibels.gainRangeText)")
    sound.setGain(decibels)
    onChange(.gain(decibels))
  }

  /// `true` if its levels are measured even without a player.
  public var isMetered: Bool {
    get { sound.isMetered }
    set { sound.isMetered = newValue }
  }

  /// The levels of the sound that is heard now, over 50 ms; nil while there is none.
  public var levels: MeterReading? { heardLevels() }

  /// Sends the sound through a new tap, behind the existing ones. It is decoded even without a player.
  public func tap(_ kind: StreamTap.Kind) -> StreamTap { sound.add(kind) }
}
