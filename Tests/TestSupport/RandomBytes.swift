public import EventLoop

extension SeededRandom {
  /// Up to `limit` random bytes.
  public mutating func someBytes(upTo limit: Int) -> [UInt8] {
    bytes(Int.random(in: 0...limit, using: &self))
  }

  /// Any number of its type.
  public mutating func number<Number: FixedWidthInteger>() -> Number { Number(truncatingIfNeeded: next()) }

  /// The same bytes with some of them changed, missing or new.
  public mutating func mutated(_ bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    for _ in 0..<Int.random(in: 1...4, using: &self) where !bytes.isEmpty {
      let index = Int.random(in: bytes.indices, using: &self)
      switch Int.random(in: 0..<4, using: &self) {
      case 0: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &self)
      case 1: bytes.remove(at: index)
      case 2: bytes.insert(number(), at: index)
      default: bytes.removeSubrange(index..<min(bytes.count, index + 20))
      }
    }
    return bytes
  }
}

/// The bytes in random pieces.
public func pieces(of bytes: [UInt8], _ random: inout SeededRandom) -> [ArraySlice<UInt8>] {
  var (rest, pieces) = (bytes[...], [ArraySlice<UInt8>]())
  while !rest.isEmpty {
    pieces.append(rest.prefix(Int.random(in: 1...300, using: &random)))
    rest = rest.dropFirst(pieces.last?.count ?? 0)
  }
  return pieces
}

/// The bytes that hexadecimal digits stand for; empty when they stand for none.
public func hex(_ digits: String) -> [UInt8] {
  let nibbles = digits.compactMap { $0.hexDigitValue.map(UInt8.init) }
  guard nibbles.count == digits.count, nibbles.count.isMultiple(of: 2) else { return [] }
  return stride(from: 0, to: nibbles.count, by: 2).map { nibbles[$0] << 4 | nibbles[$0 + 1] }
}
