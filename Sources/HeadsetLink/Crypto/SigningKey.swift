internal import CCrypto

/// An Ed25519 key that signs firmware. Source: RFC 8032.
public struct SigningKey: Sendable {
  /// Bytes of a signature.
  static let signatureLength = 64

  private let seed: [UInt8]

  /// The key of a seed; nil unless that is 32 bytes long.
  package init?(seed: [UInt8]) {
    guard seed.count == PEMKey.length else { return nil }
    self.seed = seed
  }

  /// The private key in a PEM file's text, as `openssl genpkey -algorithm ed25519` writes it.
  public init(pem text: String) throws(CryptoError) { seed = try PEMKey.privateKey(in: text) }

  /// The key that signs firmware for the emulated board while it is being developed. Everybody can read it here, so it
  /// proves nothing; a board that people wear is to trust another one.
  public static let development = SigningKey(developmentSeed: "roomtone development signing key")

  private init(developmentSeed text: String) {
    seed = Array(text.utf8)
    precondition(seed.count == PEMKey.length)
  }

  /// The signature of `message`, 64 bytes.
  package func sign(_ message: [UInt8]) -> [UInt8] {
    withKey { key in
      let context = EVP_MD_CTX_new()
      defer { EVP_MD_CTX_free(context) }
      var (signature, count) = ([UInt8](repeating: 0, count: Self.signatureLength), Self.signatureLength)
      let isSigned =
        EVP_DigestSignInit(context, nil, nil, nil, key) == 1
        && EVP_DigestSign(context, &signature, &count, message, message.count) == 1
      precondition(
        isSigned && count == Self.signatureLength, "libcrypto has no Ed25519, or no memory for one")
      return signature
    }
  }

  /// The key that tells whether a signature is of this one.
  public var verifyingKey: VerifyingKey {
    withKey { key in
      var (bytes, count) = ([UInt8](repeating: 0, count: PEMKey.length), PEMKey.length)
      guard EVP_PKEY_get_raw_public_key(key, &bytes, &count) == 1, let verifying = VerifyingKey(bytes: bytes)
      else { preconditionFailure("libcrypto has no public key for a private one") }
      return verifying
    }
  }

  private func withKey<Result>(_ body: (OpaquePointer) -> Result) -> Result {
    guard let key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, seed, seed.count) else {
      preconditionFailure("libcrypto has no Ed25519, or no memory for one")
    }
    defer { EVP_PKEY_free(key) }
    return body(key)
  }
}
