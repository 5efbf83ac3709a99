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

/// Timers by due time, in nanoseconds of some clock, and by order of creation where those are equal.
///
/// An indexed binary heap: adding and removing take O(log n). Confined to the loop's thread.
final class TimerHeap {
  private struct Entry {
    var due: Int64
    let sequence: UInt64
    let timer: LoopTimer

    func precedes(_ other: Entry) -> Bool {
      due != other.due ? due < other.due : sequence < other.sequence
    }
  }

  private var entries: [Entry] = []
  private var sequence: UInt64 = 0

  deinit {
    for entry in entries { entry.timer.index = -1 }
  }

  var isEmpty: Bool { entries.isEmpty }
  var count: Int { entries.count }
  /// The number of timers that `run` waits for.
  private(set) var keepAliveCount = 0
  /// The due time of the first timer.
  var nextDue: Int64? { entries.first?.due }

  func add(
    due: Int64, keepsAlive: Bool = true, followsWall: Bool = false, _ body: @escaping () -> Void
  ) -> LoopTimer {
    let timer = LoopTimer(heap: self, keepsAlive: keepsAlive, followsWall: followsWall, body: body)
    if keepsAlive { keepAliveCount += 1 }
    sequence += 1
    entries.append(Entry(due: due, sequence: sequence, timer: timer))
    rise(entries.count - 1)
    return timer
  }

  /// Removes and returns the first timer if it is due at `now`.
  func popDue(at now: Int64) -> LoopTimer? {
    guard let first = entries.first, first.due <= now else { return nil }
    remove(first.timer)
    return first.timer
  }

  /// Moves the due times of the timers that follow the wall clock.
  func moveWallTimers(by time: Int64) {
    for index in entries.indices where entries[index].timer.followsWall {
      entries[index].due = entries[index].due.addingHeld(time)
    }
    // A sorted array is a heap.
    entries.sort { $0.precedes($1) }
    for (index, entry) in entries.enumerated() { entry.timer.index = index }
  }

  func cancelAll() {
    while let last = entries.last { last.timer.cancel() }
  }

  fileprivate func remove(_ timer: LoopTimer) {
    let hole = timer.index
    timer.index = -1
    if timer.keepsAlive { keepAliveCount -= 1 }
    let last = entries.removeLast()
    guard hole < entries.count else { return }
    place(last, at: hole)
    sink(hole)
    rise(hole)
  }

  private func place(_ entry: Entry, at index: Int) {
    entries[index] = entry
    entry.timer.index = index
  }

  private func rise(_ start: Int) {
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

  private func sink(_ start: Int) {
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
