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
