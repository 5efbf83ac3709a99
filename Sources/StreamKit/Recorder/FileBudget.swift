internal import EventLoop

/// The budget of files that a recording may begin as its format changes: a few at once, and one a second.
struct FileBudget {
  private static let most = 20.0
  private var left = FileBudget.most
  private var last: (sound: StreamTime, clock: Instant)?

  /// Consumes one file of the budget.
  /// - Parameters:
  ///   - sound: the length of the sound that came.
  ///   - clock: the current time; the larger advance of the two counts.
  /// - Returns: `false` if the budget is exhausted.
  mutating func take(sound: StreamTime, clock: Instant) -> Bool {
    if let last {
      let passed = max((sound - last.sound).seconds, StreamTime(last.clock.duration(to: clock)).seconds)
      left = min(Self.most, left + max(0, passed))
    }
    last = (sound, clock)
    guard left >= 1 else { return false }
    left -= 1
    return true
  }
}
