internal import CCrypto
public import EventLoop

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
  func sign(_ message: [UInt8]) -> [UInt8] {
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

  /// The public half, which verifies signatures of this key.
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

/// The public half of an Ed25519 key, which verifies signatures. Source: RFC 8032.
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

  /// `true` if `signature` was made of `message` with the private half of this key.
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

/// Reads keys from PEM, the text form of RFC 7468. The callbacks without a passphrase prevent libcrypto from
/// asking for one on the terminal.
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

extension SigningKey {
  /// Reads a private key in PEM, which nobody but its owner may read.
  /// - Throws: `auth`.
  public init(file path: String) throws(HeadsetError) {
    let text = try KeyFile.text(path, isSecret: true)
    do { try self.init(pem: text) } catch {
      throw KeyFile.failure(path, error, hint: "openssl genpkey -algorithm ed25519 -out FILE makes one")
    }
  }
}

extension VerifyingKey {
  /// Reads a public key in PEM.
  /// - Throws: `auth`.
  public init(file path: String) throws(HeadsetError) {
    let text = try KeyFile.text(path, isSecret: false)
    do { try self.init(pem: text) } catch {
      throw KeyFile.failure(path, error, hint: "openssl pkey -in PRIVATE -pubout -out FILE makes one")
    }
  }
}

/// The text of keys, and what is wrong with it; never a word of what it is.
private enum KeyFile {
  static func text(_ path: String, isSecret: Bool) throws(HeadsetError) -> String {
    do {
      return String(decoding: try WholeFile.read(path, atMost: 16_384, isSecret: isSecret), as: UTF8.self)
    } catch {
      throw HeadsetError(
        .auth, "the key \(path.onOneLine) can't be used: \(error.reason)", hint: error.hint)
    }
  }

  static func failure(_ path: String, _ error: CryptoError, hint: String) -> HeadsetError {
    HeadsetError(.auth, "the key \(path.onOneLine) \(error.reason)", hint: hint)
  }
}

/// A failure of keys or random numbers.
public enum CryptoError: Error, Equatable {
  /// The machine has no random numbers.
  case noRandomness
  /// A text is no key in PEM.
  case noKey
  /// A key is locked with a passphrase.
  case lockedKey
  /// A key is for something else than Ed25519.
  case otherKey

  /// The reason, as the end of a sentence: "the key …".
  public var reason: String {
    switch self {
    case .noRandomness: "needs random numbers, and the machine gives none"
    case .noKey: "is not a key in PEM"
    case .lockedKey: "is locked with a passphrase"
    case .otherKey: "is not one of Ed25519"
    }
  }
}
