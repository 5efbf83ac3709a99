import EventLoop
import TestSupport

/// Random changes of bytes, as by damage and attackers; the same for the same seed.
struct Mutation {
  private var random: SeededRandom

  init(seed: UInt64) { random = SeededRandom(seed: seed) }

  private mutating func number(_ range: Range<Int>) -> Int {
    range.isEmpty ? range.lowerBound : Int.random(in: range, using: &random)
  }

  /// Returns `bytes` with one to six changes: bits, bytes, extreme numbers, parts that are removed, doubled
  /// or random.
  mutating func apply(to bytes: [UInt8]) -> [UInt8] {
    var result = bytes
    for _ in 0...number(0..<6) where !result.isEmpty {
      // Headers are at the front more often than not.
      let reach = number(0..<2) == 0 ? min(result.count, 600) : result.count
      let offset = number(0..<reach)
      let length = min(number(0..<200), result.count - offset)
      switch number(0..<7) {
      case 0: result[offset] ^= 1 << UInt8(number(0..<8))
      case 1: result[offset] = UInt8(truncatingIfNeeded: random.next())
      case 2:
        let extremes: [UInt8] = [0, 0x7F, 0x80, 0xFF]
        let value = extremes[number(0..<4)]
        for index in offset..<min(result.count, offset + 4) { result[index] = value }
      case 3: result.removeSubrange(offset..<(offset + length))
      case 4: result.insert(contentsOf: result[offset..<(offset + length)], at: offset)
      case 5: result.insert(contentsOf: random.bytes(length), at: offset)
      default: result.removeSubrange(offset...)
      }
    }
    return result
  }
}
