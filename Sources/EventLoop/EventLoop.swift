internal import Glibc
internal import Synchronization

// @unchecked Sendable: `shared` has a lock, the three atomics need none, `poller.wake` is safe on any thread,
// and every other stored property is touched on the loop's thread only, which `assertOnLoop` checks in debug
// builds.
/// A queue of work for one thread: tasks, closures, timers and descriptors, run one after the other.
///
/// The thread that calls `run(until:)` is the loop's thread. Objects confined to a loop are used on that
/// thread only, or, before the loop first runs, on the thread that created it. All ready items are in one
/// queue, first in, first out. Several loops can live in one process.
public final class EventLoop: SerialExecutor, TaskExecutor, @unchecked Sendable {
  /// The source of a loop's time.
  public enum ClockKind: Sendable {
    /// The clocks of the machine.
    case wall
    /// A clock that is paused while any item is ready or held, then jumps to the next timer. At the loop's
    /// first moment the civil time is `start`.
    case virtual(start: WallTime)
  }

  /// The reason why `run` returned.
  public enum RunResult: Sendable, Equatable {
    /// `isDone` returned `true`.
    case done
    /// The queue is empty, and no timer, watch or hold is left that could fill it.
    case idle
    /// `stop` was called.
    case stopped
  }

  /// The state that other threads share with the loop.
  struct Shared {
    var inbox: [ReadyItem] = []
    /// `true` once work is no longer accepted.
    var isClosed = false
    /// `true` while the loop sleeps or is about to: a thread that changes the state wakes the poller, and
    /// sets it to false.
    var isAsleep = false
    /// The reasons of the outstanding holds, by number.
    var holds: [UInt64: StaticString] = [:]
    var lastHold: UInt64 = 0

    /// Returns `true` if the poller must be woken after a change; clears `isAsleep`.
    mutating func mustWake() -> Bool {
      defer { isAsleep = false }
      return isAsleep
    }
  }

  /// A copy of `shared.isClosed` for the loop's thread.
  private var isClosed = false

  /// `true` if time is virtual.
  public let isVirtual: Bool
  /// The loop's name in messages.
  public let name: String

  let shared = Lock(Shared())
  /// `true` if `shared.inbox` may hold items, so that a busy loop can check without the lock.
  let hasInbox = Atomic(false)
  let stopRequested = Atomic(false)
  /// The thread inside `run`, 0 without one.
  let runner = Atomic<UInt>(0)
  /// The thread that the loop is confined to: the last one that ran it, at first the one that created it.
  let owner: Atomic<UInt>

  let poller: Poller
  var ready = ReadyQueue()
  let timers = TimerHeap()
  /// The timers by civil time; empty under virtual time, where both kinds are one.
  let civilTimers = TimerHeap()
  /// The wall clock's lead over the monotonic clock in nanoseconds, when it was last compared.
  var wallLead: Int64 = 0
  /// The callbacks for the time by which the wall clock was set forward, or backwards if negative.
  var clockListeners: [(Duration) -> Void] = []
  var watches = WatchTable()
  var signalsWatched: Set<Int32> = []
  var workSincePoll = 0
  var lastPoll: Int64 = 0

  /// Nanoseconds of CLOCK_MONOTONIC at the loop's first moment.
  let origin: Int64
  var virtualStart: WallTime
  var virtualNow: Int64 = 0

  /// Creates a loop that has not run yet; the calling thread may set it up.
  public convenience init(name: String = "loop", clock: ClockKind = .wall) {
    self.init(name: name, clock: clock, poller: Poller())
  }

  /// Creates a loop that uses a timer descriptor for its timeouts, as on kernels without `epoll_pwait2`.
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
    wallLead = nanoseconds(of: CLOCK_REALTIME) - origin
    owner = Atomic(pthread_self())
  }

  deinit { for watch in watches.takeAll(poller) { watch.detach() } }

  /// Cancels all timers and watches, and drops posted work that has not run: closures that hold an owner of
  /// the loop would keep it for ever. For the end of an engine, after its tasks have ended. The loop's
  /// thread.
  public func close() {
    assertOnLoop()
    timers.cancelAll()
    civilTimers.cancelAll()
    for watch in watches.takeAll(poller) { watch.detach() }
    clockListeners = []
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

  /// Calls `work` on the loop, after all items that are ready now. Work posted by one thread keeps its order.
  public func post(_ work: @escaping @Sendable () -> Void) { append(.work(work)) }

  /// Creates a hold; `reason` names it in `heldBy`.
  public func hold(_ reason: StaticString) -> Hold {
    let id = shared.withLock { shared in
      shared.lastHold += 1
      shared.holds[shared.lastHold] = reason
      return shared.lastHold
    }
    return Hold(loop: self, id: id)
  }

  /// The reasons of the outstanding holds, oldest first.
  public var heldBy: [String] {
    shared.withLock { shared in
      shared.holds.sorted { $0.key < $1.key }.map { String(describing: $0.value) }
    }
  }

  /// Makes `run` return `.stopped` after the current item; if the loop is not running, the next `run`.
  public func stop() {
    stopRequested.store(true, ordering: .relaxed)
    if shared.withLock({ $0.mustWake() }) { poller.wake() }
  }

  /// `true` if the calling thread is the loop's.
  public var isOnLoop: Bool { owner.load(ordering: .relaxed) == pthread_self() }

  /// Ends the process in debug builds if the calling thread is not the loop's.
  public func assertOnLoop() {
    assert(isOnLoop, "this belongs to the thread of the event loop \"\(name)\"")
  }

  func releaseHold(_ id: UInt64) {
    let mustWake = shared.withLock { shared in
      shared.holds[id] = nil
      return shared.holds.isEmpty && shared.mustWake()
    }
    if mustWake { poller.wake() }
  }

  /// Appends `item` to the queue. Needs no lock inside `run`, where no other thread can be running the loop.
  func append(_ item: ReadyItem) {
    // Work posted to a loop that has ended would be kept for ever, with everything that it references.
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

/// Returns the time of a clock of the machine.
func nanoseconds(of clock: clockid_t) -> Int64 {
  var time = timespec()
  clock_gettime(clock, &time)
  return .nanoseconds(seconds: Int64(time.tv_sec), rest: Int64(time.tv_nsec))
}

extension EventLoop {
  /// The machine's monotonic clock in microseconds, which is the same for all processes. Any thread.
  public static var machineMicroseconds: Int64 { nanoseconds(of: CLOCK_MONOTONIC) / 1000 }
}
