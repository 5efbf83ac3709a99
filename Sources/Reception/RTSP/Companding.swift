/// The two laws by which telephones keep samples in 8 bits.
///
/// Source: ITU-T G.711, tables 1a to 2b, as the formula of their decision values: a sign, three bits of an
/// exponent and four of a mantissa.
enum Companding: Sendable {
  case a
  case mu

  /// The samples of 16 bits by code.
  var table: [Int16] { self == .a ? Self.aTable : Self.muTable }

  private static let aTable: [Int16] = (0..<256).map { code in
    let bits = code ^ 0x55
    let (exponent, mantissa) = (bits >> 4 & 7, bits & 15)
    let size = exponent == 0 ? mantissa << 4 | 8 : (mantissa << 4 | 0x108) << (exponent - 1)
    return Int16(bits & 0x80 != 0 ? size : -size)
  }

  private static let muTable: [Int16] = (0..<256).map { code in
    let bits = ~code & 0xFF
    let (exponent, mantissa) = (bits >> 4 & 7, bits & 15)
    let size = ((mantissa << 3 | 0x84) << exponent) - 0x84
    return Int16(bits & 0x80 != 0 ? -size : size)
  }
}
