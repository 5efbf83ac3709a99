public import EventLoop

/// How long to wait before the next attempt to connect.
///
/// While the server still has what was missed it is asked often: at once, then every 0.25 to 0.5 s for 5 s. After that
/// each wait is about twice the one before, 30 s at most, and scattered, so that the listeners of a station that comes
/// back don't all come at the same moment.
public struct ReconnectDelay: Sendable {
  /// The longest wait, before it is scattered.
  public static let longest = Duration.seconds(30)
  private static let eagerTime = Duration.seconds(5)

  private var attempts = 0
  private var firstAttempt: Instant?
  private var next = Duration.seconds(1)

  /// Nothing has failed yet.
  public init() {}

  /// A connection gave sound: the next failure begins anew.
  public mutating func reset() { self = ReconnectDelay() }

  /// The wait before the next attempt.
  /// - Parameters:
  ///   - now: when the connection was lost, or the attempt failed.
  ///   - wanted: what the server asked for (`Retry-After`): the least.
  ///   - isRefused: whether the server said no in so many words (401, 403, 404, 410), which hurry won't change.
  public mutating func wait(
    at now: Instant, atLeast wanted: Duration = .zero, isRefused: Bool = false,
    using random: inout some RandomNumberGenerator
  ) -> Duration {
    attempts += 1
    if firstAttempt == nil { firstAttempt = now }
    return max(wanted, own(now, isRefused, &random))
  }

  private mutating func own(
    _ now: Instant, _ isRefused: Bool, _ random: inout some RandomNumberGenerator
  ) -> Duration {
    let since = firstAttempt?.duration(to: now) ?? .zero
    if !isRefused {
      if attempts == 1 { return .zero }
      if since < Self.eagerTime { return .milliseconds(Int.random(in: 250...500, using: &random)) }
    }
    let wait = next
    next = min(next * 2, Self.longest)
    return wait * Int.random(in: 75...125, using: &random) / 100
  }
}
