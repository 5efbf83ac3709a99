public import EventLoop

/// The policy for a job that becomes due during a run of it.
public enum OverlapPolicy: String, Sendable, CaseIterable {
  /// Skip the new run.
  case skip
  /// Queue the new run until the current one has ended; at most `Job.queueLimit` wait.
  case queue
  /// Start the new run beside the current one.
  case parallel
}

/// An event of a job.
public enum JobEvent: Sendable, Equatable {
  /// A run has begun.
  case started
  /// A run has succeeded.
  case succeeded
  /// A run has failed, for this reason. The job continues.
  case failed(String)
  /// The run for this moment is skipped: another one is running, or too many wait.
  case skipped(due: WallTime)
  /// The run for this moment waits for another one to end.
  case queued(due: WallTime)
  /// The run for this moment is left out: it was due too long ago.
  case missed(due: WallTime)
  /// The run for this moment is left out on request.
  case omitted(due: WallTime)
  /// Failures of `runs` runs in a row, the last for this reason.
  case failing(runs: Int, String)
  /// The sun has no event for the job from that date on, until the next run; nil if the coming year has no
  /// run.
  case withoutSun(from: CalendarDate, next: WallTime?)
  /// The job has no further runs, or was cancelled, and is removed.
  case ended
}

/// An action that runs repeatedly, or once, by the clock. Its table retains it until it ends or is cancelled.
///
/// Confined to the thread of its loop.
public final class Job {
  /// The limit of runs that wait under `.queue`.
  public static let queueLimit = 16
  /// The number of failures in a row that is reported.
  public static let failureLimit = 3

  /// The name, unique among the jobs of its owner.
  public let name: String
  /// The number of the owner.
  public let owner: Int
  /// The schedule.
  public let recurrence: Recurrence
  /// The zone whose clocks count.
  public let zone: any LocalZone
  /// The policy for a moment during a run.
  public let overlap: OverlapPolicy
  /// The time by which it runs before its moments.
  public let early: Duration
  /// The policy for a moment that was missed.
  public let lateRuns: LateRunPolicy
  /// The start of the last run, nil before the first. For a remembered job also that of an earlier process.
  public private(set) var last: WallTime?
  /// The moment for which the last run was due, nil before the first.
  public private(set) var lastDue: WallTime?
  /// The number of runs in a row that have failed, up to the last one.
  public private(set) var failuresInRow = 0
  /// The number of runs that have begun.
  public private(set) var runs = 0
  /// The number of runs that have failed.
  public private(set) var failures = 0
  /// The number of current runs.
  public private(set) var running = 0
  /// `false` once the job has ended or was cancelled.
  public var isActive: Bool { work != nil }

  private let loop: EventLoop
  /// The action, and the callback at the end; nil once the job has ended or was cancelled.
  private var work: (body: (JobRun) -> Void, onEnd: (Job) -> Void)?
  private let observe: (Job, JobEvent) -> Void
  private let keep: (JobRecord?) -> Void
  private var listeners = Listeners<(JobEvent) -> Void>()
  private var timer: LoopTimer?
  private var due: Due?
  private var waiting: [WallTime] = []

  /// The next moment: by the calendar, or, for plain intervals, by the loop's monotonic time.
  private enum Due {
    case wall(WallTime)
    case loop(Instant)
  }

  struct Setup {
    let name: String
    let owner: Int
    let recurrence: Recurrence
    let zone: any LocalZone
    let overlap: OverlapPolicy
    let early: Duration
    let lateRuns: LateRunPolicy
    /// The record kept by an earlier process.
    let record: JobRecord?
  }

  init(
    _ setup: Setup, loop: EventLoop, keep: @escaping (JobRecord?) -> Void,
    observe: @escaping (Job, JobEvent) -> Void, onEnd: @escaping (Job) -> Void,
    body: @escaping (JobRun) -> Void
  ) {
    (name, owner, recurrence) = (setup.name, setup.owner, setup.recurrence)
    (zone, overlap, early, lateRuns) = (setup.zone, setup.overlap, setup.early, setup.lateRuns)
    (self.loop, self.keep, self.observe, work) = (loop, keep, observe, (body, onEnd))
    if let record = setup.record {
      (last, lastDue, failuresInRow) = (record.last, record.lastDue, record.failuresInRow)
    }
    // A moment that has had its run, up to `early` before it, has no second run. A later moment comes from a
    // wrong clock.
    let now = loop.wallNow
    let hasRun = lastDue.flatMap { $0 <= now.advanced(by: early) ? Due.wall($0) : nil }
    advance(from: hasRun)
    if let next = setup.record?.next, isDue(at: next) { resume(from: next) }
  }

  /// Adds a listener for the events of the job, called on the loop after the observer of its table.
  /// - Returns: a closure that removes it.
  public func onEvent(_ listener: @escaping (JobEvent) -> Void) -> () -> Void {
    loop.assertOnLoop()
    let number = listeners.add(listener)
    return { [weak self] in self?.listeners.remove(number) }
  }

  /// The time of the next run, nil when no run is scheduled.
  public var next: WallTime? {
    switch due {
    case .wall(let moment): moment.advanced(by: .zero - early)
    case .loop(let instant): loop.wallNow.advanced(by: loop.now.duration(to: instant))
    case nil: nil
    }
  }

  /// Ends the job: no further run begins, and queued runs are dropped. Current runs are not affected.
  public func cancel() {
    loop.assertOnLoop()
    if isActive { keep(nil) }
    finish(.ended)
  }

  /// Ends the job with its process: as `cancel`, but without an event, and its record stays.
  func leave() { finish(nil) }

  /// Leaves out the next run. Does nothing without one, and for a plain interval.
  /// - Returns: the moment of the skipped run.
  @discardableResult
  public func skipNext() -> WallTime? {
    loop.assertOnLoop()
    guard case .wall(let moment) = due else { return nil }
    advance(from: due)
    report(.omitted(due: moment))
    endIfOver()
    return moment
  }

  /// Begins a run now, as if the job were due; `next` does not change.
  /// - Returns: `false` if the job has ended.
  @discardableResult
  public func runNow() -> Bool {
    loop.assertOnLoop()
    guard isActive else { return false }
    come(due: loop.wallNow)
    return true
  }

  // MARK: Time

  /// Sets the timer for the moment after `previous`; nil for the first moment.
  private func advance(from previous: Due?) {
    if case .every(let distance, aligned: false) = recurrence {
      var instant = loop.now
      if case .loop(let last) = previous {
        // The interval keeps its phase: missed moments, as on a machine that was too busy, are skipped, not
        // made up for.
        let late = max(0, last.duration(to: instant).nanoseconds)
        instant = last.advanced(by: .nanoseconds(late - late % distance.nanoseconds))
      }
      instant = instant.advanced(by: distance)
      due = .loop(instant)
      timer = loop.at(instant) { self.fire() }
      return
    }
    var start = loop.wallNow
    if case .wall(let last) = previous { start = max(last, start) }
    // At the end of time, in 2262, the next moment is the same one.
    let moment = recurrence.next(after: start, in: zone).flatMap { $0 > start ? $0 : nil }
    timer?.cancel()
    due = moment.map { .wall($0) }
    timer = moment.map { loop.at($0.advanced(by: .zero - early)) { self.fire() } }
    remember()
    if case .sun(let time, let days, let location) = recurrence,
      let date = time.dateWithout(after: start, on: days, at: location, in: zone)
    {
      later { $0.report(.withoutSun(from: date, next: moment)) }
    }
  }

  private func fire() {
    guard let come = due, let next else { return }
    advance(from: come)
    switch come {
    case .loop: self.come(due: next)
    case .wall(let moment):
      let missed = missed(from: moment)
      if missed.isTooLate { leaveOut(missed.due) } else { self.come(due: missed.due) }
    }
  }

  /// Returns the last of the moments from `due` on that have passed, which stands for all of them.
  private func missed(from due: WallTime) -> (due: WallTime, isTooLate: Bool) {
    let now = loop.wallNow
    guard due < now else { return (due, false) }
    let last = recurrence.last(upTo: now, from: due, in: zone)
    return (last, !lateRuns.begins(after: last.duration(to: now)))
  }

  private func leaveOut(_ due: WallTime) {
    report(.missed(due: due))
    endIfOver()
  }

  /// `true` if the schedule has a moment, which an earlier process kept: the schedule may have changed since.
  private func isDue(at moment: WallTime) -> Bool {
    if case .once(let local) = recurrence { return zone.local(moment).time == local.time }
    return recurrence.next(after: moment.advanced(by: .nanoseconds(-1)), in: zone) == moment
  }

  /// Makes up for the runs that were due since an earlier process ended, or leaves them out. A single run
  /// that is made up for is not repeated at that time of the next day.
  private func resume(from next: WallTime) {
    guard next <= loop.wallNow else { return }
    let missed = missed(from: next)
    if case .once = recurrence, !missed.isTooLate {
      timer?.cancel()
      (timer, due) = (nil, nil)
    }
    later { missed.isTooLate ? $0.leaveOut(missed.due) : $0.come(due: missed.due) }
  }

  /// Calls `body` after the caller, which may be about to listen, has returned; not if the job ends before.
  private func later(_ body: @escaping (Job) -> Void) {
    loop.next { [weak self] in
      if let self, isActive { body(self) }
    }
  }

  /// Applies a change of the wall clock. After it is set back by hours, moments that had passed are ahead
  /// again.
  func clockWasSet(by change: Duration) {
    guard change < .seconds(-3 * 3600), case .wall = due else { return }
    advance(from: nil)
  }

  // MARK: Memory and events

  private func report(_ event: JobEvent) {
    observe(self, event)
    for listener in listeners.all { listener(event) }
  }

  /// Keeps the facts for the next process. Intervals begin anew with each process.
  private func remember() {
    if case .every = recurrence { return }
    var record = JobRecord(next: nil, last: last, lastDue: lastDue, failuresInRow: failuresInRow)
    if case .wall(let moment) = due { record.next = moment }
    keep(record)
  }

  // MARK: Runs

  private func come(due: WallTime) {
    guard running > 0 else { return begin(due: due) }
    switch overlap {
    case .parallel: begin(due: due)
    case .queue where waiting.count < Self.queueLimit:
      waiting.append(due)
      report(.queued(due: due))
    case .skip, .queue: report(.skipped(due: due))
    }
  }

  private func begin(due: WallTime) {
    guard let body = work?.body else { return }
    (running, runs, last, lastDue) = (running + 1, runs + 1, loop.wallNow, due)
    remember()
    let run = JobRun(job: self, due: due, number: runs)
    report(.started)
    body(run)
  }

  fileprivate func ended(_ failure: String?) {
    running -= 1
    failuresInRow = failure == nil ? 0 : failuresInRow + 1
    if failure != nil { failures += 1 }
    report(failure.map { .failed($0) } ?? .succeeded)
    if let failure, failuresInRow == Self.failureLimit { report(.failing(runs: failuresInRow, failure)) }
    guard isActive else { return }
    remember()
    if !waiting.isEmpty, running == 0 { return begin(due: waiting.removeFirst()) }
    endIfOver()
  }

  private func endIfOver() {
    guard due == nil, running == 0 else { return }
    // Until the moment of an early run, the record shows the next process that it has run.
    if failuresInRow > 0 || lastDue.map({ $0 <= loop.wallNow }) ?? true { keep(nil) }
    finish(.ended)
  }

  private func finish(_ event: JobEvent?) {
    guard let ended = work else { return }
    timer?.cancel()
    (timer, due, waiting) = (nil, nil, [])
    // The closures must not be released inside the access that clears them: their deinitializers may use this
    // job.
    withExtendedLifetime(ended) {
      work = nil
      ended.onEnd(self)
      if let event { report(event) }
    }
  }
}

/// A run of a job; `succeed` or `fail` ends it, at once or later, on the loop's thread.
///
/// A run that is released before it has ended has failed.
public final class JobRun {
  /// The job of this run.
  public let job: Job
  /// The moment for which the run was due; it may begin later.
  public let due: WallTime
  /// The number of the run, 1 for the first of the job.
  public let number: Int
  private var isOver = false

  fileprivate init(job: Job, due: WallTime, number: Int) {
    (self.job, self.due, self.number) = (job, due, number)
  }

  deinit {
    if !isOver { job.ended("the run was dropped before it had ended") }
  }

  /// Ends the run with success. Does nothing if it has ended before.
  public func succeed() { end(nil) }

  /// Ends the run with a failure, for this reason. Does nothing if it has ended before.
  public func fail(_ reason: String) { end(reason) }

  private func end(_ failure: String?) {
    guard !isOver else { return }
    isOver = true
    job.ended(failure)
  }
}
