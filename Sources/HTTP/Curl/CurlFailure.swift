internal import CCurl
internal import Glibc

/// Where a transfer was when it failed: libcurl's codes mean different things in different places.
struct CurlFailure {
  let code: CURLcode
  /// Of the last system call on the socket, 0 for none.
  let systemError: Int32
  /// Between the request that went out and the end of the head that answers it.
  let isInHead: Bool

  var kind: HTTPError.Kind {
    switch code {
    case CURLE_URL_MALFORMAT: .badURL
    // An answer that does not begin with a status line counts as HTTP/0.9 for libcurl, which we do not speak.
    case CURLE_UNSUPPORTED_PROTOCOL: isInHead ? .protocolViolation : .unsupportedScheme
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .resolve
    case CURLE_COULDNT_CONNECT: systemError == ECONNREFUSED ? .refused : .connect
    case CURLE_OPERATION_TIMEDOUT: .timeout
    case CURLE_TOO_MANY_REDIRECTS: .tooManyRedirects
    case CURLE_BAD_CONTENT_ENCODING: .encoding
    case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
      CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_CRL_BADFILE, CURLE_SSL_INVALIDCERTSTATUS,
      CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_CLIENTCERT, CURLE_USE_SSL_FAILED:
      .tls
    case CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE, CURLE_SEND_ERROR: .reset
    // Chunks that are not in order come under the same code, without an error of the system.
    case CURLE_RECV_ERROR: systemError == 0 ? .protocolViolation : .reset
    case CURLE_OUT_OF_MEMORY: isInHead ? .headersTooLarge : .system
    case CURLE_WEIRD_SERVER_REPLY, CURLE_HTTP2, CURLE_HTTP_RETURNED_ERROR: .protocolViolation
    default: .system
    }
  }

  /// The error of this failure.
  /// - Parameter words: libcurl's own about this transfer, empty when it has none.
  func error(for request: HTTPRequest, words: String) -> HTTPError {
    var words = words.isEmpty ? String(cString: curl_easy_strerror(code)) : words
    words = String(String.UnicodeScalarView(words.unicodeScalars.filter { $0.value >= 0x20 }))
    if let credentials = request.credentials {
      // libcurl's words have never told any; should they, its general ones must do.
      let secrets = [credentials.user, credentials.password].filter { $0.count > 2 }
      if secrets.contains(where: words.contains) { words = String(cString: curl_easy_strerror(code)) }
    }
    return HTTPError(kind, host: request.host, words)
  }
}
