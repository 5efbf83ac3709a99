/// One of the two places of the flash that hold an image.
enum BoardSlot: UInt8, CaseIterable, Sendable {
  case a = 0
  case b = 1

  var other: BoardSlot { self == .a ? .b : .a }
}

/// The small files of a board.
enum BoardFile: String, CaseIterable, Sendable {
  /// What the wearer and the host have set.
  case settings
  /// Which image is run, and how often the board was started.
  case boot
  /// How far a transfer has come.
  case journal
}

/// Why a store does not do what it should.
enum BoardStoreError: Error, Equatable {
  /// The power is lost: nothing is done any more.
  case powerLost
  /// What failed, and why.
  case failed(String)
}

/// What outlives a loss of power: a disk, or memory in its place. Each call that changes something either is done
/// whole or, where the power is lost meanwhile, not at all; `SteppedStore` makes bigger things of them.
protocol BoardStore: AnyObject {
  /// A small file as it was published last; nil when it never was.
  func read(_ file: BoardFile) throws(BoardStoreError) -> [UInt8]?
  /// Writes the next version of a small file beside it.
  func stage(_ file: BoardFile, _ bytes: [UInt8]) throws(BoardStoreError)
  /// Puts the next version into the file's place, at once and for good.
  func publish(_ file: BoardFile) throws(BoardStoreError)

  /// Bytes of a slot; what was never written reads as erased.
  func read(_ slot: BoardSlot, _ range: Range<Int>) throws(BoardStoreError) -> [UInt8]
  /// Writes bytes of a slot. A loss of power may take them back until they are flushed.
  func write(_ slot: BoardSlot, at offset: Int, _ bytes: ArraySlice<UInt8>) throws(BoardStoreError)
  /// Makes all that was written to a slot last.
  func flush(_ slot: BoardSlot) throws(BoardStoreError)

  /// The power is lost.
  func losePower()
}

/// What every bit of erased flash is.
let erasedByte: UInt8 = 0xFF

/// A store that lasts as long as the process. Whoever keeps it can start a board from it again.
final class MemoryStore: BoardStore {
  /// Whether writes that were not flushed are there after a loss of power: flash may do either.
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
