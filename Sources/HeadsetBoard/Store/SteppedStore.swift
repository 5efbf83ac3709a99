internal import EventLoop

/// A board's store as the board uses it: every change is a row of counted steps, and the power can be lost before any
/// of them. Confined to the board's loop.
final class SteppedStore {
  /// The number of bytes that are erased at once.
  static let eraseUnit = 4_096

  /// The point at which the power is lost.
  struct Death: Equatable, Sendable {
    /// The step before which the power is lost, from 1.
    var step: Int?
    /// The entry of the journal before which the power is lost, from 1, when its flash is written.
    var journalEntry: Int?
  }

  /// The number of steps that have begun.
  private(set) var steps = 0
  /// `true` once the power is lost.
  private(set) var isDead = false

  private let store: any BoardStore
  private let death: Death
  private var mourners = Listeners<() -> Void>()
  private var journalEntries = 0

  init(_ store: any BoardStore, dying death: Death = Death()) { (self.store, self.death) = (store, death) }

  /// Calls `body` at once when the power is lost.
  func onDeath(_ body: @escaping () -> Void) { _ = mourners.add(body) }

  func read(_ file: BoardFile) throws(BoardStoreError) -> [UInt8]? {
    try living()
    return try store.read(file)
  }

  func read(_ slot: BoardSlot, _ range: Range<Int>) throws(BoardStoreError) -> [UInt8] {
    try living()
    return try store.read(slot, range)
  }

  /// Replaces the contents of a small file: after a loss of power it has the old or the new contents.
  func replace(_ file: BoardFile, _ bytes: [UInt8]) throws(BoardStoreError) {
    if file == .journal {
      journalEntries += 1
      if journalEntries == death.journalEntry { die() }
    }
    try step()
    try store.stage(file, bytes)
    try step()
    try store.publish(file)
  }

  /// Erases a unit: all its bits become ones.
  func erase(_ slot: BoardSlot, unit: Int) throws(BoardStoreError) {
    let ones = [UInt8](repeating: erasedByte, count: Self.eraseUnit)
    try writeInHalves(slot, at: unit * Self.eraseUnit, ones[...])
  }

  /// Writes bytes as flash does: bits only change from one to zero.
  func write(_ slot: BoardSlot, at offset: Int, _ bytes: ArraySlice<UInt8>) throws(BoardStoreError) {
    let before = try read(slot, offset..<(offset + bytes.count))
    var after = Array(bytes)
    for index in after.indices { after[index] &= before[index] }
    try writeInHalves(slot, at: offset, after[...])
  }

  func flush(_ slot: BoardSlot) throws(BoardStoreError) {
    try step()
    try store.flush(slot)
  }

  /// Writes bytes in two steps, so that the power may be lost in the middle.
  private func writeInHalves(_ slot: BoardSlot, at offset: Int, _ bytes: ArraySlice<UInt8>)
    throws(BoardStoreError)
  {
    let half = bytes.count / 2
    try step()
    try store.write(slot, at: offset, bytes.prefix(half))
    try step()
    try store.write(slot, at: offset + half, bytes.dropFirst(half))
  }

  private func step() throws(BoardStoreError) {
    try living()
    steps += 1
    if steps == death.step { die() }
    try living()
  }

  private func living() throws(BoardStoreError) {
    if isDead { throw .powerLost }
  }

  private func die() {
    guard !isDead else { return }
    isDead = true
    store.losePower()
    for mourner in mourners.all { mourner() }
  }
}
