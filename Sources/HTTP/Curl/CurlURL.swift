internal import CCurl
internal import EventLoop

/// A URL parsed by libcurl, separated from its credentials.
struct CurlURL {
  /// The URL without credentials and fragment.
  let text: String
  let host: String
  let credentials: HTTPCredentials?

  private static let maximumLength = 8192

  /// - Throws: `.badURL`, `.unsupportedScheme`. The text is not in the message: it may hold credentials.
  init(_ text: String) throws(HTTPError) {
    guard text.utf8.count <= Self.maximumLength else {
      throw HTTPError(.badURL, host: nil, "it is longer than \(Self.maximumLength) bytes")
    }
    guard !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
      throw HTTPError(.badURL, host: nil, "it has a control character")
    }
    guard let parser = curl_url() else { throw HTTPError(.system, host: nil, "no memory for a URL") }
    defer { curl_url_cleanup(parser) }
    // Schemes that libcurl does not support are reported by the check below, as those that it does.
    let flags = UInt32(CURLU_ALLOW_SPACE) | UInt32(CURLU_URLENCODE) | UInt32(CURLU_NON_SUPPORT_SCHEME)
    let status = curl_url_set(parser, CURLUPART_URL, text, flags)
    guard status == CURLUE_OK else {
      throw HTTPError(.badURL, host: nil, String(cString: curl_url_strerror(status)))
    }
    let scheme = Self.part(CURLUPART_SCHEME, of: parser) ?? ""
    guard scheme == "http" || scheme == "https" else {
      throw HTTPError(.unsupportedScheme, host: nil, "not \(scheme.prefix(32)):")
    }
    guard let host = Self.part(CURLUPART_HOST, of: parser), !host.isEmpty else {
      throw HTTPError(.badURL, host: nil, "it has no host")
    }
    self.host = host
    let decoded = UInt32(CURLU_URLDECODE)
    let (user, password) = (
      Self.part(CURLUPART_USER, of: parser, decoded), Self.part(CURLUPART_PASSWORD, of: parser, decoded)
    )
    let isNamed = user != nil || password != nil
    credentials = isNamed ? HTTPCredentials(user: user ?? "", password: password ?? "") : nil
    for part in [CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_OPTIONS, CURLUPART_FRAGMENT] {
      curl_url_set(parser, part, nil, 0)
    }
    guard let clean = Self.part(CURLUPART_URL, of: parser) else {
      throw HTTPError(.badURL, host: host, "it cannot be written")
    }
    self.text = clean
  }

  private static func part(_ part: CURLUPart, of parser: OpaquePointer, _ flags: UInt32 = 0) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard curl_url_get(parser, part, &text, flags) == CURLUE_OK, let text else { return nil }
    defer { curl_free(text) }
    return String(cString: text)
  }
}

/// The library of transfers.
package enum CurlLibrary {
  /// The version of libcurl with that of its TLS library, as `7.88.1 (OpenSSL/3.0.17)`.
  package static var version: String {
    guard let info = curl_versions()?.pointee, let number = info.version else {
      return "unknown"
    }
    let tls = info.ssl_version.map { " (\(String(cString: $0)))" } ?? ", without TLS"
    return String(cString: number) + tls
  }
}
