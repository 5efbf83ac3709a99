/// Puts the fields of a payload one behind the other; integers are little-endian.
struct PayloadWriter {
  /// What was written.
  private(set) var bytes: [UInt8] = []

  mutating func u8(_ value: UInt8) { bytes.append(value) }
  mutating func u16(_ value: UInt16) { integer(value) }
  mutating func u32(_ value: UInt32) { integer(value) }
  mutating func u64(_ value: UInt64) { integer(value) }
  mutating func i8(_ value: Int8) { u8(UInt8(bitPattern: value)) }
  mutating func bool(_ value: Bool) { u8(value ? 1 : 0) }
  mutating func choice(_ value: some RawRepresentable<UInt8>) { u8(value.rawValue) }

  /// Bytes without their length: the last field of a payload, or one whose length is fixed.
  mutating func raw(_ value: [UInt8]) { bytes += value }

  /// Bytes behind their length, a byte: 255 at most.
  mutating func field(_ value: [UInt8]) throws(PayloadError) {
    guard let count = UInt8(exactly: value.count) else { throw .long(value.count, limit: 255) }
    u8(count)
    raw(value)
  }

  /// UTF-8 behind its length in bytes.
  mutating func text(_ value: String) throws(PayloadError) { try field(Array(value.utf8)) }

  /// Signed bytes behind their number.
  mutating func i8s(_ values: [Int8]) throws(PayloadError) {
    try field(values.map { UInt8(bitPattern: $0) })
  }

  /// 32-bit integers behind their length in bytes: 63 at most.
  mutating func u32s(_ values: [UInt32]) throws(PayloadError) {
    var numbers = PayloadWriter()
    for value in values { numbers.u32(value) }
    try field(numbers.bytes)
  }

  private mutating func integer(_ value: some FixedWidthInteger) {
    withUnsafeBytes(of: value.littleEndian) { bytes += $0 }
  }
}
