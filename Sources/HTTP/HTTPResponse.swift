public import EventLoop

/// The head of a response: everything before its body.
public struct HTTPResponse: Sendable, Equatable {
  /// The status code, three digits: 200 for success, 404 for an unknown resource.
  public let status: Int
  /// The URL of the response, after redirects; without credentials.
  public let url: String
  /// The header fields.
  public let headers: HTTPHeaders

  /// Creates a response from `url`.
  public init(status: Int, url: String, headers: HTTPHeaders) {
    (self.status, self.url, self.headers) = (status, url, headers)
  }

  /// The length of the body in bytes, compressed if it is; nil if the server does not state it.
  public var contentLength: Int64? {
    guard !isChunked, let text = headers["Content-Length"], text.utf8.allSatisfy({ 48...57 ~= $0 }) else {
      return nil
    }
    return Int64(text)
  }

  /// `true` if the server supports requests for the bytes from an offset on.
  public var acceptsRanges: Bool {
    status == 206 || headers.all("Accept-Ranges").contains { $0.isSameName(as: "bytes") }
  }

  /// The declared type of the body.
  public var contentType: MediaType? { headers["Content-Type"].flatMap(MediaType.init) }

  var isChunked: Bool { headers["Transfer-Encoding"] != nil }

  /// The coding of the body, nil if it has none.
  var bodyCoding: String? {
    headers.all("Content-Encoding").first { !$0.isEmpty && !$0.isSameName(as: "identity") }
  }

  /// Returns the number of waiting bytes at which a socket may wake the thread: those of `time` at the
  /// station's bit rate, `HTTPRequest.highestWakeSize` at most. 1 if no rate is stated, or if the end of the
  /// body is not the end of the connection: the last bytes would not wake the thread.
  func lowWater(_ time: Duration) -> Int {
    guard contentLength == nil, !isChunked, let text = headers["icy-br"] else { return 1 }
    // Some stations send a list: "128,128".
    guard let rate = Int(text.prefix { $0.isASCII && $0.isWholeNumber }), rate > 0, rate <= 10_000 else {
      return 1
    }
    return Int(min(Double(HTTPRequest.highestWakeSize), Double(rate) * 125 * (time / .seconds(1))))
  }
}

extension HTTPResponse {
  /// Returns the delay that the server asks for (`Retry-After`), in seconds or as a date; nil without one.
  /// Source: RFC 9110 §10.2.3.
  /// - Parameters:
  ///   - now: the local time; the server's own is used if stated.
  ///   - limit: the longest delay to return.
  public func retryAfter(at now: WallTime, limit: Duration = .seconds(3600)) -> Duration? {
    guard let text = headers["Retry-After"], !text.isEmpty else { return nil }
    if text.utf8.allSatisfy({ 48...57 ~= $0 }) {
      return min(limit, .seconds(Int(text.prefix(9)) ?? 0))
    }
    guard let date = WallTime(httpDate: text) else { return nil }
    let since = headers["Date"].flatMap { WallTime(httpDate: $0) } ?? now
    return max(.zero, min(limit, since.duration(to: date)))
  }
}
