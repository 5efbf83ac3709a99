internal import CCrypto

/// Bytes that nobody can foretell.
package enum SecureRandom {
  /// `count` random bytes, of libcrypto's generator.
  /// - Throws: when the machine has none to give.
  package static func bytes(_ count: Int) throws(CryptoError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    guard RAND_bytes(&bytes, CInt(count)) == 1 else { throw .noRandomness }
    return bytes
  }
}
