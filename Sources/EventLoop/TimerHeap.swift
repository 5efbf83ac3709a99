/// A moment at which a loop calls a closure, once. The loop retains the timer, so the handle need not be
/// kept.
///
/// Confined to the thread of its loop.
public final class LoopTimer {
  /// Index in the heap; below 0 when the timer has left it.
  fileprivate var index = -1
  /// The timer's heap. Valid while `index` is not below 0: a heap clears its timers' indices when it is
  /// released.
  fileprivate unowned let heap: TimerHeap
  /// `true` if `run` waits for the timer when nothing else is left.
  fileprivate let keepsAlive: Bool
  /// `true` for a timer under virtual time that is due by the wall clock.
  fileprivate let followsWall: Bool
  private var body: (() -> Void)?

  fileprivate init(heap: TimerHeap, keepsAlive: Bool, followsWall: Bool, body: @escaping () -> Void) {
    self.heap = heap
    self.followsWall = followsWall
    self.keepsAlive = keepsAlive
    self.body = body
  }

  /// `true` until the closure is called or the timer is cancelled.
  public var isPending: Bool { body != nil }

  /// Ends the timer and releases its closure at once. Does nothing when it has fired or was cancelled before.
  public func cancel() {
    if index >= 0 { heap.remove(self) }
    _ = takeBody()
  }

  /// Calls the closure, unless the timer was cancelled after it came due.
  func fire() {
    takeBody()?()
  }

  /// Removes and returns the closure. It must not be released inside the access that clears it: its
  /// deinitializers may use this timer.
  private func takeBody() -> (() -> Void)? {
    let taken = body
    return withExtendedLifetime(taken) {
      body = nil
      return taken
    }
  }
}

/// Timers by due time, in nanoseconds of some clock, and by order of creation where those are equal: adding and removing
/// take O(log n). Confined to the loop's thread.
final class TimerHeap {
  private var heap = IndexedHeap()
  private var sequence: UInt64 = 0

  deinit {
    for entry in heap.entries { entry.timer.index = -1 }
  }

  var isEmpty: Bool { heap.entries.isEmpty }
  var count: Int { heap.entries.count }
  /// The number of timers that `run` waits for.
  private(set) var keepAliveCount = 0
  /// The due time of the first timer.
  var nextDue: Int64? { heap.entries.first?.due }

  func add(
    due: Int64, keepsAlive: Bool = true, followsWall: Bool = false, _ body: @escaping () -> Void
  ) -> LoopTimer {
    let timer = LoopTimer(heap: self, keepsAlive: keepsAlive, followsWall: followsWall, body: body)
    if keepsAlive { keepAliveCount += 1 }
    sequence += 1
    heap.add(TimerEntry(due: due, sequence: sequence, timer: timer))
    return timer
  }

  /// Removes and returns the first timer if it is due at `now`.
  func popDue(at now: Int64) -> LoopTimer? {
    guard let first = heap.entries.first, first.due <= now else { return nil }
    remove(first.timer)
    return first.timer
  }

  /// Moves the due times of the timers that follow the wall clock.
  func moveWallTimers(by time: Int64) { heap.moveWallTimers(by: time) }

  func cancelAll() {
    while let last = heap.entries.last { last.timer.cancel() }
  }

  /// Removes a timer, which the caller retains: its closure must not be released inside the access to the heap.
  fileprivate func remove(_ timer: LoopTimer) {
    if timer.keepsAlive { keepAliveCount -= 1 }
    heap.remove(timer)
  }
}

private struct TimerEntry {
  var due: Int64
  let sequence: UInt64
  let timer: LoopTimer

  func precedes(_ other: TimerEntry) -> Bool {
    due != other.due ? due < other.due : sequence < other.sequence
  }
}

/// A binary heap whose timers know their indices. A struct, so that each change is one access to it.
private struct IndexedHeap {
  private(set) var entries: [TimerEntry] = []

  mutating func add(_ entry: TimerEntry) {
    entries.append(entry)
    rise(entries.count - 1)
  }

  mutating func remove(_ timer: LoopTimer) {
    let hole = timer.index
    timer.index = -1
    let last = entries.removeLast()
    guard hole < entries.count else { return }
    place(last, at: hole)
    sink(hole)
    rise(hole)
  }

  mutating func moveWallTimers(by time: Int64) {
    for index in entries.indices where entries[index].timer.followsWall {
      entries[index].due = entries[index].due.addingHeld(time)
    }
    // A sorted array is a heap.
    entries.sort { $0.precedes($1) }
    for (index, entry) in entries.enumerated() { entry.timer.index = index }
  }

  private mutating func place(_ entry: TimerEntry, at index: Int) {
    entries[index] = entry
    entry.timer.index = index
  }

  private mutating func rise(_ start: Int) {
    var index = start
    let entry = entries[start]
    while index > 0 {
      let parent = (index - 1) / 2
      guard entry.precedes(entries[parent]) else { break }
      place(entries[parent], at: index)
      index = parent
    }
    place(entry, at: index)
  }

  private mutating func sink(_ start: Int) {
    var index = start
    let entry = entries[start]
    while true {
      var child = 2 * index + 1
      guard child < entries.count else { break }
      if child + 1 < entries.count, entries[child + 1].precedes(entries[child]) { child += 1 }
      guard entries[child].precedes(entry) else { break }
      place(entries[child], at: index)
      index = child
    }
    place(entry, at: index)
  }
}
