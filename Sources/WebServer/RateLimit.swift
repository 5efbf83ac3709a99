package import EventLoop

/// A limit of events: at most a number in any span of a duration.
package struct RateWindow: Sendable {
  private let most: Int
  private let span: Duration
  /// The moments of the last events, oldest first.
  private var moments: [Instant] = []

  package init(most: Int, in span: Duration) { (self.most, self.span) = (most, span) }

  /// Returns the time until another event is allowed; nil if it is allowed at once.
  package func delay(at now: Instant) -> Duration? {
    guard moments.count == most, let oldest = moments.first else { return nil }
    let delay = now.duration(to: oldest.advanced(by: span))
    return delay > .zero ? delay : nil
  }

  /// Counts an event, unless it is one too many.
  /// - Returns: the time until another one is allowed; nil for a counted one.
  package mutating func admit(at now: Instant) -> Duration? {
    if let delay = delay(at: now) { return delay }
    if moments.count == most { moments.removeFirst() }
    moments.append(now)
    return nil
  }

  /// `true` if no event of the past counts any more.
  package func isIdle(at now: Instant) -> Bool { moments.last.map { $0.advanced(by: span) <= now } ?? true }

  fileprivate var last: Instant { moments.last ?? .start }
}

/// Limits of events by keys, such as addresses, of a limited number.
package struct RateLimits<Key: Hashable & Sendable>: Sendable {
  private let most: Int
  private let span: Duration
  private let mostKeys: Int
  private var windows: [Key: RateWindow] = [:]

  /// - Parameter mostKeys: the most keys that are kept; the one whose last event is the oldest gives way.
  package init(most: Int, in span: Duration, mostKeys: Int) {
    (self.most, self.span, self.mostKeys) = (most, span, mostKeys)
  }

  /// The number of keys that are kept.
  package var count: Int { windows.count }

  /// Counts an event of a key, unless it is one too many.
  /// - Returns: the time until another one is allowed; nil for a counted one. `isFirst` is `true` if none of the past
  ///   counted any more.
  package mutating func admit(_ key: Key, at now: Instant) -> (delay: Duration?, isFirst: Bool) {
    if windows[key] == nil { makeRoom(at: now) }
    let isFirst = windows[key]?.isIdle(at: now) ?? true
    return (windows[key, default: RateWindow(most: most, in: span)].admit(at: now), isFirst)
  }

  private mutating func makeRoom(at now: Instant) {
    guard windows.count >= mostKeys else { return }
    windows = windows.filter { !$0.value.isIdle(at: now) }
    if windows.count >= mostKeys, let oldest = windows.min(by: { $0.value.last < $1.value.last }) {
      windows[oldest.key] = nil
    }
  }
}

/// The wrong tokens of clients. Any thread.
///
/// After ten wrong ones within a minute, further wrong ones of an address are told to wait until the first of them is a
/// minute old. Correct tokens are no matter of it: one device with an old token would shut out all others that come by
/// its address. Tokens are long enough to make guesses vain.
package final class TokenAttempts: Sendable {
  /// The most wrong tokens of an address in a minute.
  package static let most = 10
  private let limits = Lock(
    RateLimits<NetworkAddress?>(most: most, in: .seconds(60), mostKeys: 1024))

  package init() {}

  /// Counts a wrong token, unless it is one too many.
  /// - Returns: the time to wait after one too many; nil for a counted one. `isFirst` is `true` for the first one of an
  ///   address in a minute, which is to be logged.
  package func wrong(_ peer: NetworkAddress?, at now: Instant) -> (delay: Duration?, isFirst: Bool) {
    limits.withLock { $0.admit(peer?.network, at: now) }
  }
}
