internal import Glibc
internal import Synchronization

// @unchecked Sendable: `shared` has a lock, the three atomics need none, `poller.wake` is safe on any thread, and
// every other stored property is touched on the loop's thread only, which `assertOnLoop` checks in debug builds.
/// One thread's worth of work: tasks, closures, timers and descriptors, run one after the other.
///
/// The thread that calls `run(until:)` is the loop's thread. All that is confined to a loop is used on that thread
/// only, or, before the loop first runs, on the thread that made it. Everything that is ready stands in one queue,
/// first in, first out. Several loops can live in one process.
public final class EventLoop: SerialExecutor, TaskExecutor, @unchecked Sendable {
  /// Where a loop's time comes from.
  public enum ClockKind: Sendable {
    /// The clocks of the machine.
    case wall
    /// A clock that stands still while anything is ready or held, then jumps to the next timer. At the loop's
    /// first moment the civil time is `start`.
    case virtual(start: WallTime)
  }

  /// Why `run` returned.
  public enum RunResult: Sendable, Equatable {
    /// `isDone` said so.
    case done
    /// Nothing is ready, and nothing is left that could ever make anything ready.
    case idle
    /// `stop` was called.
    case stopped
  }

  /// What other threads put down for the loop.
  struct Shared {
    var inbox: [ReadyItem] = []
    /// Work is not taken any more.
    var isClosed = false
    /// True while the loop sleeps or is about to: whoever puts something down rings the bell, and sets it false.
    var isAsleep = false
    /// Holds that are out, in the order in which they were taken.
    var holds: [(id: UInt64, reason: StaticString)] = []
    var lastHold: UInt64 = 0

    /// Whether the bell must be rung after a change.
    mutating func mustWake() -> Bool {
      defer { isAsleep = false }
      return isAsleep
    }
  }

  /// As in `shared`, for the loop itself.
  private var isClosed = false

  /// Whether time is virtual.
  public let isVirtual: Bool
  /// What the loop is called in messages.
  public let name: String

  let shared = Lock(Shared())
  /// True when `shared.inbox` may hold something, so that a busy loop need not take the lock to see.
  let hasInbox = Atomic(false)
  let stopRequested = Atomic(false)
  /// The thread inside `run`, 0 when there is none.
  let runner = Atomic<UInt>(0)
  /// The thread that the loop is confined to: the last that ran it, at first the one that made it.
  let owner: Atomic<UInt>

  let poller: Poller
  var ready = ReadyQueue()
  let timers = TimerHeap()
  /// By civil time; empty under virtual time, where both kinds are one.
  let civilTimers = TimerHeap()
  var civilRang = false
  var watches = WatchTable()
  var signalsWatched: Set<Int32> = []
  var workSincePoll = 0
  var lastPoll: Int64 = 0

  /// Nanoseconds of CLOCK_MONOTONIC at the loop's first moment.
  let origin: Int64
  let virtualStart: WallTime
  var virtualNow: Int64 = 0

  /// A loop that has not run yet; the calling thread may set it up.
  public convenience init(name: String = "loop", clock: ClockKind = .wall) {
    self.init(name: name, clock: clock, poller: Poller())
  }

  /// A loop that takes a timer descriptor for its timeouts, as on kernels that have no `epoll_pwait2`.
  package convenience init(usingTimerDescriptor name: String) {
    self.init(name: name, clock: .wall, poller: Poller(usesAlarm: true))
  }

  private init(name: String, clock: ClockKind, poller: Poller) {
    self.name = name
    self.poller = poller
    switch clock {
    case .wall: (isVirtual, virtualStart) = (false, WallTime(nanoseconds: 0))
    case .virtual(let start): (isVirtual, virtualStart) = (true, start)
    }
    origin = nanoseconds(of: CLOCK_MONOTONIC)
    owner = Atomic(pthread_self())
  }

  deinit { for watch in watches.takeAll(poller) { watch.detach() } }

  /// Cancels all timers and watches, and lets go of what was posted and has not run: closures that hold what holds
  /// the loop would keep it for ever. For the end of an engine, after its tasks have ended. The loop's thread.
  public func close() {
    assertOnLoop()
    timers.cancelAll()
    civilTimers.cancelAll()
    for watch in watches.takeAll(poller) { watch.detach() }
    isClosed = true
    let inbox = shared.withLock { shared in
      defer { shared.inbox = [] }
      shared.isClosed = true
      return shared.inbox
    }
    for item in ready.takeAll() + inbox {
      if case .job = item { ready.append(item) }  // a task is not ended by forgetting it
    }
  }

  // MARK: On any thread

  /// Calls `work` on the loop, after what is ready now. Work posted by one thread keeps its order.
  public func post(_ work: @escaping @Sendable () -> Void) { append(.work(work)) }

  /// Takes a hold; `reason` names it in `heldBy`.
  public func hold(_ reason: StaticString) -> Hold {
    let id = shared.withLock { shared in
      shared.lastHold += 1
      shared.holds.append((shared.lastHold, reason))
      return shared.lastHold
    }
    return Hold(loop: self, id: id)
  }

  /// The reasons of the holds that are out, oldest first.
  public var heldBy: [String] {
    shared.withLock { shared in shared.holds.map { String(describing: $0.reason) } }
  }

  /// Makes `run` return `.stopped` after the job in hand; when the loop is not running, the next `run`.
  public func stop() {
    stopRequested.store(true, ordering: .relaxed)
    if shared.withLock({ $0.mustWake() }) { poller.wake() }
  }

  /// Whether the calling thread is the loop's.
  public var isOnLoop: Bool { owner.load(ordering: .relaxed) == pthread_self() }

  /// Ends the process in debug builds when the calling thread is not the loop's.
  public func assertOnLoop() {
    assert(isOnLoop, "this belongs to the thread of the event loop \"\(name)\"")
  }

  func releaseHold(_ id: UInt64) {
    let mustWake = shared.withLock { shared in
      shared.holds.removeAll { $0.id == id }
      return shared.holds.isEmpty && shared.mustWake()
    }
    if mustWake { poller.wake() }
  }

  /// Puts `item` at the end of the queue. Without a lock inside `run`, where no other thread can be running it.
  func append(_ item: ReadyItem) {
    // What is posted to a loop that has ended would be kept for ever, with all that it holds.
    var isWork = false
    if case .work = item { isWork = true }
    if runner.load(ordering: .relaxed) == pthread_self() {
      if !(isWork && isClosed) { ready.append(item) }
      return
    }
    let mustWake = shared.withLock { shared in
      guard !(isWork && shared.isClosed) else { return false }
      shared.inbox.append(item)
      hasInbox.store(true, ordering: .relaxed)
      return shared.mustWake()
    }
    if mustWake { poller.wake() }
  }
}

/// Reads a clock of the machine.
func nanoseconds(of clock: clockid_t) -> Int64 {
  var time = timespec()
  clock_gettime(clock, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}
