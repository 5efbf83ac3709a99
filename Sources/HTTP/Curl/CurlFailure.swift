internal import CCurl
internal import EventLoop
internal import Glibc

/// A failure of libcurl with the state of its transfer, on which the meaning of libcurl's codes depends.
struct CurlFailure {
  let curl: curl_library
  let code: CURLcode
  /// The error number of the last system call on the socket, 0 without one.
  let systemError: Int32
  /// `true` between the sent request and the end of the response's head.
  let isInHead: Bool
  /// The result of OpenSSL's check of the server's certificate.
  var certificateCheck = 0

  /// `true` if the certificate is not trusted: it is signed by itself, or by an unknown authority. Source:
  /// OpenSSL, X509_STORE_CTX_get_error(3): 18 to 21.
  private var isUntrusted: Bool {
    code == CURLE_PEER_FAILED_VERIFICATION && (18...21).contains(certificateCheck)
  }

  var kind: HTTPError.Kind {
    switch code {
    case CURLE_URL_MALFORMAT: .badURL
    // libcurl counts a response without a status line as HTTP/0.9, which is not supported.
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
    // Malformed chunks have the same code, without an error of the system.
    case CURLE_RECV_ERROR: systemError == 0 ? .protocolViolation : .reset
    case CURLE_OUT_OF_MEMORY: isInHead ? .headersTooLarge : .system
    case CURLE_WEIRD_SERVER_REPLY, CURLE_HTTP2, CURLE_HTTP_RETURNED_ERROR: .protocolViolation
    default: .system
    }
  }

  /// Returns the error of this failure.
  /// - Parameter words: libcurl's message about this transfer, empty without one.
  func error(for request: HTTPRequest, words: String) -> HTTPError {
    var words = words.isEmpty ? CurlLibrary.text(curl.curl_easy_strerror(code)) : words
    words = String(String.UnicodeScalarView(words.unicodeScalars.filter { $0.value >= 0x20 }))
    if let credentials = request.credentials {
      // libcurl's messages have never contained credentials; if one does, its general message is used.
      let secrets = [credentials.user, credentials.password].filter { $0.count > 2 }
      if secrets.contains(where: words.contains) { words = CurlLibrary.text(curl.curl_easy_strerror(code)) }
    }
    if code == CURLE_SSL_CACERT_BADFILE, let file = request.certificateFile {
      let reason = HTTPError(.tls, host: request.host, "no certificates can be read from \(file)")
      return HTTPError(
        .tls, reason.message, hint: "name a file of certificates in PEM that can be read", facts: reason.facts
      )
    }
    return HTTPError(kind, host: request.host, words, isUntrusted: isUntrusted)
  }
}
