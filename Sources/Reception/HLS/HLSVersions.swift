internal import EventLoop
internal import StreamCore

/// The versions of a programme in the order in which they are tried, and the failed ones, which are avoided
/// for a while.
struct HLSVersions: Sendable {
  /// The time for which a failed version is avoided.
  static let leaveTime = Duration.seconds(60)

  /// The limit of versions that are tried one after the other without receiving a list.
  static let mostTried = 20

  private var candidates: [StreamAddress]
  private var index = 0
  /// The number of versions that have failed in a row.
  private var failures = 0
  /// The failed versions, and the moments until which they are avoided.
  private var left: [StreamAddress: Instant] = [:]

  /// - Parameter address: the list of the only version.
  init(_ address: StreamAddress) { candidates = [address] }

  /// The list of the received version.
  var current: StreamAddress { candidates[index] }

  /// Returns `true` if a version after the current one is not avoided.
  func hasLower(at now: Instant) -> Bool {
    candidates[(index + 1)...].contains { !isLeft($0, at: now) }
  }

  /// Replaces the versions by those of a new connection, and begins with the first that is not avoided.
  /// - Parameter addresses: at least one address.
  mutating func replace(by addresses: [StreamAddress], at now: Instant) {
    precondition(!addresses.isEmpty, "a programme has a version")
    (candidates, failures) = (addresses, 0)
    if candidates.allSatisfy({ isLeft($0, at: now) }) { left = [:] }
    index = candidates.firstIndex { !isLeft($0, at: now) } ?? 0
  }

  private func isLeft(_ address: StreamAddress, at now: Instant) -> Bool {
    left[address].map { now < $0 } ?? false
  }

  /// Avoids a version for a while, without a move to another one.
  mutating func avoid(_ address: StreamAddress, at now: Instant) {
    left[address] = now.advanced(by: Self.leaveTime)
  }

  /// Notes that the list of the current version has come.
  mutating func succeeded() { failures = 0 }

  /// Moves from the current version, which has failed, to the next one down, or to the best of the others.
  /// - Returns: `false` without another version, and after `mostTried` failures.
  mutating func leave(at now: Instant) -> Bool {
    guard candidates.count > 1 else { return false }
    avoid(current, at: now)
    failures += 1
    guard failures < Self.mostTried, let other = other(at: now) else { return false }
    index = other
    return true
  }

  /// Returns `true` if there is a version to which `leave` moves.
  func canLeave(at now: Instant) -> Bool {
    failures + 1 < Self.mostTried
      && candidates.indices.contains { $0 != index && !isLeft(candidates[$0], at: now) }
  }

  private func other(at now: Instant) -> Int? {
    candidates.indices.first { $0 > index && !isLeft(candidates[$0], at: now) }
      ?? candidates.indices.first { !isLeft(candidates[$0], at: now) }
  }

  /// Returns a version above the current one that is not avoided.
  func better(at now: Instant) -> StreamAddress? {
    candidates[..<index].first { !isLeft($0, at: now) }
  }

  /// Makes another version the current one.
  mutating func move(to address: StreamAddress) { index = candidates.firstIndex(of: address) ?? index }
}
