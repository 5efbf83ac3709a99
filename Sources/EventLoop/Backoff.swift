/// The delay before the next attempt at something that fails: doubles with each attempt, up to a limit.
public struct Backoff: Sendable, Equatable {
  private let first, longest: Duration
  private var delay: Duration

  /// Creates a delay that grows from `first` to `longest`.
  public init(from first: Duration, upTo longest: Duration) {
    (self.first, self.longest, delay) = (first, longest, first)
  }

  /// Returns the delay before the next attempt.
  public mutating func next() -> Duration {
    defer { delay = min(delay * 2, longest) }
    return delay
  }

  /// Begins with the first delay again: an attempt has succeeded.
  public mutating func reset() { delay = first }
}
