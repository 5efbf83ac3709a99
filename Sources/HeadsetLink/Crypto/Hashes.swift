internal import Crypto

/// The hash of bytes that come in pieces. Source: FIPS 180-4.
package final class SHA256 {
  /// The number of bytes of a hash.
  static let length = Digest.length

  private let digest = Digest()

  package init() {}

  /// Appends bytes.
  package func update(_ bytes: ArraySlice<UInt8>) { digest.update(bytes) }

  /// Returns the hash of all bytes that were added, 32 bytes. To be called once, as the last call.
  package func finish() -> [UInt8] { digest.finish() }

  /// The hash of `bytes`, 32 bytes.
  package static func hash(_ bytes: [UInt8]) -> [UInt8] { hash(bytes[...]) }

  /// The hash of `bytes`, 32 bytes.
  package static func hash(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    let sum = SHA256()
    sum.update(bytes)
    return sum.finish()
  }
}

/// Proofs that bytes come from the owner of a key. Source: RFC 2104 with SHA-256 of FIPS 180-4.
package final class HMACSHA256 {
  /// The number of bytes of a whole proof.
  static let length = Digest.length

  private let authenticator: Authenticator

  init(key: [UInt8]) { authenticator = Authenticator(key: key) }

  /// Returns the proof for `message`, 32 bytes.
  func mac(of message: [UInt8]) -> [UInt8] { authenticator.code(of: message) }

  /// `true` if two proofs are equal; compares in a time that does not depend on where they differ.
  package static func isEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool { Digest.isEqual(one, other) }
}

/// Random bytes that are fit for keys.
package enum SecureRandom {
  /// Returns `count` random bytes of libcrypto's generator.
  /// - Throws: `noRandomness` if the machine has no random numbers.
  package static func bytes(_ count: Int) throws(CryptoError) -> [UInt8] {
    guard let bytes = Digest.randomBytes(count) else { throw .noRandomness }
    return bytes
  }
}
