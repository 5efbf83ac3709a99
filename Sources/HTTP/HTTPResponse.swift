/// The head of an answer: all that comes before its body.
public struct HTTPResponse: Sendable, Equatable {
  /// Three digits: 200 when all is well, 404 when there is no such thing.
  public let status: Int
  /// Where the answer came from, after redirects; without credentials.
  public let url: String
  /// The header fields.
  public let headers: HTTPHeaders

  /// An answer from `url`.
  public init(status: Int, url: String, headers: HTTPHeaders) {
    (self.status, self.url, self.headers) = (status, url, headers)
  }

  /// Bytes of the body, nil when the server does not say. Compressed, where it is compressed.
  public var contentLength: Int64? {
    guard !isChunked, let text = headers["Content-Length"], text.utf8.allSatisfy({ 48...57 ~= $0 }) else {
      return nil
    }
    return Int64(text)
  }

  /// Whether the server can be asked for the bytes from an offset on.
  public var acceptsRanges: Bool {
    status == 206 || headers.all("Accept-Ranges").contains { $0.isSameName(as: "bytes") }
  }

  /// What the body is said to be.
  public var contentType: MediaType? { headers["Content-Type"].flatMap(MediaType.init) }

  var isChunked: Bool { headers["Transfer-Encoding"] != nil }

  /// The coding that the body is in, nil when it is in none.
  var bodyCoding: String? {
    headers.all("Content-Encoding").first { !$0.isEmpty && !$0.isSameName(as: "identity") }
  }

  /// Bytes that a socket may wait for before it wakes the thread: those of `time` at the rate that the station tells,
  /// `HTTPRequest.highestWakeSize` at most. 1 when no rate is told, or when the end of the body is not the end of the
  /// connection: the last bytes would not be worth a wake.
  func lowWater(_ time: Duration) -> Int {
    guard contentLength == nil, !isChunked, let text = headers["icy-br"] else { return 1 }
    // Some stations tell a list: "128,128".
    guard let rate = Int(text.prefix { $0.isASCII && $0.isWholeNumber }), rate > 0, rate <= 10_000 else {
      return 1
    }
    return Int(min(Double(HTTPRequest.highestWakeSize), Double(rate) * 125 * (time / .seconds(1))))
  }
}
