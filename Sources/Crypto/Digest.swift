internal import CCrypto

/// The SHA-256 hash of bytes that come in pieces. Source: FIPS 180-4.
package final class Digest {
  /// Bytes of a hash.
  package static let length = 32

  private let context: OpaquePointer  // freed by deinit

  package init() {
    guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else {
      preconditionFailure("libcrypto has no SHA-256, or no memory for one")
    }
    self.context = context
  }

  deinit { EVP_MD_CTX_free(context) }

  /// Adds bytes behind those that were.
  package func update(_ bytes: ArraySlice<UInt8>) {
    let isAdded = bytes.withUnsafeBytes { EVP_DigestUpdate(context, $0.baseAddress, $0.count) == 1 }
    precondition(isAdded, "libcrypto takes no bytes after the end")
  }

  /// The hash of all that was added, 32 bytes. To be called once, as the last.
  package func finish() -> [UInt8] {
    var hash = [UInt8](repeating: 0, count: Self.length)
    precondition(EVP_DigestFinal_ex(context, &hash, nil) == 1, "libcrypto hashes once")
    return hash
  }

  /// The code by which `message` is known to come from the owner of `key`, 32 bytes. Source: RFC 2104 with SHA-256.
  package static func authenticationCode(of message: [UInt8], key: [UInt8]) -> [UInt8] {
    var code = [UInt8](repeating: 0, count: length)
    let isMade = HMAC(EVP_sha256(), key, CInt(key.count), message, message.count, &code, nil) != nil
    precondition(isMade, "libcrypto has no HMAC-SHA256, or no memory for one")
    return code
  }

  /// True if two codes are equal; compares in a time that does not depend on where they differ.
  package static func isEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
    one.count == other.count && CRYPTO_memcmp(one, other, one.count) == 0
  }

  /// Returns `count` random bytes of libcrypto's generator; nil if the machine has no random numbers.
  package static func randomBytes(_ count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    return RAND_bytes(&bytes, CInt(count)) == 1 ? bytes : nil
  }
}

/// The library of hashes, seals and signatures.
package enum CryptoLibrary {
  /// The version of libcrypto, as `3.0.17`.
  package static var version: String {
    OpenSSL_version(OPENSSL_VERSION_STRING).map { String(cString: $0) } ?? "unknown"
  }
}
