internal import CCrypto

/// The MD5 hash of bytes that come in pieces, where a format asks for it; it protects nothing. Source: RFC 1321.
package final class MD5 {
  /// Bytes of a hash.
  package static let length = 16

  private let context: OpaquePointer  // freed by deinit

  /// Creates the hash of no bytes; nil where libcrypto has no MD5, as in FIPS mode.
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

  /// Adds bytes behind those that were.
  package func update(_ bytes: UnsafeRawBufferPointer) {
    let isAdded = EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1
    precondition(isAdded, "libcrypto accepts no bytes after the end")
  }

  /// Returns the hash of all that was added, 16 bytes. To be called once, as the last.
  package func finish() -> [UInt8] {
    var hash = [UInt8](repeating: 0, count: Self.length)
    precondition(EVP_DigestFinal_ex(context, &hash, nil) == 1, "libcrypto hashes once")
    return hash
  }
}
