internal import CCrypto

/// The decryption of bytes that come in pieces, by AES-128 in CBC mode with PKCS7 padding. Source: FIPS 197,
/// NIST SP 800-38A §6.2, RFC 5652 §6.3.
package final class AES128Decryption {
  /// The length in bytes of a key, of a vector and of a block.
  package static let blockLength = 16

  private let context: OpaquePointer  // freed by deinit

  /// - Parameters:
  ///   - key: 16 bytes.
  ///   - vector: 16 bytes.
  package init(key: [UInt8], vector: [UInt8]) {
    precondition(key.count == Self.blockLength && vector.count == Self.blockLength, "a key has 16 bytes")
    guard let context = EVP_CIPHER_CTX_new(),
      EVP_DecryptInit_ex(context, EVP_aes_128_cbc(), nil, key, vector) == 1
    else { preconditionFailure("libcrypto has no AES-128, or no memory for one") }
    self.context = context
  }

  deinit { EVP_CIPHER_CTX_free(context) }

  /// Returns the plain bytes as far as they are complete; a block is held back, as it may be padded.
  package func update(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
    let source = bytes.assumingMemoryBound(to: UInt8.self)
    return [UInt8](unsafeUninitializedCapacity: bytes.count + Self.blockLength) { buffer, count in
      var length: CInt = 0
      let isDone =
        EVP_DecryptUpdate(context, buffer.baseAddress, &length, source.baseAddress, CInt(bytes.count)) == 1
      precondition(isDone, "libcrypto takes no bytes after the end")
      count = Int(length)
    }
  }

  /// Returns the last plain bytes; nil if the padding is damaged, as with a wrong key. To be called once, as
  /// the last.
  package func finish() -> [UInt8]? {
    var last = [UInt8](repeating: 0, count: Self.blockLength)
    var length: CInt = 0
    guard EVP_DecryptFinal_ex(context, &last, &length) == 1 else {
      ERR_clear_error()
      return nil
    }
    return Array(last.prefix(Int(length)))
  }
}
