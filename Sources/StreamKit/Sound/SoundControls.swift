public import AudioCore
internal import EventLoop

/// What is done to a stream's sound, as the loop says it. Outlives that the stream is stopped.
final class SoundControls {
  let chain: SoundChain
  /// Called when `isUsed` may have changed.
  var onUse: () -> Void = {}
  private(set) var gain = 0.0
  private(set) var taps: [StreamTap] = []
  var isMetered = false { didSet { if isMetered != oldValue { onUse() } } }
  /// What comes can't be decoded: it is not tried again before the next start.
  var isBroken = false

  private let loop: EventLoop
  private var lastNumber = 0
  private var isOpen = false

  init(_ loop: EventLoop) {
    self.loop = loop
    chain = SoundChain(loop: loop)
  }

  /// Whether the sound is wanted though nobody plays it.
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

  /// The stream plays.
  func begin() {
    isOpen = true
    for tap in taps { tap.isOpen = true }
  }

  /// The stream has stopped: the taps get nothing more until it starts again.
  func end() {
    (isBroken, isOpen) = (false, false)
    for tap in taps {
      tap.isOpen = false
      tap.end()
    }
  }
}

extension Stream {
  /// Gains that there are, in dB.
  public static let gainRange = -90.0...12.0

  /// What its sound is amplified by, in dB, over all sessions and starts.
  public var gain: Double { sound.gain }

  /// Sets the gain; heard as soon as what was decoded ahead has been, over a ramp of 20 ms. A limiter keeps what
  /// exceeds full scale below it.
  /// - Parameter decibels: in `gainRange`.
  public func setGain(_ decibels: Double) {
    precondition(Self.gainRange.contains(decibels), "a gain of \(decibels) dB is not in -90...12")
    sound.setGain(decibels)
  }

  /// Whether its levels are measured also when nobody plays it.
  public var isMetered: Bool {
    get { sound.isMetered }
    set { sound.isMetered = newValue }
  }

  /// How loud what is heard now is, over 50 ms; nil while nothing is.
  public var levels: MeterReading? { heardLevels() }

  /// Sends its sound through a tap, behind those that there are. It is decoded also when nobody plays it.
  public func tap(_ kind: StreamTap.Kind) -> StreamTap { sound.add(kind) }
}
