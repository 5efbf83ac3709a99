/// A moment at which a loop calls a closure, once. The loop retains the timer, so the handle need not be
/// kept.
///
/// Confined to the thread of its loop.
public final class LoopTimer {
  /// The index in the heap; below 0 once the timer has left it.
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

  /// Ends the timer and releases its closure at once. Does nothing if it has fired or was cancelled before.
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

/// Timers by due time, in nanoseconds of some clock, and by order of creation if those are equal: adding and
/// removing take O(log n). Confined to the loop's thread.
final class TimerHeap {
  private var heap = IndexedHeap()
  private var sequence: UInt64 = 0

  deinit {
    for entry in heap.entries { entry.timer.index = -1 }
  }

  var isEmpty: Bool { heap.entries.isEmpty }
  var count: Int { heap.entries.count }
  /// The number of timers that `run` waits for.
  var keepAliveCount: Int { heap.keepAliveCount }
  /// The due time of the first timer.
  var nextDue: Int64? { heap.entries.first?.due }

  func add(
    due: Int64, keepsAlive: Bool = true, followsWall: Bool = false, _ body: @escaping () -> Void
  ) -> LoopTimer {
    let timer = LoopTimer(heap: self, keepsAlive: keepsAlive, followsWall: followsWall, body: body)
    sequence += 1
    heap.add(TimerEntry(due: due, sequence: sequence, timer: timer))
    return timer
  }

  /// Removes and returns the first timer if it is due at `now`.
  func popDue(at now: Int64) -> LoopTimer? { heap.popDue(at: now) }

  /// Moves the due times of the timers that follow the wall clock.
  func moveWallTimers(by time: Int64) { heap.moveWallTimers(by: time) }

  func cancelAll() {
    while let last = heap.entries.last { last.timer.cancel() }
  }

  /// Removes a timer, which the caller retains: its closure must not be released inside the access to the
  /// heap.
  fileprivate func remove(_ timer: LoopTimer) { heap.remove(timer) }
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
  private(set) var keepAliveCount = 0

  mutating func add(_ entry: TimerEntry) {
    if entry.timer.keepsAlive { keepAliveCount += 1 }
    entries.append(entry)
    entry.timer.index = entries.count - 1
    rise(entries.count - 1)
  }

  mutating func popDue(at now: Int64) -> LoopTimer? {
    guard let first = entries.first, first.due <= now else { return nil }
    remove(first.timer)
    return first.timer
  }

  mutating func remove(_ timer: LoopTimer) {
    if timer.keepsAlive { keepAliveCount -= 1 }
    let hole = timer.index
    timer.index = -1
    let last = entries.removeLast()
    guard hole < entries.count else { return }
    entries[hole] = last
    last.timer.index = hole
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

  private mutating func exchange(_ one: Int, _ other: Int) {
    entries.swapAt(one, other)
    entries[one].timer.index = one
    entries[other].timer.index = other
  }

  private func precedes(_ one: Int, _ other: Int) -> Bool { entries[one].precedes(entries[other]) }

  private mutating func rise(_ start: Int) {
    var index = start
    while index > 0, case let parent = (index - 1) / 2, precedes(index, parent) {
      exchange(index, parent)
      index = parent
    }
  }

  private mutating func sink(_ start: Int) {
    var index = start
    while true {
      var child = 2 * index + 1
      guard child < entries.count else { return }
      if child + 1 < entries.count, precedes(child + 1, child) { child += 1 }
      guard precedes(child, index) else { return }
      exchange(index, child)
      index = child
    }
  }
}
