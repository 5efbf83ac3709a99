// @unchecked Sendable: what crosses threads is a job or a `@Sendable` closure of `post`, and it crosses once, from
// the thread that hands it over to the loop. Timers, events and `next` closures are only made on the loop's
// thread, or, before the loop first runs, on the thread that made it.
/// Something that a loop is to do now.
enum ReadyItem: @unchecked Sendable {
  case job(UnownedJob)
  case work(() -> Void)
  case timer(LoopTimer)
  case event(FDWatch)
  case taken
}

/// First in, first out, in rounds: what is added while a round runs belongs to the next round.
///
/// The rounds are what lets the loop look at timers and descriptors while work keeps making work.
struct ReadyQueue {
  private var round: [ReadyItem] = []
  private var position = 0
  private var coming: [ReadyItem] = []

  var isEmpty: Bool { position == round.count && coming.isEmpty }

  mutating func append(_ item: ReadyItem) { coming.append(item) }
  mutating func append(contentsOf items: [ReadyItem]) { coming.append(contentsOf: items) }

  /// The next item of this round, nil at its end.
  mutating func pop() -> ReadyItem? {
    guard position < round.count else { return nil }
    let item = round[position]
    round[position] = .taken  // so that what it holds is released when it has run, not when the round ends
    position += 1
    return item
  }

  /// Takes out all that has not run.
  mutating func takeAll() -> [ReadyItem] {
    defer { self = ReadyQueue() }
    return round[position...] + coming
  }

  /// Makes what has come since the last call the next round. Nothing while the round still has items.
  mutating func beginRound() {
    guard position == round.count else { return }
    round.removeAll(keepingCapacity: round.capacity <= 4096)
    position = 0
    swap(&round, &coming)
  }
}
