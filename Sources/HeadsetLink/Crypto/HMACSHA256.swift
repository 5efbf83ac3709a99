internal import CCrypto

/// Proof that bytes come from who has the key. Source: RFC 2104 with SHA-256 of FIPS 180-4.
package enum HMACSHA256 {
  /// Bytes of a whole proof.
  static let length = 32

  /// The proof for `message`, 32 bytes.
  static func mac(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
    var mac = [UInt8](repeating: 0, count: length)
    let isMade = HMAC(EVP_sha256(), key, CInt(key.count), message, message.count, &mac, nil) != nil
    precondition(isMade, "libcrypto has no HMAC-SHA256, or no memory for one")
    return mac
  }

  /// Whether two proofs are the same, in a time that does not tell where they differ.
  package static func isEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
    one.count == other.count && CRYPTO_memcmp(one, other, one.count) == 0
  }
}
