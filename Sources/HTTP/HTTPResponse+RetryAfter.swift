public import EventLoop

extension HTTPResponse {
  /// How long the server asks to be left alone (`Retry-After`), told in seconds or as a date; nil when it does not ask.
  /// Source: RFC 9110 §10.2.3.
  /// - Parameters:
  ///   - now: the time here; the server's own counts where it is told.
  ///   - limit: the longest that is believed.
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
