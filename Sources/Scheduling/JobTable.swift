public import EventLoop

/// The jobs of an engine, in the order in which they were added.
///
/// Confined to the thread of its loop. Owners are scripts, by a number that the engine assigns; job names are
/// unique for each.
public final class JobTable {
  private let loop: EventLoop
  private let zone: any LocalZone
  private let observe: (Job, JobEvent) -> Void
  private let memory: (any JobMemory)?
  private var jobs: [Job] = []

  /// A table without jobs.
  /// - Parameters:
  ///   - zone: the default for jobs without one.
  ///   - memory: the records of jobs with an identity.
  ///   - observe: called on the loop with each event of a job, skipped runs included.
  public init(
    loop: EventLoop, zone: any LocalZone, memory: (any JobMemory)? = nil,
    observe: @escaping (Job, JobEvent) -> Void = { _, _ in }
  ) {
    (self.loop, self.zone, self.memory, self.observe) = (loop, zone, memory, observe)
    loop.onClockSet { [weak self] change in
      for job in self?.jobs ?? [] { job.clockWasSet(by: change) }
    }
  }

  /// Adds a job.
  ///
  /// A job that is remembered continues that of the process before with the same identity and name: a run that was due
  /// meanwhile begins late or is left out, as `lateRuns` says.
  /// - Parameters:
  ///   - name: nil derives one from the recurrence: `at 06:45 mon-fri`.
  ///   - identity: the identity of the owner in all processes; nil for a job that is not remembered.
  ///   - early: the time by which it runs before its moments, at least 0; a moment that is nearer runs at once. Not for
  ///     plain intervals.
  ///   - body: begins a run; called on the loop, each time with a run that it must end.
  /// - Throws: `schedule.duplicate`, `schedule.past`, `schedule.syntax` for an invalid interval.
  @discardableResult
  public func add(
    _ recurrence: Recurrence, name: String? = nil, owner: Int = 0, identity: String? = nil,
    zone: (any LocalZone)? = nil, overlap: OverlapPolicy = .skip, early: Duration = .zero,
    lateRuns: LateRunPolicy = .init(), _ body: @escaping (JobRun) -> Void
  ) throws(ScheduleError) -> Job {
    loop.assertOnLoop()
    try recurrence.validate()
    if let name, let other = job(named: name, owner: owner) {
      throw ScheduleError(
        .duplicate, "there is already a job \(quoted(name)) (\(other.recurrence))",
        hint: "give it another name, or cancel the other job first")
    }
    let zone = zone ?? self.zone
    let unique = name ?? freeName("\(recurrence)", owner: owner)
    let record = identity.flatMap { memory?.record(of: unique, owner: $0) }
    let now = loop.wallNow
    let wasMissed = record?.next.map { $0 <= now } ?? false
    if case .once(let moment) = recurrence, recurrence.next(after: now, in: zone) == nil, !wasMissed {
      throw Recurrence.past(moment, now: now, in: zone)
    }
    let setup = Job.Setup(
      name: unique, owner: owner, recurrence: recurrence, zone: zone, overlap: overlap, early: early,
      lateRuns: lateRuns, record: record)
    let job = Job(
      setup, loop: loop,
      keep: { [memory] record in
        if let identity { memory?.keep(record, of: unique, owner: identity) }
      }, observe: observe,
      onEnd: { [weak self] ended in self?.jobs.removeAll { $0 === ended } }, body: body)
    jobs.append(job)
    return job
  }

  /// Returns the jobs of `owner`, nil: of all, in the order in which they were added.
  public func jobs(of owner: Int? = nil) -> [Job] { jobs.filter { owner == nil || $0.owner == owner } }

  /// Returns true if `owner` has a job.
  public func hasJobs(of owner: Int) -> Bool { jobs.contains { $0.owner == owner } }

  /// Returns the job called `name`, nil when there is none.
  public func job(named name: String, owner: Int = 0) -> Job? {
    jobs.first { $0.owner == owner && $0.name == name }
  }

  /// Ends all jobs of `owner`, nil: of all, with their process: those that are remembered continue in the next one.
  public func endAll(of owner: Int? = nil) {
    let ending = jobs(of: owner)
    // All at once: each would look for itself among the others.
    jobs.removeAll { owner == nil || $0.owner == owner }
    for job in ending { job.leave() }
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
