public import AudioCore
internal import EventLoop

/// The gain, the taps and the meter of a stream, as set on the loop. Kept while the stream is stopped.
final class SoundControls {
  let chain: SoundChain
  private(set) var gain = 0.0
  /// The taps; they are removed by their numbers in the stream.
  private var taps = Listeners<StreamTap>()
  var isMetered = false { didSet { if isMetered != oldValue { useChanged() } } }
  /// `true` if the sound can't be decoded: no new attempt is made before the next start.
  var isBroken = false

  private let loop: EventLoop
  private var isOpen = false
  private var useListeners = Listeners<() -> Void>()

  init(_ loop: EventLoop) {
    self.loop = loop
    chain = SoundChain(loop: loop)
  }

  /// `true` if the sound is needed even without a player.
  var isUsed: Bool { !isBroken && (isMetered || taps.count > 0) }

  /// Calls `listener` when `isUsed` may have changed.
  func onUse(_ listener: @escaping () -> Void) { _ = useListeners.add(listener) }

  private func useChanged() { for listener in useListeners.all { listener() } }

  func setGain(_ decibels: Double) {
    gain = decibels
    chain.change { $0.gain = decibels }
  }

  func add(_ kind: StreamTap.Kind) -> StreamTap {
    let tap = StreamTap(taps.lastNumber + 1, kind, loop: loop) { [weak self] tap in self?.remove(tap) }
    tap.isOpen = isOpen
    _ = taps.add(tap)
    let entry = tap.entry
    chain.change { _ = $0.taps.add(entry) }
    useChanged()
    return tap
  }

  private func remove(_ tap: StreamTap) {
    let number = tap.number
    taps.remove(number)
    chain.change { $0.taps.remove(number) }
    useChanged()
  }

  /// Opens the taps, as the stream plays.
  func begin() {
    isOpen = true
    for tap in taps.all { tap.isOpen = true }
  }

  /// Closes the taps, as the stream has stopped: they receive no sound until it starts again.
  func end() {
    (isBroken, isOpen) = (false, false)
    for tap in taps.all {
      tap.isOpen = false
      tap.end()
    }
  }
}

extension Stream {
  /// The gain in dB, for all sessions and starts.
  public var gain: Double { sound.gain }

  /// Sets the gain; audible after the sound that is decoded already, over a ramp of 20 ms. A limiter keeps
  /// peaks below full scale.
  /// - Parameter decibels: the gain in `Decibels.gainRange`.
  public func setGain(_ decibels: Double) {
    precondition(
      Decibels.gainRange.contains(decibels), "a gain of \(decibels) dB is not in \(Decibels.gainRangeText)")
    sound.setGain(decibels)
    emit(.gain(decibels))
  }

  /// `true` if the levels of the stream are measured even without a player.
  public var isMetered: Bool {
    get { sound.isMetered }
    set { sound.isMetered = newValue }
  }

  /// The levels of the sound being heard, over 50 ms; nil while there is no sound.
  public var levels: MeterReading? { heardLevels() }

  /// Sends the sound through a new tap, after the existing ones. It is decoded even without a player.
  public func tap(_ kind: StreamTap.Kind) -> StreamTap { sound.add(kind) }
}
