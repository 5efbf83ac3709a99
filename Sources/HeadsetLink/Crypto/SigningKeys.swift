internal import Crypto
public import EventLoop

/// An Ed25519 key that signs firmware. Source: RFC 8032.
public struct SigningKey: Sendable {
  /// The number of bytes of a signature.
  static let signatureLength = Ed25519.signatureLength

  private let seed: [UInt8]

  /// The key of a seed; nil unless that is 32 bytes long.
  package init?(seed: [UInt8]) {
    guard seed.count == Ed25519.keyLength else { return nil }
    self.seed = seed
  }

  /// The private key in a PEM file's text, as `openssl genpkey -algorithm ed25519` writes it.
  public init(pem text: String) throws(CryptoError) { seed = try PEMKey.privateKey(in: text) }

  /// The key that signs firmware for the emulated board while it is being developed. Everybody can read it here, so it
  /// proves nothing; a board that people wear is to trust another one.
  public static let development = SigningKey(developmentSeed: "roomtone development signing key")

  private init(developmentSeed text: String) {
    seed = Array(text.utf8)
    precondition(seed.count == Ed25519.keyLength)
  }

  /// The signature of `message`, 64 bytes.
  func sign(_ message: [UInt8]) -> [UInt8] { Ed25519.sign(message, seed: seed) }

  /// The public half, which verifies signatures of this key.
  public var verifyingKey: VerifyingKey {
    guard let key = VerifyingKey(bytes: Ed25519.publicKey(seed: seed)) else {
      preconditionFailure("libcrypto has no public key for a private one")
    }
    return key
  }
}

/// The public half of an Ed25519 key, which verifies signatures. Source: RFC 8032.
public struct VerifyingKey: Hashable, Sendable {
  /// The key, 32 bytes.
  package let bytes: [UInt8]

  /// The key of `bytes`; nil unless they are 32.
  package init?(bytes: [UInt8]) {
    guard bytes.count == Ed25519.keyLength else { return nil }
    self.bytes = bytes
  }

  /// The public key in a PEM file's text, as `openssl pkey -pubout` writes it.
  public init(pem text: String) throws(CryptoError) { bytes = try PEMKey.publicKey(in: text) }

  /// The public half of the development key.
  public static let development = SigningKey.development.verifyingKey

  /// `true` if `signature` was made of `message` with the private half of this key.
  func isValid(signature: [UInt8], message: [UInt8]) -> Bool {
    Ed25519.isValid(signature: signature, message: message, publicKey: bytes)
  }
}

/// Keys in PEM, with the failures of this target.
private enum PEMKey {
  static func privateKey(in text: String) throws(CryptoError) -> [UInt8] {
    do throws(Ed25519.TextFailure) { return try Ed25519.privateKey(in: text) } catch {
      throw CryptoError(error)
    }
  }

  static func publicKey(in text: String) throws(CryptoError) -> [UInt8] {
    do throws(Ed25519.TextFailure) { return try Ed25519.publicKey(in: text) } catch {
      throw CryptoError(error)
    }
  }
}

extension SigningKey {
  /// Reads a private key in PEM, whose file only its owner may be able to read.
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

/// The text of keys, and errors about it, which never contain any of the text.
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
  /// A text is not a key in PEM.
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

extension CryptoError {
  fileprivate init(_ failure: Ed25519.TextFailure) {
    self =
      switch failure {
      case .noKey: .noKey
      case .lockedKey: .lockedKey
      case .otherKey: .otherKey
      }
  }
}
