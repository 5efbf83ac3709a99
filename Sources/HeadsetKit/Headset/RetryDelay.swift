/// How long to wait before the next try to connect: half a second, twice as long each time, ten seconds at most.
struct RetryDelay {
  private static let (first, longest) = (Duration.milliseconds(500), Duration.seconds(10))
  private var delay = first

  /// The time to wait now.
  mutating func next() -> Duration {
    defer { delay = min(delay * 2, Self.longest) }
    return delay
  }
}
