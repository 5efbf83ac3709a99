internal import EventLoop

/// The rooms of earlier processes that a driver which finds its speakers has not found yet: a speaker that is off while
/// the house opens is listed when it is on again, and Home Assistant forgets what a person has set about a device that
/// is removed. By the ids of their devices.
struct AwayRooms {
  /// The time after which a room that was not found is removed.
  static let removalDelay = Duration.seconds(7 * 86_400)

  /// The moments at which rooms were learned from the broker.
  private var since: [String: Instant] = [:]

  /// The moment at which the next room is removed; nil if none waits for that.
  var nextRemoval: Instant? { since.values.min().map { $0.advanced(by: Self.removalDelay) } }

  /// Notes a room that the broker knows, and this process does not.
  mutating func learn(_ id: String, at now: Instant) { since[id] = since[id] ?? now }

  /// Forgets a room that was found, or is gone.
  mutating func forget(_ id: String) { since[id] = nil }

  /// Returns `true` for a room that stays, as it may be found later.
  func contains(_ id: String, at now: Instant) -> Bool {
    since[id].map { $0.advanced(by: Self.removalDelay) > now } ?? false
  }
}
