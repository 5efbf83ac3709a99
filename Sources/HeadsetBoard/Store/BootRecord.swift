internal import HeadsetLink

/// An image in a slot.
struct BoardImage: Equatable {
  let slot: BoardSlot
  let manifest: FirmwareManifest

  init(_ slot: BoardSlot, _ manifest: FirmwareManifest) { (self.slot, self.manifest) = (slot, manifest) }

  init(from reader: inout PayloadReader) throws(PayloadError) {
    slot = try reader.choice()
    let bytes = try reader.bytes(Int(reader.u16()))
    guard let manifest = try? FirmwareManifest(parsing: bytes) else { throw .value(bytes.count) }
    self.manifest = manifest
  }

  func write(to writer: inout PayloadWriter) {
    writer.choice(slot)
    let bytes = manifest.bytes
    writer.u16(UInt16(bytes.count))
    writer.raw(bytes)
  }
}

/// Which image is run, and how often the board was started: one file, so that both change at once.
struct BootRecord: BoardRecord {
  static let file = BoardFile.boot
  /// So often an image that is not confirmed is started.
  static let mostTrials: UInt8 = 3

  /// The image that was confirmed.
  var confirmed: BoardImage
  /// The image that is to be tried, or is.
  var trial: BoardImage?
  /// How often that was started.
  var trials: UInt8 = 0
  /// How often the board was.
  var boots: UInt32 = 0

  init(confirmed: BoardImage) { self.confirmed = confirmed }

  init(from reader: inout PayloadReader) throws(PayloadError) {
    (boots, trials) = try (reader.u32(), reader.u8())
    confirmed = try BoardImage(from: &reader)
    trial = try reader.bool() ? BoardImage(from: &reader) : nil
  }

  func write(to writer: inout PayloadWriter) {
    writer.u32(boots)
    writer.u8(trials)
    confirmed.write(to: &writer)
    writer.bool(trial != nil)
    trial?.write(to: &writer)
  }

  /// What is run: an image on trial only once it was started.
  var running: BoardImage { trials > 0 ? trial ?? confirmed : confirmed }

  /// Goes back to the image that was confirmed.
  mutating func giveUpTrial() { (trial, trials) = (nil, 0) }
}

/// How far a transfer has come: what is flushed to the flash for good.
struct TransferJournal: BoardRecord {
  static let file = BoardFile.journal

  /// What is transferred, and where to; nil when nothing is.
  var image: BoardImage?
  /// Bytes that are in the flash: whole erase units, or the whole image.
  var offset: UInt32 = 0
  /// The CRC-32 of those bytes.
  var checksum: UInt32 = 0

  init(_ image: BoardImage? = nil, offset: UInt32 = 0, checksum: UInt32 = 0) {
    (self.image, self.offset, self.checksum) = (image, offset, checksum)
  }

  init(from reader: inout PayloadReader) throws(PayloadError) {
    image = try reader.bool() ? BoardImage(from: &reader) : nil
    (offset, checksum) = try (reader.u32(), reader.u32())
  }

  func write(to writer: inout PayloadWriter) {
    writer.bool(image != nil)
    image?.write(to: &writer)
    writer.u32(offset)
    writer.u32(checksum)
  }
}
