internal import CCrypto

/// Reads keys from PEM, the text form of RFC 7468. The functions that give no passphrase keep libcrypto from asking for one
/// on the terminal.
enum PEMKey {
  /// Bytes of an Ed25519 key, private or public.
  static let length = 32
  /// The most bytes of a text that are looked at.
  private static let longestText = 16_384

  /// The private key in `text`: PKCS#8, as `openssl genpkey -algorithm ed25519` writes it.
  static func privateKey(in text: String) throws(CryptoError) -> [UInt8] {
    if text.contains("ENCRYPTED") { throw .lockedKey }
    return try key(in: text) {
      PEM_read_bio_PrivateKey($0, nil, { _, _, _, _ in -1 }, nil)
    } raw: {
      EVP_PKEY_get_raw_private_key($0, $1, $2)
    }
  }

  /// The public key in `text`: SubjectPublicKeyInfo, as `openssl pkey -pubout` writes it.
  static func publicKey(in text: String) throws(CryptoError) -> [UInt8] {
    try key(in: text) {
      PEM_read_bio_PUBKEY($0, nil, { _, _, _, _ in -1 }, nil)
    } raw: {
      EVP_PKEY_get_raw_public_key($0, $1, $2)
    }
  }

  private static func key(
    in text: String, read: (OpaquePointer) -> OpaquePointer?,
    raw: (OpaquePointer, UnsafeMutablePointer<UInt8>, UnsafeMutablePointer<Int>) -> CInt
  ) throws(CryptoError) -> [UInt8] {
    let bytes = Array(text.utf8)
    guard bytes.count <= longestText else { throw .noKey }
    let key: OpaquePointer? = bytes.withUnsafeBytes {
      // It reads where the bytes are, so it ends before they move.
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
    var (result, count) = ([UInt8](repeating: 0, count: length), length)
    guard raw(key, &result, &count) == 1, count == length else { throw .otherKey }
    return result
  }
}
