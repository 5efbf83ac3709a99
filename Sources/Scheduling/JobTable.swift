public import EventLoop

/// The jobs of an engine, in the order in which they were added.
///
/// Confined to the thread of its loop. Owners are scripts, by a number that the engine assigns; job names are
/// unique for each.
public final class JobTable {
  private let loop: EventLoop
  private let zone: any LocalZone
  private let observe: (Job, JobEvent) -> Void
  private var jobs: [Job] = []

  /// A table without jobs.
  /// - Parameter zone: the default for jobs without one.
  /// - Parameter observe: called on the loop with each event of a job, skipped runs included.
  public init(
    loop: EventLoop, zone: any LocalZone, observe: @escaping (Job, JobEvent) -> Void = { _, _ in }
  ) {
    (self.loop, self.zone, self.observe) = (loop, zone, observe)
  }

  /// Adds a job.
  /// - Parameter name: nil derives one from the recurrence: `at 06:45 mon-fri`.
  /// - Parameter early: the time by which it runs before its moments, at least 0; a moment that is nearer
  ///   runs at once. Not for plain intervals.
  /// - Parameter body: begins a run; called on the loop, each time with a run that it must end.
  /// - Throws: `schedule.duplicate`, `schedule.past`, `schedule.syntax` for an invalid interval.
  @discardableResult
  public func add(
    _ recurrence: Recurrence, name: String? = nil, owner: Int = 0, zone: (any LocalZone)? = nil,
    overlap: OverlapPolicy = .skip, early: Duration = .zero, _ body: @escaping (JobRun) -> Void
  ) throws(ScheduleError) -> Job {
    loop.assertOnLoop()
    try recurrence.validate()
    if let name, let other = job(named: name, owner: owner) {
      throw ScheduleError(
        .duplicate, "there is already a job \(quoted(name)) (\(other.recurrence))",
        hint: "give it another name, or cancel the other job first")
    }
    let zone = zone ?? self.zone
    if case .once(let moment) = recurrence, recurrence.next(after: loop.wallNow, in: zone) == nil {
      throw Recurrence.past(moment, now: loop.wallNow, in: zone)
    }
    let setup = Job.Setup(
      name: name ?? freeName("\(recurrence)", owner: owner), owner: owner, recurrence: recurrence, zone: zone,
      overlap: overlap, early: early)
    let job = Job(
      setup, loop: loop, observe: observe,
      onEnd: { [weak self] ended in self?.jobs.removeAll { $0 === ended } }, body: body)
    jobs.append(job)
    return job
  }

  /// Returns the jobs of `owner`, nil: of all, in the order in which they were added.
  public func jobs(of owner: Int? = nil) -> [Job] { jobs.filter { owner == nil || $0.owner == owner } }

  /// Returns the job called `name`, nil when there is none.
  public func job(named name: String, owner: Int = 0) -> Job? {
    jobs.first { $0.owner == owner && $0.name == name }
  }

  /// Cancels all jobs of `owner`, nil: of all.
  public func cancelAll(of owner: Int? = nil) {
    for job in jobs(of: owner) { job.cancel() }
  }

  private func freeName(_ base: String, owner: Int) -> String {
    var (name, number) = (base, 1)
    while job(named: name, owner: owner) != nil {
      number += 1
      name = "\(base) #\(number)"
    }
    return name
  }
}
