internal import CCrypto

/// The MD5 hash of bytes that come in pieces, for formats that require it; it protects nothing. Source: RFC
/// 1321.
package final class MD5 {
  /// The length of a hash in bytes.
  package static let length = 16

  private let context: OpaquePointer  // freed by deinit

  /// Creates the hash of no bytes; nil if libcrypto has no MD5, as in FIPS mode.
  package init?() {
    guard let context = EVP_MD_CTX_new() else { return nil }
    guard EVP_DigestInit_ex(context, EVP_md5(), nil) == 1 else {
      EVP_MD_CTX_free(context)
      ERR_clear_error()
      return nil
    }
    self.context = context
  }

  deinit { EVP_MD_CTX_free(context) }

  /// Adds bytes after the previous ones.
  package func update(_ bytes: UnsafeRawBufferPointer) {
    let isAdded = EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1
    precondition(isAdded, "libcrypto accepts no bytes after the end")
  }

  /// Returns the hash of all added bytes, 16 bytes long. To be called once, as the last.
  package func finish() -> [UInt8] {
    var hash = [UInt8](repeating: 0, count: Self.length)
    precondition(EVP_DigestFinal_ex(context, &hash, nil) == 1, "libcrypto hashes once")
    return hash
  }
}
