internal import EventLoop
internal import StreamCore

/// Decides when a feed is polled, and which of its titles are reported. Uses no clock and no socket: its
/// methods receive events with their times, and return actions.
///
/// A feed is polled when its announced entries end, 10 s after the last request at the soonest and 5 minutes
/// at the latest; when it has nothing new by then, after 10, 20, 40 and then every 60 s. A feed that sets an
/// interval is polled at that interval, 10 s to an hour. All requests are scattered by up to 5 s, since many
/// listeners see the same song end. After failures the retry delay doubles from 10 s to 5 minutes, and is at
/// least as long as the server asks for.
struct FeedMachine: Sendable {
  /// An action for the owner to perform.
  enum Action: Sendable, Equatable {
    /// Polls the feed; `received` or `failed` follows.
    case fetch
    /// Reports the title that is played now.
    case emit(StreamTitle)
    /// Reports that the feed became unusable, or is unusable for a new reason.
    case warn(StreamError)
    /// Reports that the feed can be used again.
    case recovered
  }

  /// A moment on both clocks: intervals are measured by the steady one, times of day are read from the other.
  struct Moment: Sendable {
    let steady: Instant
    let wall: WallTime
  }

  static let shortest = Duration.seconds(10)
  static let longest = Duration.seconds(300)
  private static let longestIdle = Duration.seconds(60)
  private static let longestAsked = Duration.seconds(3600)
  /// The least interval between two checks of the entries, however close they are.
  private static let look = Duration.seconds(1)

  private var content: FeedContent?
  private var emittedTitle: StreamTitle?
  private var failure: StreamError?
  /// The time of the next request; nil before the start and while an answer is awaited.
  private var nextFetch: Instant?
  private var idle = Backoff(from: FeedMachine.shortest, upTo: FeedMachine.longestIdle)
  private var retry = Backoff(from: FeedMachine.shortest, upTo: FeedMachine.longest)
  private var random: any RandomNumberGenerator & Sendable

  init(random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()) { self.random = random }

  /// Starts anew for a stream that is received from now on: its first title is reported.
  mutating func start() -> [Action] {
    self = FeedMachine(random: random)
    return [.fetch]
  }

  /// Applies an answer; nil when the server answered that nothing has changed.
  mutating func received(_ new: FeedContent?, at now: Moment) -> [Action] {
    let isNew = new.map { !$0.says(the: content) } ?? false
    if let new { content = new }
    if isNew { idle.reset() }
    nextFetch = now.steady.advanced(by: scattered(wait(at: now)))
    let recovered: [Action] = failure == nil ? [] : [.recovered]
    failure = nil
    retry.reset()
    return recovered + dueTitle(at: now)
  }

  /// Applies a failed request, or an answer that can't be used.
  mutating func failed(_ error: StreamError, retryAfter: Duration = .zero, at now: Moment) -> [Action] {
    nextFetch = now.steady.advanced(by: scattered(max(retry.next(), min(retryAfter, Self.longestAsked))))
    defer { failure = error }
    let isReported = failure.map { $0.code == error.code && $0.message == error.message } ?? false
    return isReported ? [] : [.warn(error)]
  }

  /// Applies the passing of time: the timer fired, or the clocks were set.
  mutating func timePassed(at now: Moment) -> [Action] {
    let emitted = dueTitle(at: now)
    guard let nextFetch, nextFetch <= now.steady else { return emitted }
    self.nextFetch = nil
    return emitted + [.fetch]
  }

  /// Returns the time until the next action; nil for never.
  func delay(at now: Moment) -> Duration? {
    let change = content?.nextStart(after: now.wall).map { max(Self.look, now.wall.duration(to: $0)) }
    // The wall clock may be set, so it is checked now and then.
    let fetch = nextFetch.map { max(.zero, now.steady.duration(to: $0)) }
    return [change, fetch].compactMap(\.self).min()
  }

  private mutating func dueTitle(at now: Moment) -> [Action] {
    guard let title = content?.entry(at: now.wall)?.title, title != emittedTitle else { return [] }
    emittedTitle = title
    return [.emit(title)]
  }

  private mutating func wait(at now: Moment) -> Duration {
    if let refresh = content?.refresh { return min(max(refresh, Self.shortest), Self.longestAsked) }
    if let end = content?.knownUntil, end > now.wall {
      return min(max(now.wall.duration(to: end), Self.shortest), Self.longest)
    }
    return idle.next()
  }

  private mutating func scattered(_ wait: Duration) -> Duration {
    let most = min(wait / 4, .seconds(5))
    return wait + .nanoseconds(Int64.random(in: 0...max(0, most.nanoseconds), using: &random))
  }
}

extension FeedContent {
  /// Returns `true` if another answer has the same entries.
  fileprivate func says(the other: FeedContent?) -> Bool {
    guard let other else { return false }
    return entries == other.entries
  }
}
