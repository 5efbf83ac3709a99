internal import CCrypto

/// The public half of an Ed25519 key: tells who signed. Source: RFC 8032.
public struct VerifyingKey: Hashable, Sendable {
  /// The key, 32 bytes.
  package let bytes: [UInt8]

  /// The key of `bytes`; nil unless they are 32.
  package init?(bytes: [UInt8]) {
    guard bytes.count == PEMKey.length else { return nil }
    self.bytes = bytes
  }

  /// The public key in a PEM file's text, as `openssl pkey -pubout` writes it.
  public init(pem text: String) throws(CryptoError) { bytes = try PEMKey.publicKey(in: text) }

  /// The public half of the development key.
  public static let development = SigningKey.development.verifyingKey

  /// Whether `signature` was made of `message` with the private half of this key.
  func isValid(signature: [UInt8], message: [UInt8]) -> Bool {
    guard signature.count == SigningKey.signatureLength,
      let key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, bytes, bytes.count)
    else { return false }
    defer { EVP_PKEY_free(key) }
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    let isValid =
      EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1
      && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    // What it says of a wrong signature would stay in the thread's queue of errors.
    if !isValid { ERR_clear_error() }
    return isValid
  }
}
