/// Takes the fields of a payload from its front; integers are little-endian.
struct PayloadReader {
  /// What was not read yet.
  private(set) var rest: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { rest = bytes[...] }
  init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  /// The next `count` bytes.
  mutating func bytes(_ count: Int) throws(PayloadError) -> [UInt8] {
    guard count <= rest.count else { throw .short(needed: count, left: rest.count) }
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }

  /// Bytes behind their length, a byte.
  mutating func field() throws(PayloadError) -> [UInt8] { try bytes(Int(u8())) }

  /// All that is left.
  mutating func remaining() -> [UInt8] {
    defer { rest = [] }
    return Array(rest)
  }

  mutating func u8() throws(PayloadError) -> UInt8 { try integer() }
  mutating func u16() throws(PayloadError) -> UInt16 { try integer() }
  mutating func u32() throws(PayloadError) -> UInt32 { try integer() }
  mutating func u64() throws(PayloadError) -> UInt64 { try integer() }
  mutating func i8() throws(PayloadError) -> Int8 { try Int8(bitPattern: u8()) }

  /// A byte that is 0 or 1.
  mutating func bool() throws(PayloadError) -> Bool {
    switch try u8() {
    case 0: false
    case 1: true
    case let other: throw .value(Int(other))
    }
  }

  /// A byte that stands for a case of `Choice`.
  mutating func choice<Choice: RawRepresentable<UInt8>>() throws(PayloadError) -> Choice {
    let number = try u8()
    guard let choice = Choice(rawValue: number) else { throw .value(Int(number)) }
    return choice
  }

  /// UTF-8 behind its length in bytes.
  mutating func text() throws(PayloadError) -> String {
    guard let text = String(validating: try field(), as: UTF8.self) else { throw .text }
    return text
  }

  /// Signed bytes behind their number.
  mutating func i8s() throws(PayloadError) -> [Int8] { try field().map { Int8(bitPattern: $0) } }

  /// 32-bit integers behind their length in bytes.
  mutating func u32s() throws(PayloadError) -> [UInt32] {
    let field = try field()
    guard field.count % 4 == 0 else { throw .short(needed: 4, left: field.count % 4) }
    var (reader, numbers) = (PayloadReader(field), [UInt32]())
    while !reader.rest.isEmpty { numbers.append(try reader.u32()) }
    return numbers
  }

  /// Refuses what was not read.
  func end() throws(PayloadError) {
    if !rest.isEmpty { throw .leftover(rest.count) }
  }

  private mutating func integer<Number: FixedWidthInteger>() throws(PayloadError) -> Number {
    try bytes(Number.bitWidth / 8).reversed().reduce(0) { $0 << 8 | Number($1) }
  }
}
