internal import HeadsetLink

/// The contents of a small file of the board. On disk: "RTB", the file's letter, the fields, a CRC-32 of
/// these.
protocol BoardRecord: Equatable {
  static var file: BoardFile { get }
  init(from reader: inout PayloadReader) throws(PayloadError)
  func write(to writer: inout PayloadWriter) throws(PayloadError)
}

extension BoardRecord {
  private static var magic: [UInt8] { Array("RTB\(file.rawValue.prefix(1))".utf8) }

  /// The file's bytes.
  func bytes() throws(BoardStoreError) -> [UInt8] {
    var writer = PayloadWriter()
    writer.raw(Self.magic)
    do { try write(to: &writer) } catch { throw .failed("can't write \(Self.file): \(error.meaning)") }
    writer.u32(CRC32.of(writer.bytes[...]))
    return writer.bytes
  }

  /// Reads a record from the bytes of its file.
  /// - Throws: `failed` for damaged bytes.
  init(bytes: [UInt8]) throws(BoardStoreError) {
    guard let record = Self(reading: bytes) else {
      throw .failed("the file \(Self.file.rawValue) of the board's state is damaged, or of another program")
    }
    self = record
  }

  private init?(reading bytes: [UInt8]) {
    var reader = PayloadReader(bytes[..<max(0, bytes.count - 4)])
    var sum = PayloadReader(bytes.suffix(4))
    guard bytes.count <= longestRecord, let magic = try? reader.bytes(Self.magic.count), magic == Self.magic,
      (try? sum.u32()) == CRC32.of(bytes.dropLast(4)), let record = try? Self(from: &reader),
      reader.rest.isEmpty
    else { return nil }
    self = record
  }

  /// Reads the record of a store; nil when the store does not have it.
  static func read(_ store: SteppedStore) throws(BoardStoreError) -> Self? {
    guard let bytes = try store.read(file) else { return nil }
    return try Self(bytes: bytes)
  }

  /// Replaces the record of the store by this one.
  func save(_ store: SteppedStore) throws(BoardStoreError) { try store.replace(Self.file, bytes()) }
}

/// The most bytes of a record: more than two manifests.
let longestRecord = 4_096

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

/// The image to run, and the start counter of the board: one file, so that both change at once.
struct BootRecord: BoardRecord {
  static let file = BoardFile.boot
  /// The most starts of an image that is not confirmed.
  static let mostTrials: UInt8 = 3

  /// The image that was confirmed.
  var confirmed: BoardImage
  /// The image that is to be tried, or is being tried.
  var trial: BoardImage?
  /// The number of starts of the image on trial.
  var trials: UInt8 = 0
  /// The number of starts of the board.
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

  /// The image that runs: the one on trial only after its first start.
  var running: BoardImage { trials > 0 ? trial ?? confirmed : confirmed }

  /// Restores the confirmed image.
  mutating func giveUpTrial() { (trial, trials) = (nil, 0) }
}

/// The progress of a transfer: the bytes that are flushed to the flash.
struct TransferJournal: BoardRecord {
  static let file = BoardFile.journal

  /// The image that is transferred, and its slot; nil without a transfer.
  var image: BoardImage?
  /// The number of bytes in the flash: whole erase units, or the whole image.
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

/// The settings of the wearer and the host.
struct BoardSettings: BoardRecord {
  static let file = BoardFile.settings

  var isCancelling = false
  var left: UInt8 = 0
  var right: UInt8 = 0
  var preset: UInt8 = 0
  /// The equalizer values for each preset, for each band.
  var values: [[Int8]]
  var battery: Battery

  /// The settings of a profile, as they come from the factory.
  init(_ profile: BoardProfile) {
    values = profile.presets.map(\.values)
    battery = profile.battery
  }

  init(from reader: inout PayloadReader) throws(PayloadError) {
    isCancelling = try reader.bool()
    (left, right, preset) = try (reader.u8(), reader.u8(), reader.u8())
    battery = try Battery(from: &reader)
    values = []
    for _ in 0..<(try reader.u8()) { values.append(try reader.i8s()) }
  }

  func write(to writer: inout PayloadWriter) throws(PayloadError) {
    writer.bool(isCancelling)
    for value in [left, right, preset] { writer.u8(value) }
    try battery.write(to: &writer)
    writer.u8(UInt8(values.count))
    for value in values { try writer.i8s(value) }
  }

  /// `true` if a board of this profile can have these settings: the folder may be that of another board.
  func fit(_ profile: BoardProfile) -> Bool {
    values.map(\.count) == profile.presets.map(\.values.count) && Int(preset) < values.count
      && values.joined().allSatisfy { (profile.lowest...profile.highest).contains($0) }
      && left <= profile.ambientLimits.left && right <= profile.ambientLimits.right
  }

  subscript(_ side: Side) -> UInt8 {
    get { side == .left ? left : right }
    set { if side == .left { left = newValue } else { right = newValue } }
  }

  /// The values of the selected preset.
  var equalizer: EqualizerValues { EqualizerValues(preset: preset, values: values[Int(preset)]) }
}
