/// A part of the flash that holds an image; there are two.
enum BoardSlot: UInt8, CaseIterable, Sendable {
  case a = 0
  case b = 1

  var other: BoardSlot { self == .a ? .b : .a }
}

/// The small files of a board.
enum BoardFile: String, CaseIterable, Sendable {
  /// The settings of the wearer and the host.
  case settings
  /// The image to run, and the start counter of the board.
  case boot
  /// The progress of a transfer.
  case journal
}

/// A failure of a store.
enum BoardStoreError: Error, Equatable {
  /// The power is lost: nothing is done any more.
  case powerLost
  /// The call that failed, and its reason.
  case failed(String)
}

/// Storage that survives a loss of power: a disk, or memory in its place. Each call that changes something is
/// done completely or, if the power is lost meanwhile, not at all; `SteppedStore` combines them into larger
/// changes.
protocol BoardStore: AnyObject {
  /// Returns the last published version of a small file; nil if it was never published.
  func read(_ file: BoardFile) throws(BoardStoreError) -> [UInt8]?
  /// Writes the next version of a small file beside the present one.
  func stage(_ file: BoardFile, _ bytes: [UInt8]) throws(BoardStoreError)
  /// Replaces the file by its next version, at once and durably.
  func publish(_ file: BoardFile) throws(BoardStoreError)

  /// Returns bytes of a slot; bytes that were never written read as erased.
  func read(_ slot: BoardSlot, _ range: Range<Int>) throws(BoardStoreError) -> [UInt8]
  /// Writes bytes of a slot. A loss of power may revert them until they are flushed.
  func write(_ slot: BoardSlot, at offset: Int, _ bytes: ArraySlice<UInt8>) throws(BoardStoreError)
  /// Makes all written bytes of a slot durable.
  func flush(_ slot: BoardSlot) throws(BoardStoreError)

  /// Simulates a loss of power.
  func losePower()
}

/// A byte of erased flash.
let erasedByte: UInt8 = 0xFF

/// A store that lasts as long as the process. Its owner can start a board from it again.
final class MemoryStore: BoardStore {
  /// `true` if writes that were not flushed survive a loss of power: flash may do either.
  var keepsUnflushed = false

  private var files: [BoardFile: [UInt8]] = [:]
  private var staged: [BoardFile: [UInt8]] = [:]
  private var slots: [BoardSlot: [UInt8]] = [:]
  private var flushed: [BoardSlot: [UInt8]] = [:]

  func read(_ file: BoardFile) -> [UInt8]? { files[file] }
  func stage(_ file: BoardFile, _ bytes: [UInt8]) { staged[file] = bytes }

  func publish(_ file: BoardFile) {
    if let bytes = staged.removeValue(forKey: file) { files[file] = bytes }
  }

  func read(_ slot: BoardSlot, _ range: Range<Int>) -> [UInt8] {
    let bytes = slots[slot, default: []]
    let there = bytes[min(range.lowerBound, bytes.count)..<min(range.upperBound, bytes.count)]
    return there + [UInt8](repeating: erasedByte, count: range.count - there.count)
  }

  func write(_ slot: BoardSlot, at offset: Int, _ bytes: ArraySlice<UInt8>) {
    let end = offset + bytes.count
    let missing = max(0, end - slots[slot, default: []].count)
    slots[slot, default: []] += [UInt8](repeating: erasedByte, count: missing)
    slots[slot]?.replaceSubrange(offset..<end, with: bytes)
  }

  func flush(_ slot: BoardSlot) { flushed[slot] = slots[slot] }

  func losePower() {
    staged = [:]
    if !keepsUnflushed { slots = flushed }
  }
}
