internal import EventLoop

/// The schedule of paced reading. Transfers that are due at about the same time are read in one round, so
/// that many transfers cost few wake-ups.
struct ReadingRounds {
  /// The least time between two rounds.
  private static let grain = Duration.milliseconds(25)

  private var rounds: [(due: Instant, transfers: [CurlTransfer])] = []

  /// The due time of the next round; nil without a round.
  var nextDue: Instant? { rounds.first?.due }

  /// Adds a transfer to the round at `due`, or slightly earlier.
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

  /// Removes a transfer from its round, if it is in one.
  mutating func remove(_ transfer: CurlTransfer) {
    for index in rounds.indices { rounds[index].transfers.removeAll { $0 === transfer } }
  }

  /// Removes the rounds that are due, and returns their transfers.
  mutating func takeDue(at now: Instant) -> [CurlTransfer] {
    let due = rounds.prefix { $0.due <= now }
    rounds.removeFirst(due.count)
    return due.flatMap(\.transfers)
  }
}
