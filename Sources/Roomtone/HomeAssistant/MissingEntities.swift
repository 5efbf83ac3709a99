internal import EventLoop

/// The entities of the house that are missing from its document, and stay published for a while: a script that is read
/// again soon has its jobs and scenes again, and Home Assistant forgets what a person has set about an entity that is
/// removed, such as its name and its area.
struct MissingEntities {
  /// The time for which an entity is missing before it is removed.
  static let removalDelay = Duration.seconds(10)

  /// The moments from which on entities are missing, by their keys.
  private var since: [String: Instant] = [:]

  /// The moment at which the next entity is removed; nil if none waits for that.
  var nextRemoval: Instant? { since.values.min().map { $0.advanced(by: Self.removalDelay) } }

  /// Notes the entities that are missing.
  /// - Parameter isSettling: `true` while a script begins, ends or has failed: all entities stay meanwhile.
  /// - Returns: the keys of those that stay.
  mutating func note(_ keys: some Sequence<String>, isSettling: Bool, at now: Instant) -> Set<String> {
    let keys = Set(keys)
    guard !isSettling else {
      since = [:]
      return keys
    }
    since = Dictionary(keys.map { ($0, since[$0] ?? now) }) { first, _ in first }
    since = since.filter { $0.value.advanced(by: Self.removalDelay) > now }
    return Set(since.keys)
  }
}
