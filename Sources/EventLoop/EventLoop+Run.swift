internal import Glibc
internal import Synchronization

extension EventLoop {
  /// Runs ready items and waits for more, until the loop is done, idle or stopped. The calling thread becomes
  /// the loop's thread.
  ///
  /// May be called again, and then continues with the items left over. Not from inside itself.
  /// - Parameter isDone: called on the loop's thread, before any item and after each one.
  public func run(until isDone: () -> Bool) -> RunResult {
    let (entered, _) = runner.compareExchange(
      expected: 0, desired: pthread_self(), ordering: .acquiringAndReleasing)
    precondition(entered, "the event loop \"\(name)\" is already running")
    owner.store(pthread_self(), ordering: .relaxed)
    defer { runner.store(0, ordering: .releasing) }

    if isStopped() { return .stopped }
    if isDone() { return .done }
    while true {
      var budget = RoundBudget(isVirtual: isVirtual)
      while let (item, isAhead) = ready.pop() {
        perform(item)
        if isStopped() { return .stopped }
        if isDone() { return .done }
        // Items put ahead consume none of the work's budget: a descriptor that is always ready, with slow
        // turns, would keep the work of the round waiting for ever.
        if isAhead {
          budget.restart()
        } else if budget.isSpentByTurn(), !ready.isRoundOver {
          lookAhead()
        }
      }
      collect()
      if ready.isEmpty, !waitForWork() { return .idle }
      ready.beginRound()
      if isStopped() { return .stopped }
    }
  }

  /// `true` if an item is ready to run, before a wait for more. The loop's thread.
  public var hasReadyWork: Bool { !ready.isEmpty }

  /// Returns `true`, once, after `stop` was called.
  private func isStopped() -> Bool {
    guard stopRequested.load(ordering: .relaxed) else { return false }
    stopRequested.store(false, ordering: .relaxed)
    return true
  }

  private func perform(_ item: ReadyItem) {
    workSincePoll += 1
    switch item {
    case .job(let job):
      job.runSynchronously(isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
    case .work(let work): work()
    case .timer(let timer): timer.fire()
    case .event(let watch): watch.deliver()
    case .removed: break
    }
  }

  /// Moves items that became ready without a wait into the queue.
  private func collect() {
    takeInbox()
    if let due = timers.nextDue, due <= now.nanoseconds { collectTimers() }
    if watches.isEmpty && civilTimers.isEmpty { return }
    // A busy loop polls its descriptors now and then, an idle one in `waitForWork`.
    guard !ready.isEmpty else { return }
    if workSincePoll >= 64 || (!isVirtual && monotonicNow - lastPoll > 100_000) { poll(nanoseconds: 0) }
  }

  /// Runs in the middle of a round that has used up its budget: puts timers that are due and descriptors that
  /// are ready, signals among them, before pending work.
  private func lookAhead() {
    var round = ReadyQueue()
    swap(&round, &ready)
    if !timers.isEmpty { collectTimers() }
    if !watches.isEmpty || !civilTimers.isEmpty { poll(nanoseconds: 0) }
    swap(&round, &ready)
    ready.putAhead(round.takeAll())
  }

  private func takeInbox() {
    guard hasInbox.load(ordering: .relaxed) else { return }
    let items = shared.withLock { shared in
      hasInbox.store(false, ordering: .relaxed)
      return takeAll(&shared.inbox)
    }
    ready.append(contentsOf: items)
  }

  private func collectTimers() {
    let now = now.nanoseconds
    while let timer = timers.popDue(at: now) { ready.append(.timer(timer)) }
  }

  /// Sleeps until an item is ready, or moves virtual time to the next timer.
  /// - Returns: `false` if nothing can ever become ready.
  private func waitForWork() -> Bool {
    // The inbox and the holds are read together: a worker posts, then releases, and the loop must not see the
    // release without the post. From here on a thread that appends to the inbox wakes the poller.
    let (hasWork, isHeld) = shared.withLock { shared in
      let hasWork = !shared.inbox.isEmpty || stopRequested.load(ordering: .relaxed)
      shared.isAsleep = !hasWork
      return (hasWork, !shared.holds.isEmpty)
    }
    if hasWork {
      takeInbox()
      return true
    }
    defer {
      shared.withLock { $0.isAsleep = false }
      takeInbox()
    }
    let canWait = isHeld || watches.keepAliveCount > 0
    if isVirtual {
      if isHeld {
        poll(nanoseconds: nil)
        return true
      }
      // Descriptors that keep nothing alive, such as those of signals, are checked now and then: a system
      // call costs as much as a turn.
      if !watches.isEmpty, watches.keepAliveCount > 0 || workSincePoll >= 64 { poll(nanoseconds: 0) }
      if !ready.isEmpty { return true }
      if let due = timers.nextDue, canWait || timers.keepAliveCount > 0 {
        virtualNow = max(virtualNow, due)
        collectTimers()
        return true
      }
      if canWait { poll(nanoseconds: nil) }
      return canWait
    }
    let due = timers.nextDue
    guard canWait || timers.keepAliveCount > 0 || civilTimers.keepAliveCount > 0 else {
      if !watches.isEmpty { poll(nanoseconds: 0) }
      return !ready.isEmpty
    }
    poll(nanoseconds: due.map { max(0, $0.subtractingHeld(now.nanoseconds)) })
    return true
  }

  /// Polls the kernel for events, waiting at most `nanoseconds` for them (nil: for ever).
  private func poll(nanoseconds: Int64?) {
    if !isVirtual { poller.armCivil(civilTimers.nextDue) }
    let hasReadyFiles = watches.collectAlwaysReady(into: &ready)
    poller.wait(nanoseconds: hasReadyFiles ? 0 : nanoseconds) { event in
      switch event {
      case .civil:
        followClock()
        collectCivilTimers()
      case .descriptor(let token, let events): watches.collect(token: token, events, into: &ready)
      }
    }
    workSincePoll = 0
    if !isVirtual { lastPoll = monotonicNow }
  }

  /// Queues the civil timers that are due by the wall clock, not by the kernel's alarm, so that none fires
  /// early.
  private func collectCivilTimers() {
    let wall = wallNow.nanoseconds
    while let timer = civilTimers.popDue(at: wall) { ready.append(.timer(timer)) }
  }
}

/// The turns and the time of a round's work after which timers and descriptors are polled before the round is
/// over.
private struct RoundBudget {
  private static let turns = 1000
  private static let time: Int64 = 10_000_000
  private let isVirtual: Bool
  private var turns = 0
  private var began: Int64

  init(isVirtual: Bool) {
    self.isVirtual = isVirtual
    began = isVirtual ? 0 : Self.now
  }

  mutating func restart() { self = RoundBudget(isVirtual: isVirtual) }

  /// The time of a clock of some milliseconds' resolution, which takes a few nanoseconds to read.
  private static var now: Int64 { nanoseconds(of: CLOCK_MONOTONIC_COARSE) }

  /// Counts a turn. Returns `true`, and begins a new budget, when the turns or the time have reached their
  /// limit. Virtual time does not pass in a round, and the machine's time must not change the course of a
  /// simulation.
  mutating func isSpentByTurn() -> Bool {
    turns += 1
    let now = isVirtual ? began : Self.now
    guard turns >= Self.turns || now - began >= Self.time else { return false }
    (turns, began) = (0, now)
    return true
  }
}

/// Empties the array and returns its former elements.
private func takeAll<Element>(_ array: inout [Element]) -> [Element] {
  defer { array = [] }
  return array
}
