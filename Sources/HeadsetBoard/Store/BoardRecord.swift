internal import HeadsetLink

/// What a small file of the board holds. On disk: "RTB", the file's letter, the fields, a CRC-32 of all that.
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

  /// - Throws: when the bytes are not what was written.
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

  /// What the store has; nil when it has nothing.
  static func read(_ store: SteppedStore) throws(BoardStoreError) -> Self? {
    guard let bytes = try store.read(file) else { return nil }
    return try Self(bytes: bytes)
  }

  /// Makes this the one that the store has.
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

/// What the wearer and the host have set.
struct BoardSettings: BoardRecord {
  static let file = BoardFile.settings

  var isCancelling = false
  var left: UInt8 = 0
  var right: UInt8 = 0
  var preset: UInt8 = 0
  /// For each preset, for each band.
  var values: [[Int8]]
  var battery: Battery

  /// As a board comes from the factory.
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

  /// Whether a board of this profile can have them: the folder may have been another one's.
  func fit(_ profile: BoardProfile) -> Bool {
    values.map(\.count) == profile.presets.map(\.values.count) && Int(preset) < values.count
      && values.joined().allSatisfy { (profile.lowest...profile.highest).contains($0) }
      && left <= profile.ambientLimits.left && right <= profile.ambientLimits.right
  }

  subscript(_ side: Side) -> UInt8 {
    get { side == .left ? left : right }
    set { if side == .left { left = newValue } else { right = newValue } }
  }

  /// What sounds.
  var equalizer: EqualizerValues { EqualizerValues(preset: preset, values: values[Int(preset)]) }
}
