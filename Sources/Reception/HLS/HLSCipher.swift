internal import Crypto

/// The decryption of one segment, whose bytes come in pieces. Source: RFC 8216 §5.2.
final class HLSCipher {
  /// The length in bytes of a key, and of a vector.
  static let keyLength = AES128Decryption.blockLength

  private let decryption: AES128Decryption

  /// - Parameters:
  ///   - key: 16 bytes.
  ///   - vector: 16 bytes.
  init(key: [UInt8], vector: [UInt8]) { decryption = AES128Decryption(key: key, vector: vector) }

  /// Returns the plain bytes as far as they are complete.
  func update(_ bytes: UnsafeRawBufferPointer) -> [UInt8] { decryption.update(bytes) }

  /// Returns the last plain bytes; nil for a wrong key. To be called once, as the last.
  func finish() -> [UInt8]? { decryption.finish() }
}
