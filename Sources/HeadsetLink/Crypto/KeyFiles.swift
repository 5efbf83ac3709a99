internal import EventLoop

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
