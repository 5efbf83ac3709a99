public import EventLoop

/// What to do when a job is due while a run of it goes on.
public enum OverlapPolicy: String, Sendable, CaseIterable {
  /// Leave the new run out.
  case skip
  /// Start it when the run has ended; at most `Job.queueLimit` wait.
  case queue
  /// Start it beside the run.
  case parallel
}

/// What happens to a job.
public enum JobEvent: Sendable, Equatable {
  /// A run has begun.
  case started
  /// A run has ended well.
  case succeeded
  /// A run has failed, for this reason. The job goes on.
  case failed(String)
  /// The run for this moment is left out: another one goes on, or too many wait.
  case skipped(due: WallTime)
  /// The run for this moment waits for another one to end.
  case queued(due: WallTime)
  /// The job has nothing left to do, and is gone.
  case ended
}

/// Something that runs again and again, or once, by the clock. Kept by its table until it ends or is cancelled.
///
/// Confined to the thread of its loop.
public final class Job {
  /// How many runs may wait under `.queue`.
  public static let queueLimit = 16

  /// Unique among the jobs of its owner.
  public let name: String
  /// Whose job it is.
  public let owner: Int
  /// When it runs.
  public let recurrence: Recurrence
  /// By which clocks.
  public let zone: any LocalZone
  /// What happens when it is due while it runs.
  public let overlap: OverlapPolicy
  /// How long before its moments it runs.
  public let early: Duration
  /// When the last run began, nil before the first.
  public private(set) var last: WallTime?
  /// The moment for which the last run was meant, nil before the first.
  public private(set) var lastDue: WallTime?
  /// How many runs have begun.
  public private(set) var runs = 0
  /// How many runs have failed.
  public private(set) var failures = 0
  /// How many runs go on.
  public private(set) var running = 0
  /// False when the job has ended or was cancelled.
  public private(set) var isActive = true

  private let loop: EventLoop
  private var body: ((JobRun) -> Void)?
  private let observe: (Job, JobEvent) -> Void
  private var onEnd: ((Job) -> Void)?
  private var timer: LoopTimer?
  private var due: Due?
  private var waiting: [WallTime] = []

  /// The next moment: by the calendar, or, for plain intervals, by the loop's time, which nobody can set.
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

  /// When it runs next, nil when it does not run again by itself.
  public var next: WallTime? {
    switch due {
    case .wall(let moment): moment.advanced(by: .zero - early)
    case .loop(let instant): loop.wallNow.advanced(by: loop.now.duration(to: instant))
    case nil: nil
    }
  }

  /// Ends the job: no run begins any more, those that wait are dropped. Runs that go on are not touched.
  public func cancel() {
    loop.assertOnLoop()
    finish(nil)
  }

  /// Begins a run now, as if the job were due; `next` stays what it is. False when the job has ended.
  @discardableResult
  public func runNow() -> Bool {
    loop.assertOnLoop()
    guard isActive else { return false }
    come(due: loop.wallNow)
    return true
  }

  // MARK: Time

  /// Sets the timer for the moment after the one that has come, nil: for the first.
  private func advance(from previous: Due?) {
    let now = loop.wallNow
    if case .every(let distance, aligned: false) = recurrence {
      var instant = loop.now
      if case .loop(let last) = previous {
        // Keeps its beat: what was missed, as on a machine that was too busy, is left out, not made up for.
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
    // The closures must not be released inside the access that clears them: their end may look at this job.
    withExtendedLifetime((held, onEnd)) {
      (body, self.onEnd) = (nil, nil)
      onEnd?(self)
      if let event { observe(self, event) }
    }
  }
}

/// One run of a job: told to begin, it tells when it has ended, now or later, on the loop's thread.
///
/// A run that is let go without a word has failed.
public final class JobRun {
  /// The job that runs.
  public let job: Job
  /// The moment for which the run was meant; it may begin later.
  public let due: WallTime
  /// 1 for the first run of the job.
  public let number: Int
  private var isOver = false

  fileprivate init(job: Job, due: WallTime, number: Int) {
    (self.job, self.due, self.number) = (job, due, number)
  }

  deinit {
    if !isOver { job.ended("the run was dropped before it had ended") }
  }

  /// The run has ended well. Nothing when it has ended before.
  public func succeed() { end(nil) }

  /// The run has failed, for this reason. Nothing when it has ended before.
  public func fail(_ reason: String) { end(reason) }

  private func end(_ failure: String?) {
    guard !isOver else { return }
    isOver = true
    job.ended(failure)
  }
}
