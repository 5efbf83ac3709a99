/// What decides which frames suffer: the same for the same seed. Confined to a loop.
final class FaultDice: RandomNumberGenerator {
  let faults: BoardFaults
  /// Bytes that came and went.
  var bytes = 0
  private var state: UInt64

  init(_ faults: BoardFaults) { (self.faults, state) = (faults, faults.seed) }

  /// The next number of SplitMix64. Source: G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number
  /// generators", OOPSLA 2014.
  func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// Whether something happens that does so with this probability. A 0 costs no number.
  func falls(_ probability: Double) -> Bool {
    probability > 0 && Double(next() >> 11) * 0x1p-53 < probability
  }

  /// A number of a range.
  func number(_ range: Range<Int>) -> Int { range.lowerBound + Int(next() % UInt64(range.count)) }
}
