internal import HeadsetLink

/// A slot of the flash, which holds an image.
struct BoardFlash {
  /// The most bytes that are read at once.
  private static let block = 64 << 10

  private let store: SteppedStore
  private let slot: BoardSlot

  init(_ store: SteppedStore, _ slot: BoardSlot) { (self.store, self.slot) = (store, slot) }

  /// Writes a whole image, and flushes it.
  func fill(_ image: [UInt8]) throws(BoardStoreError) {
    try write(image[...], at: 0)
    try store.flush(slot)
  }

  /// Writes bytes, and erases each unit before its first byte is written.
  func write(_ bytes: ArraySlice<UInt8>, at offset: Int) throws(BoardStoreError) {
    var (rest, offset) = (bytes, offset)
    while !rest.isEmpty {
      let (unit, position) = offset.quotientAndRemainder(dividingBy: SteppedStore.eraseUnit)
      if position == 0 { try store.erase(slot, unit: unit) }
      let piece = rest.prefix(SteppedStore.eraseUnit - position)
      try store.write(slot, at: offset, piece)
      (rest, offset) = (rest.dropFirst(piece.count), offset + piece.count)
    }
  }

  func flush() throws(BoardStoreError) { try store.flush(slot) }

  func read(_ range: Range<Int>) throws(BoardStoreError) -> [UInt8] { try store.read(slot, range) }

  /// The SHA-256 of the first `count` bytes.
  func hash(of count: Int) throws(BoardStoreError) -> [UInt8] {
    let sum = SHA256()
    try eachBlock(of: count) { sum.update($0) }
    return sum.finish()
  }

  /// The CRC-32 of the first `count` bytes, to which more bytes can be added.
  func checksum(of count: Int) throws(BoardStoreError) -> CRC32 {
    var sum = CRC32()
    try eachBlock(of: count) { sum.add($0) }
    return sum
  }

  private func eachBlock(of count: Int, _ body: (ArraySlice<UInt8>) -> Void) throws(BoardStoreError) {
    for start in stride(from: 0, to: count, by: Self.block) {
      body(try read(start..<min(start + Self.block, count))[...])
    }
  }
}

/// A transfer that is under way, in the memory of the running board.
struct BoardTransfer {
  let id: UInt32
  let image: BoardImage
  /// The number of bytes of the image in the flash.
  var next: Int
  /// The checksum of those bytes.
  var checksum: CRC32
  var state: TransferStatus.State

  /// The number of bytes of the whole image.
  var size: Int { image.manifest.imageSize }

  var status: TransferStatus {
    TransferStatus(state: state, nextOffset: UInt32(next), prefixChecksum: checksum.value)
  }

  /// The journal entry for this state.
  var journal: TransferJournal {
    TransferJournal(image, offset: UInt32(next), checksum: checksum.value)
  }
}
