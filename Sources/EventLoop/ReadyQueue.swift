// @unchecked Sendable: only jobs and `@Sendable` closures of `post` cross threads, and once, from the thread
// that hands them over to the loop. Timers, events and `next` closures are only made on the loop's thread,
// or, before the loop first runs, on the thread that made it.
/// An item of work that a loop is to run now.
enum ReadyItem: @unchecked Sendable {
  case job(UnownedJob)
  case work(() -> Void)
  case timer(LoopTimer)
  case event(FDWatch)
  case removed

  var isTimerOrEvent: Bool {
    switch self {
    case .timer, .event: true
    case .job, .work, .removed: false
    }
  }
}

/// A queue, first in, first out, in rounds: an item added while a round runs belongs to the next round.
///
/// Between rounds the loop polls timers and descriptors, even while work keeps adding work. In the middle of
/// a long round, timers and events are put ahead of its work.
struct ReadyQueue {
  private var round: [ReadyItem] = []
  private var position = 0
  private var coming: [ReadyItem] = []
  /// Timers and events before the rest of the round; nil while they keep their position in it.
  private var ahead: [ReadyItem]?
  private var aheadPosition = 0

  var isEmpty: Bool { isRoundOver && coming.isEmpty }

  /// `true` if no item of this round is left.
  var isRoundOver: Bool { position == round.count && aheadPosition == ahead?.count ?? 0 }

  mutating func append(_ item: ReadyItem) { coming.append(item) }
  mutating func append(contentsOf items: [ReadyItem]) { coming.append(contentsOf: items) }

  /// Removes and returns the next item of this round, nil at its end; `isAhead` if it had been put ahead.
  mutating func pop() -> (item: ReadyItem, isAhead: Bool)? {
    // No local name for the array: a second reference would have it copied, item by item.
    if let item = ahead?.remove(at: aheadPosition) {
      aheadPosition += 1
      return (item, true)
    }
    guard let item = round.remove(at: position) else { return nil }
    position += 1
    return (item, false)
  }

  /// Puts timers and events of this round, and then `items`, before its work.
  mutating func putAhead(_ items: [ReadyItem]) {
    if ahead == nil {
      ahead = round[position...].filter(\.isTimerOrEvent)
      round = round[position...].filter { !$0.isTimerOrEvent }
      position = 0
    }
    ahead?.removeFirst(aheadPosition)
    aheadPosition = 0
    ahead?.append(contentsOf: items)
  }

  /// Removes and returns all items that have not run.
  mutating func takeAll() -> [ReadyItem] {
    defer { self = ReadyQueue() }
    return (ahead ?? [])[aheadPosition...] + round[position...] + coming
  }

  /// Makes the items added since the last call the next round. Does nothing while the round still has items.
  mutating func beginRound() {
    guard isRoundOver else { return }
    (ahead, aheadPosition) = (nil, 0)
    round.removeAll(keepingCapacity: round.capacity <= 4096)
    position = 0
    swap(&round, &coming)
  }
}

extension [ReadyItem] {
  /// Removes and returns an item, so that its contents are released when it has run, not when the round ends;
  /// nil after the last.
  fileprivate mutating func remove(at position: Int) -> ReadyItem? {
    guard position < count else { return nil }
    defer { self[position] = .removed }
    return self[position]
  }
}
