public import EventLoop

/// The wait before the next attempt to connect.
///
/// While the server still has the missed sound it is asked often: at once, then every 0.25 to 0.5 s for 5 s.
/// After that every 2 s for a minute, every 5 s for ten minutes, every 15 s for an hour, then every 30 s,
/// each scattered by a quarter, so that the listeners of a station that returns don't all connect at the same
/// moment.
public struct ReconnectDelay: Sendable {
  /// The longest waits that a server may ask for (`Retry-After`), by the time since the loss: a restarting
  /// server may be back long before its wait is over.
  private static let wanted: [(until: Duration, longest: Duration)] = [
    (.seconds(60), .seconds(5)), (.seconds(600), .seconds(30)),
  ]
  /// The longest wait that a server may ask for, in an outage of more than ten minutes.
  public static let longestWanted = Duration.seconds(300)
  /// The wait after an answer that a password may change (401, 403), before it is scattered.
  public static let locked = Duration.seconds(30)
  /// The waits, by the time since the loss.
  private static let steps: [(until: Duration, wait: Duration)] = [
    (.seconds(65), .seconds(2)), (.seconds(665), .seconds(5)), (.seconds(4265), .seconds(15)),
  ]
  private static let last = Duration.seconds(30)
  private static let eagerTime = Duration.seconds(5)

  /// The shortest play that counts: a shorter one proves nothing, however short the wait was.
  private static let proof = Duration.milliseconds(250)

  private var firstFailure: Instant?
  /// The last wait chosen here, whatever the server asked for.
  private var lastWait = Duration.zero

  /// Begins anew, as after the first failure.
  public init() {}

  /// Begins anew.
  public mutating func reset() { self = ReconnectDelay() }

  /// Records that a connection has brought sound for `time`: if that is longer than the wait before it, the
  /// next failure begins anew. So a server that sends all it has and closes is asked ever more rarely.
  public mutating func played(for time: Duration) {
    if firstFailure != nil, time > max(lastWait, Self.proof) { reset() }
  }

  /// Returns the wait before the next attempt.
  /// - Parameters:
  ///   - now: the time at which the connection was lost, or the attempt failed.
  ///   - wanted: the delay that the server asked for (`Retry-After`): a minimum, of up to 5 s in the first
  ///     minute after the loss, 30 s in the first ten, `longestWanted` then.
  ///   - isLocked: `true` if the server wants a user and a password (401, 403).
  public mutating func wait(
    at now: Instant, atLeast wanted: Duration = .zero, isLocked: Bool = false,
    using random: inout some RandomNumberGenerator
  ) -> Duration {
    lastWait = own(now, isLocked, &random)
    let begin = firstFailure ?? now
    firstFailure = begin
    let outage = begin.duration(to: now)
    let longest = Self.wanted.first { outage < $0.until }?.longest ?? Self.longestWanted
    return max(min(wanted, longest), lastWait)
  }

  private func own(
    _ now: Instant, _ isLocked: Bool, _ random: inout some RandomNumberGenerator
  ) -> Duration {
    if isLocked { return Self.scattered(Self.locked, &random) }
    guard let firstFailure else { return .zero }
    let since = firstFailure.duration(to: now)
    if since < Self.eagerTime { return .milliseconds(Int.random(in: 250...500, using: &random)) }
    return Self.scattered(Self.steps.first { since < $0.until }?.wait ?? Self.last, &random)
  }

  private static func scattered(
    _ wait: Duration, _ random: inout some RandomNumberGenerator
  ) -> Duration { wait * Int.random(in: 75...125, using: &random) / 100 }
}
