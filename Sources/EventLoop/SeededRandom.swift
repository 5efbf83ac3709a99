/// A random source whose numbers depend only on its seed, in every process: for shuffled queues, simulated
/// stations and faults. Not for keys.
///
/// Source: SplitMix64; G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators",
/// OOPSLA 2014.
public struct SeededRandom: RandomNumberGenerator, Sendable, Equatable {
  private var state: UInt64

  /// Creates the sequence of a seed.
  public init(seed: UInt64) { state = seed }

  /// Returns the next number.
  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }
}
