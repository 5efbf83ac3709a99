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
  private var owners: [Int: OwnedJobs] = [:]
  private var listeners = Listeners<() -> Void>()
  /// The number of the last added job.
  private var lastNumber = 0

  /// The jobs of one owner: thousands are added and ended, each without a search.
  private struct OwnedJobs {
    /// The jobs by name, each with its number in the order of all.
    var entries: [String: (number: Int, job: Job)] = [:]
    /// The first suffix of a derived name that may be free, by the name without a suffix.
    var suffixes: [String: Int] = [:]
  }

  /// Creates a table without jobs.
  /// - Parameters:
  ///   - zone: the default for jobs without a zone.
  ///   - memory: the records of jobs with an identity.
  ///   - observe: called on the loop with each event of a job, skipped runs included.
  public init(
    loop: EventLoop, zone: any LocalZone, memory: (any JobMemory)? = nil,
    observe: @escaping (Job, JobEvent) -> Void = { _, _ in }
  ) {
    (self.loop, self.zone, self.memory, self.observe) = (loop, zone, memory, observe)
    loop.onClockSet { [weak self] change in
      for job in self?.jobs() ?? [] { job.clockWasSet(by: change) }
    }
  }

  /// Adds a job.
  ///
  /// A remembered job continues that of the previous process with the same identity and name: a run that was
  /// due meanwhile begins late or is left out, according to `lateRuns`.
  /// - Parameters:
  ///   - name: the name; nil derives one from the recurrence: `at 06:45 mon-fri`.
  ///   - identity: the identity of the owner in all processes; nil for a job that is not remembered.
  ///   - early: the time by which it runs before its moments, at least 0; a nearer moment runs at once. Not
  ///     for plain intervals.
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
      onEnd: { [weak self] ended in self?.remove(ended) }, body: body)
    lastNumber += 1
    owners[owner, default: OwnedJobs()].entries[unique] = (lastNumber, job)
    reportChange()
    return job
  }

  /// Calls `body` after each change of the list of jobs, as long as the table exists.
  public func listen(_ body: @escaping () -> Void) { _ = listeners.add(body) }

  private func reportChange() { for listener in listeners.all { listener() } }

  /// Returns the jobs of `owner`, or all for nil, in the order in which they were added.
  public func jobs(of owner: Int? = nil) -> [Job] {
    let owned = if let owner { [owners[owner]].compactMap { $0 } } else { Array(owners.values) }
    return owned.flatMap(\.entries.values).sorted { $0.number < $1.number }.map(\.job)
  }

  /// Returns the number of jobs of `owner`.
  public func count(of owner: Int) -> Int { owners[owner]?.entries.count ?? 0 }

  /// Returns the job called `name`, nil if there is no such job.
  public func job(named name: String, owner: Int = 0) -> Job? {
    owners[owner]?.entries[name]?.job
  }

  /// Ends all jobs of `owner`, or all for nil, with their process: remembered ones continue in the next
  /// process.
  public func endAll(of owner: Int? = nil) {
    let ending = jobs(of: owner)
    if let owner { owners[owner] = nil } else { owners = [:] }
    for job in ending { job.leave() }
    if !ending.isEmpty { reportChange() }
  }

  private func freeName(_ base: String, owner: Int) -> String {
    var number = owners[owner]?.suffixes[base] ?? 1
    func name() -> String { number == 1 ? base : "\(base) #\(number)" }
    while job(named: name(), owner: owner) != nil { number += 1 }
    owners[owner, default: OwnedJobs()].suffixes[base] = number
    return name()
  }

  private func remove(_ job: Job) {
    guard owners[job.owner]?.entries[job.name]?.job === job else { return }
    owners[job.owner]?.entries[job.name] = nil
    // Lower suffixes may be free again.
    owners[job.owner]?.suffixes = [:]
    reportChange()
  }
}
