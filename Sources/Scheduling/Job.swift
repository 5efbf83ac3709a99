public import EventLoop

/// The policy for a job that is due during a run of it.
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
  /// The run for this moment is skipped: another one is under way, or too many wait.
  case skipped(due: WallTime)
  /// The run for this moment waits for another one to end.
  case queued(due: WallTime)
  /// The job has no further runs, and is removed.
  case ended
}

/// An action that runs repeatedly, or once, by the clock. Its table retains it until it ends or is cancelled.
///
/// Confined to the thread of its loop.
public final class Job {
  /// The number of runs that may wait under `.queue`.
  public static let queueLimit = 16

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
  /// The start of the last run, nil before the first.
  public private(set) var last: WallTime?
  /// The moment for which the last run was due, nil before the first.
  public private(set) var lastDue: WallTime?
  /// The number of runs that have begun.
  public private(set) var runs = 0
  /// The number of runs that have failed.
  public private(set) var failures = 0
  /// The number of runs under way.
  public private(set) var running = 0
  /// `false` when the job has ended or was cancelled.
  public private(set) var isActive = true

  private let loop: EventLoop
  private var body: ((JobRun) -> Void)?
  private let observe: (Job, JobEvent) -> Void
  private var onEnd: ((Job) -> Void)?
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
  }

  init(
    _ setup: Setup, loop: EventLoop, observe: @escaping (Job, JobEvent) -> Void,
    onEnd: @escaping (Job) -> Void, body: @escaping (JobRun) -> Void
  ) {
    (name, owner, recurrence) = (setup.name, setup.owner, setup.recurrence)
    (zone, overlap, early) = (setup.zone, setup.overlap, setup.early)
    (self.loop, self.observe, self.onEnd, self.body) = (loop, observe, onEnd, body)
    advance(from: nil)
  }

  /// The time of the next run, nil when no run is scheduled.
  public var next: WallTime? {
    switch due {
    case .wall(let moment): moment.advanced(by: .zero - early)
    case .loop(let instant): loop.wallNow.advanced(by: loop.now.duration(to: instant))
    case nil: nil
    }
  }

  /// Ends the job: no further run begins, and queued runs are dropped. Runs under way are not touched.
  public func cancel() {
    loop.assertOnLoop()
    finish(nil)
  }

  /// Begins a run now, as if the job were due; `next` does not change. Returns `false` when the job has
  /// ended.
  @discardableResult
  public func runNow() -> Bool {
    loop.assertOnLoop()
    guard isActive else { return false }
    come(due: loop.wallNow)
    return true
  }

  // MARK: Time

  /// Sets the timer for the moment after `previous`, nil: for the first.
  private func advance(from previous: Due?) {
    let now = loop.wallNow
    if case .every(let distance, aligned: false) = recurrence {
      var instant = loop.now
      if case .loop(let last) = previous {
        // Keeps its beat: moments missed, as on a machine that was too busy, are skipped, not made up for.
        let late = max(0, last.duration(to: instant).nanoseconds)
        instant = last.advanced(by: .nanoseconds(late - late % distance.nanoseconds))
      }
      instant = instant.advanced(by: distance)
      due = .loop(instant)
      timer = loop.at(instant) { self.fire() }
      return
    }
    var start = now
    if case .wall(let last) = previous { start = max(last, now) }
    guard let moment = recurrence.next(after: start, in: zone) else {
      (due, timer) = (nil, nil)
      return
    }
    due = .wall(moment)
    timer = loop.at(moment.advanced(by: .zero - early)) { self.fire() }
  }

  private func fire() {
    guard let come = due, let next else { return }
    advance(from: come)
    if case .wall(let moment) = come { self.come(due: moment) } else { self.come(due: next) }
  }

  // MARK: Runs

  private func come(due: WallTime) {
    guard running > 0 else { return begin(due: due) }
    switch overlap {
    case .parallel: begin(due: due)
    case .queue where waiting.count < Self.queueLimit:
      waiting.append(due)
      observe(self, .queued(due: due))
    case .skip, .queue: observe(self, .skipped(due: due))
    }
  }

  private func begin(due: WallTime) {
    guard let body else { return }
    (running, runs, last, lastDue) = (running + 1, runs + 1, loop.wallNow, due)
    let run = JobRun(job: self, due: due, number: runs)
    observe(self, .started)
    body(run)
  }

  fileprivate func ended(_ failure: String?) {
    running -= 1
    if failure != nil { failures += 1 }
    observe(self, failure.map { .failed($0) } ?? .succeeded)
    guard isActive else { return }
    if !waiting.isEmpty, running == 0 { return begin(due: waiting.removeFirst()) }
    if due == nil, running == 0 { finish(.ended) }
  }

  private func finish(_ event: JobEvent?) {
    guard isActive else { return }
    isActive = false
    timer?.cancel()
    (timer, due, waiting) = (nil, nil, [])
    let (held, onEnd) = (body, onEnd)
    // The closures must not be released inside the access that clears them: their deinitializers may use this
    // job.
    withExtendedLifetime((held, onEnd)) {
      (body, self.onEnd) = (nil, nil)
      onEnd?(self)
      if let event { observe(self, event) }
    }
  }
}

/// A run of a job, which `succeed` or `fail` ends, at once or later, on the loop's thread.
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

  /// Ends the run with success. Does nothing when it has ended before.
  public func succeed() { end(nil) }

  /// Ends the run with a failure, for this reason. Does nothing when it has ended before.
  public func fail(_ reason: String) { end(reason) }

  private func end(_ failure: String?) {
    guard !isOver else { return }
    isOver = true
    job.ended(failure)
  }
}
