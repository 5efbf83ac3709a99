public import EventLoop

extension HTTPResponse {
  /// Returns the delay that the server asks for (`Retry-After`), in seconds or as a date; nil when it asks
  /// for none. Source: RFC 9110 §10.2.3.
  /// - Parameters:
  ///   - now: the local time; the server's own is used if stated.
  ///   - limit: the longest delay that is returned.
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
