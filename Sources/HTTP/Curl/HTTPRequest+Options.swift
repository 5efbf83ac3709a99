internal import CCurl
internal import EventLoop

extension HTTPRequest {
  /// Sets the options of a handle of libcurl, whose functions are `curl`.
  /// - Returns: the lists that must live as long as the handle.
  /// - Throws: `.system` if libcurl refuses an option, `.badURL`.
  func apply(
    to easy: UnsafeMutableRawPointer, _ curl: curl_library
  ) throws(HTTPError) -> [UnsafeMutablePointer<curl_slist>] {
    func require(_ code: CURLcode) throws(HTTPError) {
      guard code != CURLE_OK else { return }
      throw CurlFailure(curl: curl, code: code, systemError: 0, isInHead: false).error(for: self, words: "")
    }
    try require(curl_set_string(curl, easy, CURLOPT_URL, url))
    try require(curl_set_string(curl, easy, CURLOPT_PROTOCOLS_STR, "http,https"))  // for redirects too
    try require(curl_set_string(curl, easy, CURLOPT_USERAGENT, userAgent))
    if let credentials {
      try require(curl_set_string(curl, easy, CURLOPT_USERNAME, credentials.user))
      try require(curl_set_string(curl, easy, CURLOPT_PASSWORD, credentials.password))
      curl_set_long(curl, easy, CURLOPT_HTTPAUTH, CURL_BASIC_AUTHENTICATION)
    }
    if offset > 0 { try require(curl_set_string(curl, easy, CURLOPT_RANGE, "\(offset)-")) }
    // The accepted codings are in the header lines.
    if decodes { try require(curl_set_string(curl, easy, CURLOPT_ACCEPT_ENCODING, "gzip, deflate")) }

    if case .post(let body) = method {
      curl_set_long(curl, easy, CURLOPT_POST, 1)
      curl_set_long(curl, easy, CURLOPT_POSTFIELDSIZE, body.count)
      try body.withUnsafeBufferPointer { bytes throws(HTTPError) in
        // libcurl copies the body; for an empty one it needs no address.
        let address = UnsafeMutableRawPointer(mutating: UnsafeRawPointer(bytes.baseAddress))
        try require(curl_copy_body(curl, easy, address))
      }
    }

    if maximumRedirects > 0 {
      curl_set_long(curl, easy, CURLOPT_FOLLOWLOCATION, 1)
      curl_set_long(curl, easy, CURLOPT_MAXREDIRS, maximumRedirects)
    }
    curl_set_long(curl, easy, CURLOPT_CONNECTTIMEOUT_MS, connectTimeout.curlMilliseconds)
    if let timeout { curl_set_long(curl, easy, CURLOPT_TIMEOUT_MS, timeout.curlMilliseconds) }

    // A connection for each transfer: its bytes are counted, paused and dropped on their own.
    curl_set_long(curl, easy, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
    curl_set_long(curl, easy, CURLOPT_FORBID_REUSE, 1)
    curl_set_long(curl, easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    // Up to 145 kbit/s, a station's bytes of 0.9 s are read at once: the longest interval at which it is
    // read.
    curl_set_long(curl, easy, CURLOPT_BUFFERSIZE, 16384)
    // Signals are process-wide; and a slow name server must not block the thread when a transfer is removed.
    curl_set_long(curl, easy, CURLOPT_NOSIGNAL, 1)
    curl_set_long(curl, easy, CURLOPT_QUICK_EXIT, 1)
    // A folder of certificates is read anew for every connection; the file is kept in memory.
    try require(curl_set_string(curl, easy, CURLOPT_CAPATH, nil))
    if let certificateFile { try require(curl_set_string(curl, easy, CURLOPT_CAINFO, certificateFile)) }

    var lists: [UnsafeMutablePointer<curl_slist>] = []
    if wantsICY, let list = curl.curl_slist_append(nil, "ICY 200 OK") {
      curl_set_pointer(curl, easy, CURLOPT_HTTP200ALIASES, list)
      lists.append(list)
    }
    var lines: UnsafeMutablePointer<curl_slist>?
    for line in headerLines {
      guard let longer = curl.curl_slist_append(lines, line) else {
        curl.curl_slist_free_all(lines)
        lists.forEach { curl.curl_slist_free_all($0) }
        throw HTTPError(.system, host: host, "no memory for headers")
      }
      lines = longer
    }
    if let lines {
      curl_set_pointer(curl, easy, CURLOPT_HTTPHEADER, lines)
      lists.append(lines)
    }
    return lists
  }

  private var headerLines: [String] {
    var lines: [String] = []
    if wantsICY { lines.append("Icy-MetaData: 1") }
    // Sent at once, without asking the server first.
    if case .post = method { lines.append("Expect:") }
    if !acceptsCompression { lines.append("Accept-Encoding: identity") }
    // A header without a value ends in a semicolon for libcurl, for which a colon means "do not send".
    return lines + headers.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }
  }
}

extension Duration {
  /// The duration in milliseconds for libcurl: at least 1, since 0 means its default, and at most 24 days.
  fileprivate var curlMilliseconds: Int { Int(min(max(inMilliseconds, 1), Int64(Int32.max))) }
}
