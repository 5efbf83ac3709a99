internal import EventLoop
internal import HeadsetLink

/// A channel with random faults of frames in both directions. Confined to a loop.
final class FaultyChannel: LinkChannel {
  /// The longest time that a frame waits for the one that it is merged with.
  private static let mergeTime = Duration.milliseconds(20)
  /// The time between the pieces of a split frame.
  private static let pieceTime = Duration.milliseconds(1)

  private var receiver = LinkReceiver()
  private let base: any LinkChannel
  private let dice: FaultDice
  private let loop: EventLoop
  private var isOpen = true
  private var incoming = Direction()
  private var outgoing = Direction()
  /// Received bytes of an unfinished frame.
  private var begun: [UInt8] = []

  /// The state of one direction.
  private struct Direction {
    /// The moment at which the last delayed frame is due.
    var due = Instant.start
    /// The frames that wait to be merged with the next one.
    var held: [UInt8] = []
  }

  init(_ base: any LinkChannel, _ dice: FaultDice, loop: EventLoop) {
    (self.base, self.dice, self.loop) = (base, dice, loop)
    base.deliver(
      to: LinkReceiver(bytes: { [unowned self] in receive($0) }, end: { [unowned self] in end($0) }))
  }

  deinit { base.close() }

  func deliver(to receiver: LinkReceiver) { self.receiver = receiver }

  func send(_ bytes: [UInt8]) {
    if isOpen { pass(bytes, \.outgoing) }
  }

  func close() {
    (isOpen, receiver) = (false, LinkReceiver())
    base.close()
  }

  /// Cuts received bytes into frames; bytes that are too long for a frame are passed on unchanged.
  private func receive(_ bytes: ArraySlice<UInt8>) {
    for byte in bytes {
      begun.append(byte)
      guard byte == 0 || begun.count > LinkReader.longest else { continue }
      let frame = begun
      begun = []
      pass(frame, \.incoming)
    }
  }

  /// Passes a frame on, with its faults.
  private func pass(_ frame: [UInt8], _ way: ReferenceWritableKeyPath<FaultyChannel, Direction>) {
    let faults = dice.faults
    if dice.falls(faults.drop) { return }
    var bytes = frame
    if dice.falls(faults.corrupt) {
      bytes[dice.number(0..<bytes.count)] ^= 1 << UInt8(dice.number(0..<8))
    }
    if dice.falls(faults.duplicate) { bytes += bytes }
    let delay = dice.falls(faults.delay) ? faults.delayTime : .zero
    if dice.falls(faults.merge) {
      self[keyPath: way].held += bytes
      loop.after(Self.mergeTime) { [weak self] in self?.release(way) }
    } else {
      bytes = self[keyPath: way].held + bytes
      self[keyPath: way].held = []
      deliver(bytes, after: delay, way)
    }
    if dice.falls(faults.disconnect) { later(.zero, way) { $0.cut() } }
  }

  /// Sends frames that were held for a merge, if no other frame has come.
  private func release(_ way: ReferenceWritableKeyPath<FaultyChannel, Direction>) {
    let bytes = self[keyPath: way].held
    self[keyPath: way].held = []
    if !bytes.isEmpty { deliver(bytes, after: .zero, way) }
  }

  private func deliver(
    _ bytes: [UInt8], after delay: Duration, _ way: ReferenceWritableKeyPath<FaultyChannel, Direction>
  ) {
    guard bytes.count > 1, dice.falls(dice.faults.split) else {
      return later(delay, way) { $0.arrive(bytes[...], way) }
    }
    let border = dice.number(1..<bytes.count)
    later(delay, way) { $0.arrive(bytes[..<border], way) }
    later(Self.pieceTime, way) { $0.arrive(bytes[border...], way) }
  }

  /// Calls `body` after `delay`, but never before earlier calls of this direction.
  private func later(
    _ delay: Duration, _ way: ReferenceWritableKeyPath<FaultyChannel, Direction>,
    _ body: @escaping (FaultyChannel) -> Void
  ) {
    let now = loop.now
    if delay == .zero, self[keyPath: way].due < now { return body(self) }
    let due = max(self[keyPath: way].due, now).advanced(by: delay)
    self[keyPath: way].due = due
    loop.at(due) { [weak self] in
      if let self, isOpen { body(self) }
    }
  }

  /// Delivers bytes at the end of their way. The link may end in the middle of them.
  private func arrive(
    _ bytes: ArraySlice<UInt8>, _ way: ReferenceWritableKeyPath<FaultyChannel, Direction>
  ) {
    guard isOpen else { return }
    var (bytes, isCut) = (bytes, false)
    if let end = dice.faults.disconnectAt {
      isCut = dice.bytes < end && dice.bytes + bytes.count >= end
      if isCut { bytes = bytes.prefix(end - dice.bytes) }
    }
    dice.bytes += bytes.count
    if way == \.outgoing { base.send(Array(bytes)) } else { receiver.bytes(bytes) }
    if isCut { cut() }
  }

  /// Ends the link, and reports that in a turn of its own.
  private func cut() {
    isOpen = false
    base.close()
    loop.next { [weak self] in self?.end(.failed("a fault ended it")) }
  }

  private func end(_ end: LinkEnd) {
    let receiver = receiver
    close()
    receiver.end(end)
  }
}

/// The random source that decides about faults: the same for the same seed. Confined to a loop.
final class FaultDice: RandomNumberGenerator {
  let faults: BoardFaults
  /// The number of bytes so far, in both directions.
  var bytes = 0
  private var random: SeededRandom

  init(_ faults: BoardFaults) { (self.faults, random) = (faults, SeededRandom(seed: faults.seed)) }

  /// Returns the next number of the sequence.
  func next() -> UInt64 { random.next() }

  /// Returns `true` with this probability. A probability of 0 draws no number.
  func falls(_ probability: Double) -> Bool {
    probability > 0 && Double(next() >> 11) * 0x1p-53 < probability
  }

  /// Returns a random number in a range.
  func number(_ range: Range<Int>) -> Int { range.lowerBound + Int(next() % UInt64(range.count)) }
}
