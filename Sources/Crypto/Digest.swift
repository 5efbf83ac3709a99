internal import CCrypto

/// The SHA-256 hash of bytes that come in pieces. Source: FIPS 180-4.
package final class Digest {
  /// The length of a hash in bytes.
  package static let length = 32

  private let context: OpaquePointer  // freed by deinit

  package init() {
    guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else {
      preconditionFailure("libcrypto has no SHA-256, or no memory for one")
    }
    self.context = context
  }

  deinit { EVP_MD_CTX_free(context) }

  /// Adds bytes after the previous ones.
  package func update(_ bytes: ArraySlice<UInt8>) {
    let isAdded = bytes.withUnsafeBytes { EVP_DigestUpdate(context, $0.baseAddress, $0.count) == 1 }
    precondition(isAdded, "libcrypto takes no bytes after the end")
  }

  /// Returns the hash of all added bytes, 32 bytes long. To be called once, as the last.
  package func finish() -> [UInt8] {
    var hash = [UInt8](repeating: 0, count: Self.length)
    precondition(EVP_DigestFinal_ex(context, &hash, nil) == 1, "libcrypto hashes once")
    return hash
  }

  /// Returns `true` if two codes are equal; compares in a time that does not depend on where they differ.
  package static func isEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
    one.count == other.count && CRYPTO_memcmp(one, other, one.count) == 0
  }

  /// Returns `count` random bytes of libcrypto's generator; nil if the machine has no random numbers.
  package static func randomBytes(_ count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    return RAND_bytes(&bytes, CInt(count)) == 1 ? bytes : nil
  }
}

/// Codes that prove that messages come from the owner of a key. Source: RFC 2104 with SHA-256.
///
/// Confined to one thread at a time. The key is scheduled once, not for each message.
package final class Authenticator {
  private let context: OpaquePointer  // freed by deinit

  /// - Parameter key: at least one byte.
  package init(key: [UInt8]) {
    let hmac = EVP_MAC_fetch(nil, OSSL_MAC_NAME_HMAC, nil)
    defer { EVP_MAC_free(hmac) }  // the context holds a reference of its own
    var digest = Array("SHA256".utf8CString)
    let isMade = digest.withUnsafeMutableBufferPointer { digest in
      let settings = [
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.baseAddress, 0),
        OSSL_PARAM_construct_end(),
      ]
      guard let hmac, let context = EVP_MAC_CTX_new(hmac) else { return nil as OpaquePointer? }
      guard EVP_MAC_init(context, key, key.count, settings) == 1 else {
        EVP_MAC_CTX_free(context)
        return nil
      }
      return context
    }
    guard let context = isMade else {
      preconditionFailure("libcrypto has no HMAC-SHA256, or no memory for one")
    }
    self.context = context
  }

  deinit { EVP_MAC_CTX_free(context) }

  /// Returns the code of `message`, 32 bytes.
  package func code(of message: [UInt8]) -> [UInt8] {
    var code = [UInt8](repeating: 0, count: Digest.length)
    var length = 0
    // Without a key it begins anew with its present one.
    let isMade =
      EVP_MAC_init(context, nil, 0, nil) == 1 && EVP_MAC_update(context, message, message.count) == 1
      && EVP_MAC_final(context, &code, &length, code.count) == 1
    precondition(isMade && length == code.count, "libcrypto has no memory for an HMAC")
    return code
  }
}

/// The library of hashes, seals and signatures.
package enum CryptoLibrary {
  /// The version of libcrypto, as `3.0.17`.
  package static var version: String {
    OpenSSL_version(OPENSSL_VERSION_STRING).map { String(cString: $0) } ?? "unknown"
  }
}
