internal import EventLoop

/// When those transfers are read that are read by the clock. Who is due at about the same time is read in one round, so
/// that many transfers cost few wakes.
struct ReadingRounds {
  /// Rounds are so far apart, or more.
  private static let grain = Duration.milliseconds(25)

  private var rounds: [(due: Instant, transfers: [CurlTransfer])] = []

  /// When the next round is due; nil when there is none.
  var nextDue: Instant? { rounds.first?.due }

  /// Puts a transfer into the round at `due`, or a little before.
  mutating func add(_ transfer: CurlTransfer, due: Instant) {
    let due = due.roundedDown(to: Self.grain)
    var index = rounds.endIndex
    while index > 0, rounds[index - 1].due > due { index -= 1 }
    if index > 0, rounds[index - 1].due == due {
      rounds[index - 1].transfers.append(transfer)
    } else {
      rounds.insert((due, [transfer]), at: index)
    }
  }

  /// Takes a transfer out of its round, if it is in one.
  mutating func remove(_ transfer: CurlTransfer) {
    for index in rounds.indices { rounds[index].transfers.removeAll { $0 === transfer } }
  }

  /// Takes out the rounds that are due.
  mutating func takeDue(at now: Instant) -> [CurlTransfer] {
    let due = rounds.prefix { $0.due <= now }
    rounds.removeFirst(due.count)
    return due.flatMap(\.transfers)
  }
}
