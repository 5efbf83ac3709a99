internal import CCrypto

/// Signatures by Ed25519. Source: RFC 8032.
package enum Ed25519 {
  /// The length in bytes of a key, private or public.
  package static let keyLength = 32
  /// The length of a signature in bytes.
  package static let signatureLength = 64

  /// A reason why a text holds no key.
  package enum TextFailure: Error {
    /// The text is not a key in PEM.
    case noKey
    /// The key is locked with a passphrase.
    case lockedKey
    /// The key is for another purpose.
    case otherKey
  }

  /// Returns the signature of `message`, 64 bytes.
  /// - Parameter seed: the private key, 32 bytes.
  package static func sign(_ message: [UInt8], seed: [UInt8]) -> [UInt8] {
    withKey(seed) { key in
      let context = EVP_MD_CTX_new()
      defer { EVP_MD_CTX_free(context) }
      var (signature, count) = ([UInt8](repeating: 0, count: signatureLength), signatureLength)
      let isSigned =
        EVP_DigestSignInit(context, nil, nil, nil, key) == 1
        && EVP_DigestSign(context, &signature, &count, message, message.count) == 1
      precondition(isSigned && count == signatureLength, "libcrypto has no Ed25519, or no memory for one")
      return signature
    }
  }

  /// Returns the public half of a private key, 32 bytes.
  package static func publicKey(seed: [UInt8]) -> [UInt8] {
    withKey(seed) { key in
      var (bytes, count) = ([UInt8](repeating: 0, count: keyLength), keyLength)
      guard EVP_PKEY_get_raw_public_key(key, &bytes, &count) == 1, count == keyLength else {
        preconditionFailure("libcrypto has no public key for a private one")
      }
      return bytes
    }
  }

  private static func withKey<Result>(_ seed: [UInt8], _ body: (OpaquePointer) -> Result) -> Result {
    guard let key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, seed, seed.count) else {
      preconditionFailure("libcrypto has no Ed25519, or no memory for one")
    }
    defer { EVP_PKEY_free(key) }
    return body(key)
  }

  /// Returns `true` if `signature` was made of `message` with the private half of `publicKey`.
  package static func isValid(signature: [UInt8], message: [UInt8], publicKey: [UInt8]) -> Bool {
    guard signature.count == signatureLength,
      let key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, publicKey, publicKey.count)
    else { return false }
    defer { EVP_PKEY_free(key) }
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    let isValid =
      EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1
      && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    // The error of a wrong signature would stay in the thread's error queue.
    if !isValid { ERR_clear_error() }
    return isValid
  }
}

/// Keys in PEM, the text form of RFC 7468. The callbacks without a passphrase prevent libcrypto from asking
/// for one on the terminal.
extension Ed25519 {
  /// The limit of a text in bytes; a longer one is not a key.
  private static let longestText = 16_384

  /// Returns the private key in `text`: PKCS#8, as `openssl genpkey -algorithm ed25519` writes it.
  package static func privateKey(in text: String) throws(TextFailure) -> [UInt8] {
    if text.contains("ENCRYPTED") { throw .lockedKey }
    return try key(in: text) {
      PEM_read_bio_PrivateKey($0, nil, { _, _, _, _ in -1 }, nil)
    } raw: {
      EVP_PKEY_get_raw_private_key($0, $1, $2)
    }
  }

  /// Returns the public key in `text`: SubjectPublicKeyInfo, as `openssl pkey -pubout` writes it.
  package static func publicKey(in text: String) throws(TextFailure) -> [UInt8] {
    try key(in: text) {
      PEM_read_bio_PUBKEY($0, nil, { _, _, _, _ in -1 }, nil)
    } raw: {
      EVP_PKEY_get_raw_public_key($0, $1, $2)
    }
  }

  private static func key(
    in text: String, read: (OpaquePointer) -> OpaquePointer?,
    raw: (OpaquePointer, UnsafeMutablePointer<UInt8>, UnsafeMutablePointer<Int>) -> CInt
  ) throws(TextFailure) -> [UInt8] {
    let bytes = Array(text.utf8)
    guard bytes.count <= longestText else { throw .noKey }
    let key: OpaquePointer? = bytes.withUnsafeBytes {
      // It reads the bytes in place, so it ends before they move.
      guard let source = BIO_new_mem_buf($0.baseAddress, CInt($0.count)) else { return nil }
      defer { BIO_free(source) }
      return read(source)
    }
    guard let key else {
      ERR_clear_error()
      throw .noKey
    }
    defer { EVP_PKEY_free(key) }
    guard EVP_PKEY_get_id(key) == EVP_PKEY_ED25519 else { throw .otherKey }
    var (result, count) = ([UInt8](repeating: 0, count: keyLength), keyLength)
    guard raw(key, &result, &count) == 1, count == keyLength else { throw .otherKey }
    return result
  }
}
