internal import CCrypto
internal import Glibc

/// A certificate for TLS, the first one of a PEM text. Source: RFC 7468, RFC 5280.
package struct Certificate: Sendable {
  /// The reason why a certificate can't be used.
  package enum Fault: Error, Equatable {
    /// The text has no certificate.
    case noCertificate
    /// The other text has no private key, or one with a password.
    case noKey
    /// The key is that of another certificate.
    case otherKey
  }

  /// The moment from which it is valid, in seconds since 1970.
  package let begins: Int
  /// The moment at which it expires.
  package let expires: Int
  /// `true` if it is signed by its own key: clients have to be given it.
  package let isSelfSigned: Bool

  /// Reads a certificate and checks that the key is its own.
  package init(pem: [UInt8], key: [UInt8]) throws(Fault) {
    guard let certificate = Self.read(pem, { PEM_read_bio_X509($0, nil, nil, nil) }) else {
      throw .noCertificate
    }
    defer { X509_free(certificate) }
    // Without the callback libcrypto would ask for a password on the terminal.
    let found = Self.read(key) { PEM_read_bio_PrivateKey($0, nil, { _, _, _, _ in -1 }, nil) }
    guard let found else { throw .noKey }
    defer { EVP_PKEY_free(found) }
    guard X509_check_private_key(certificate, found) == 1 else {
      ERR_clear_error()
      throw .otherKey
    }
    begins = Self.seconds(X509_get0_notBefore(certificate)) ?? .min
    expires = Self.seconds(X509_get0_notAfter(certificate)) ?? .max
    isSelfSigned = X509_NAME_cmp(X509_get_subject_name(certificate), X509_get_issuer_name(certificate)) == 0
  }

  private static func read(_ pem: [UInt8], _ parse: (OpaquePointer) -> OpaquePointer?) -> OpaquePointer? {
    pem.withUnsafeBytes { bytes in
      guard let bio = BIO_new_mem_buf(bytes.baseAddress, CInt(bytes.count)) else { return nil }
      defer { BIO_free(bio) }
      defer { ERR_clear_error() }
      return parse(bio)
    }
  }

  private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int? {
    var parts = tm()
    guard let time, ASN1_TIME_to_tm(time, &parts) == 1 else { return nil }
    return timegm(&parts)
  }
}
