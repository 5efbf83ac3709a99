internal import CCurl
package import EventLoop

/// A URL parsed by libcurl, separated from its credentials.
struct CurlURL {
  /// The URL without credentials and fragment.
  let text: String
  let host: String
  let credentials: HTTPCredentials?

  private static let maximumLength = 8192

  /// - Throws: `.badURL`, `.unsupportedScheme`, `.system` if libcurl can't be loaded. The text is not in the
  ///   message: it may hold credentials.
  init(_ text: String) throws(HTTPError) {
    guard text.utf8.count <= Self.maximumLength else {
      throw HTTPError(.badURL, host: nil, "it is longer than \(Self.maximumLength) bytes")
    }
    guard !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
      throw HTTPError(.badURL, host: nil, "it has a control character")
    }
    let curl = try CurlLibrary.functions
    guard let parser = curl.curl_url() else { throw HTTPError(.system, host: nil, "no memory for a URL") }
    defer { curl.curl_url_cleanup(parser) }
    // The check below reports all refused schemes, also those that libcurl does not support.
    let flags = UInt32(CURLU_ALLOW_SPACE) | UInt32(CURLU_URLENCODE) | UInt32(CURLU_NON_SUPPORT_SCHEME)
    let status = curl.curl_url_set(parser, CURLUPART_URL, text, flags)
    guard status == CURLUE_OK else {
      throw HTTPError(.badURL, host: nil, CurlLibrary.text(curl.curl_url_strerror(status)))
    }
    func part(_ part: CURLUPart, _ flags: UInt32 = 0) -> String? {
      var text: UnsafeMutablePointer<CChar>?
      guard curl.curl_url_get(parser, part, &text, flags) == CURLUE_OK, let text else { return nil }
      defer { curl.curl_free(text) }
      return String(cString: text)
    }
    let scheme = part(CURLUPART_SCHEME) ?? ""
    guard scheme == "http" || scheme == "https" else {
      throw HTTPError(.unsupportedScheme, host: nil, "not \(scheme.prefix(32)):")
    }
    guard let given = part(CURLUPART_HOST), !given.isEmpty else {
      throw HTTPError(.badURL, host: nil, "it has no host")
    }
    guard let host = InternationalName.ascii(given) else {
      throw HTTPError(.badURL, host: given, "its host has a name that can't exist")
    }
    if host != given { _ = curl.curl_url_set(parser, CURLUPART_HOST, host, 0) }
    self.host = host
    let decoded = UInt32(CURLU_URLDECODE)
    let (user, password) = (part(CURLUPART_USER, decoded), part(CURLUPART_PASSWORD, decoded))
    let isNamed = user != nil || password != nil
    credentials = isNamed ? HTTPCredentials(user: user ?? "", password: password ?? "") : nil
    for part in [CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_OPTIONS, CURLUPART_FRAGMENT] {
      _ = curl.curl_url_set(parser, part, nil, 0)
    }
    guard let clean = part(CURLUPART_URL) else {
      throw HTTPError(.badURL, host: host, "it cannot be written")
    }
    self.text = clean
  }
}

/// The library of transfers.
package enum CurlLibrary {
  private static let library = SharedLibrary<curl_library>(
    "libcurl.so.4", package: "libcurl4", names: curl_names())

  /// The functions of libcurl.
  /// - Throws: `.system` if it can't be loaded.
  static var functions: curl_library {
    get throws(HTTPError) {
      do throws(LibraryError) { return try library.functions } catch {
        throw HTTPError(.system, "no transfers are possible: \(error.message)", hint: error.hint)
      }
    }
  }

  /// Returns libcurl's text for a code.
  static func text(_ words: UnsafePointer<CChar>?) -> String {
    words.map { String(cString: $0) } ?? "unknown error"
  }

  /// The failure to load libcurl; nil if it is loaded.
  package static var failure: LibraryError? { library.failure }

  /// The version of libcurl with that of its TLS library, as `7.88.1 (OpenSSL/3.0.17)`; nil if it can't be
  /// loaded.
  package static var version: String? {
    guard let curl = try? functions, let info = curl_versions(curl)?.pointee, let number = info.version else {
      return nil
    }
    let tls = info.ssl_version.map { " (\(String(cString: $0)))" } ?? ", without TLS"
    return String(cString: number) + tls
  }
}
