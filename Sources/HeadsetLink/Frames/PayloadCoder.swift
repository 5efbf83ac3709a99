/// A direction in which messages are coded: `PayloadReader` sets their fields from the start of its bytes,
/// `PayloadWriter` appends the fields to its bytes. Integers are little-endian.
///
/// A message names its fields once, in `LinkMessage.code`; reading and writing can't differ.
package protocol PayloadCoder {
  mutating func u8(_ value: inout UInt8) throws(PayloadError)
  mutating func u16(_ value: inout UInt16) throws(PayloadError)
  mutating func u32(_ value: inout UInt32) throws(PayloadError)
  mutating func u64(_ value: inout UInt64) throws(PayloadError)
  /// Bytes after their length, which has one byte: 255 at most.
  mutating func field(_ value: inout [UInt8]) throws(PayloadError)
  /// The last field of a payload: all bytes up to its end.
  mutating func remainder(_ value: inout [UInt8]) throws(PayloadError)
}

extension PayloadCoder {
  mutating func i8(_ value: inout Int8) throws(PayloadError) {
    var bits = UInt8(bitPattern: value)
    try u8(&bits)
    value = Int8(bitPattern: bits)
  }

  /// A byte that is 0 or 1.
  package mutating func bool(_ value: inout Bool) throws(PayloadError) {
    var number: UInt8 = value ? 1 : 0
    try u8(&number)
    guard number <= 1 else { throw .value(Int(number)) }
    value = number == 1
  }

  /// A byte that stands for a case of `Choice`.
  package mutating func choice<Choice: RawRepresentable<UInt8>>(_ value: inout Choice) throws(PayloadError) {
    var number = value.rawValue
    try u8(&number)
    guard let choice = Choice(rawValue: number) else { throw .value(Int(number)) }
    value = choice
  }

  /// UTF-8 after its length in bytes: 255 at most.
  package mutating func text(_ value: inout String) throws(PayloadError) {
    var bytes = Array(value.utf8)
    try field(&bytes)
    guard let text = String(validating: bytes, as: UTF8.self) else { throw .text }
    value = text
  }

  /// Signed bytes after their number: 255 at most.
  package mutating func i8s(_ values: inout [Int8]) throws(PayloadError) {
    var bytes = values.map { UInt8(bitPattern: $0) }
    try field(&bytes)
    values = bytes.map { Int8(bitPattern: $0) }
  }

  /// 32-bit integers after their length in bytes: 63 at most.
  mutating func u32s(_ values: inout [UInt32]) throws(PayloadError) {
    var bytes = values.flatMap { value in (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }
    try field(&bytes)
    guard bytes.count % 4 == 0 else { throw .short(needed: 4, left: bytes.count % 4) }
    values = stride(from: 0, to: bytes.count, by: 4).map { start in
      bytes[start..<(start + 4)].reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }
  }
}

/// Reads the fields of a payload from its start.
package struct PayloadReader: PayloadCoder {
  /// The bytes that are not read yet.
  package private(set) var rest: ArraySlice<UInt8>

  package init(_ bytes: [UInt8]) { rest = bytes[...] }
  package init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  package mutating func u8(_ value: inout UInt8) throws(PayloadError) { value = try u8() }
  package mutating func u16(_ value: inout UInt16) throws(PayloadError) { value = try u16() }
  package mutating func u32(_ value: inout UInt32) throws(PayloadError) { value = try u32() }
  package mutating func u64(_ value: inout UInt64) throws(PayloadError) { value = try integer() }
  package mutating func field(_ value: inout [UInt8]) throws(PayloadError) { value = try bytes(Int(u8())) }

  package mutating func remainder(_ value: inout [UInt8]) {
    value = Array(rest)
    rest = []
  }

  /// Throws `leftover` unless all bytes are read.
  package func end() throws(PayloadError) {
    if !rest.isEmpty { throw .leftover(rest.count) }
  }
}

// Fields of frames and files, which are read as values.
extension PayloadReader {
  package mutating func u8() throws(PayloadError) -> UInt8 { try integer() }
  package mutating func u16() throws(PayloadError) -> UInt16 { try integer() }
  package mutating func u32() throws(PayloadError) -> UInt32 { try integer() }

  package mutating func bool() throws(PayloadError) -> Bool {
    var value = false
    try bool(&value)
    return value
  }

  package mutating func choice<Choice: RawRepresentable<UInt8>>() throws(PayloadError) -> Choice {
    let number = try u8()
    guard let choice = Choice(rawValue: number) else { throw .value(Int(number)) }
    return choice
  }

  package mutating func text() throws(PayloadError) -> String {
    var value = ""
    try text(&value)
    return value
  }

  package mutating func i8s() throws(PayloadError) -> [Int8] {
    var values: [Int8] = []
    try i8s(&values)
    return values
  }

  /// The next `count` bytes.
  package mutating func bytes(_ count: Int) throws(PayloadError) -> [UInt8] {
    guard count <= rest.count else { throw .short(needed: count, left: rest.count) }
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }

  private mutating func integer<Number: FixedWidthInteger>() throws(PayloadError) -> Number {
    try bytes(Number.bitWidth / 8).reversed().reduce(0) { $0 << 8 | Number($1) }
  }
}

/// Appends the fields of a payload, in order.
package struct PayloadWriter: PayloadCoder {
  /// The bytes that are written.
  package private(set) var bytes: [UInt8] = []

  package init() {}

  package mutating func u8(_ value: inout UInt8) { u8(value) }
  package mutating func u16(_ value: inout UInt16) { integer(value) }
  package mutating func u32(_ value: inout UInt32) { integer(value) }
  package mutating func u64(_ value: inout UInt64) { integer(value) }
  package mutating func remainder(_ value: inout [UInt8]) { raw(value) }

  /// Throws `long` for more than 255 bytes.
  package mutating func field(_ value: inout [UInt8]) throws(PayloadError) {
    guard let count = UInt8(exactly: value.count) else { throw .long(value.count, limit: 255) }
    u8(count)
    raw(value)
  }
}

// Fields of frames and files, which are written from values.
extension PayloadWriter {
  package mutating func u8(_ value: UInt8) { bytes.append(value) }
  package mutating func u16(_ value: UInt16) { integer(value) }
  package mutating func u32(_ value: UInt32) { integer(value) }
  package mutating func bool(_ value: Bool) { u8(value ? 1 : 0) }
  package mutating func choice(_ value: some RawRepresentable<UInt8>) { u8(value.rawValue) }

  package mutating func i8s(_ values: [Int8]) throws(PayloadError) {
    var values = values
    try i8s(&values)
  }

  /// Bytes without their length: a field whose length is fixed.
  package mutating func raw(_ value: [UInt8]) { bytes += value }

  private mutating func integer(_ value: some FixedWidthInteger) {
    withUnsafeBytes(of: value.littleEndian) { bytes += $0 }
  }
}

/// The reason for which a payload can't be read or written.
package enum PayloadError: Error, Equatable {
  /// The fields need more bytes than are left.
  case short(needed: Int, left: Int)
  /// Bytes follow the last field.
  case leftover(Int)
  /// A field or the payload is longer than its limit.
  case long(Int, limit: Int)
  /// A field has a value that means nothing.
  case value(Int)
  /// A text is not UTF-8.
  case text

  /// The error in words, for messages.
  package var meaning: String {
    switch self {
    case .short(let needed, let left): "\(needed) bytes are needed and \(left) are left"
    case .leftover(let count): "\(count) bytes are left over"
    case .long(let count, let limit): "\(count) bytes are more than \(limit)"
    case .value(let value): "the value \(value) means nothing"
    case .text: "a text is not UTF-8"
    }
  }
}
