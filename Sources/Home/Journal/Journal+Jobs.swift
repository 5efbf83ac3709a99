internal import EventLoop
internal import JSONText
public import Scheduling

/// The declarations of jobs in scripts, and the causes of their runs.
struct JobOrigins {
  final class Origin {
    fileprivate weak var job: Job?
    let script: String
    let line: Int
    /// The cause of the changes by the latest run; nil before the first run.
    fileprivate(set) var run: Cause?

    fileprivate init(_ job: Job, script: String, line: Int) {
      (self.job, self.script, self.line) = (job, script, line)
    }
  }

  /// The scripts of jobs, also of jobs that are over, by the names of the jobs.
  private(set) var names: [String: String] = [:]
  private var origins: [ObjectIdentifier: Origin] = [:]
  private var room = 64

  /// The declaration of a job; nil for a job that is not declared, or over.
  subscript(job: Job) -> Origin? {
    origins[ObjectIdentifier(job)].flatMap { $0.job === job ? $0 : nil }
  }

  /// Keeps the place in a script that has made a job.
  @discardableResult
  mutating func declare(_ job: Job, script: String, line: Int) -> Origin {
    let origin = Origin(job, script: script, line: line)
    origins[ObjectIdentifier(job)] = origin
    if !script.isEmpty, names.count < 1000 || names[job.name] != nil { names[job.name] = script }
    if origins.count > room {
      origins = origins.filter { $0.value.job != nil }
      room = max(64, 2 * origins.count)
    }
    return origin
  }

  /// Drops the declaration of a job that is over.
  mutating func remove(_ job: Job) { origins[ObjectIdentifier(job)] = nil }
}

/// Runs of jobs, and runs that did not take place.
extension Journal {
  /// Keeps the place in a script that has made a job.
  /// - Parameter line: the line of the script; 0 if it is not known.
  public func declare(_ job: Job, script: String, line: Int) {
    jobs.declare(job, script: script, line: line)
  }

  /// Returns the cause of the changes by the latest run of a job; nil before the first run.
  public func cause(of job: Job) -> Cause? { jobs[job]?.run }

  /// Keeps the cause of an event of a job for its listeners, and records the event if it is of interest. To
  /// be called before any other listener.
  /// - Returns: the entry; nil for an event that is not recorded.
  public func receive(_ event: JobEvent, of job: Job) -> JournalEntry? {
    var entry: JournalEntry?
    func add(
      _ kind: JournalEntry.Kind, _ to: JournalEntry.Value = .none, _ detail: String? = nil,
      _ facts: [JournalEntry.Fact] = [], by cause: Cause?
    ) {
      entry = recent(
        record(kind, of: .job, job.name, to: to, detail: detail, facts: facts, cause: cause))
    }
    let origin = jobs[job]
    func schedule(_ parent: Cause?) -> Cause {
      Cause(
        .job, job.name, detail: "\(job.recurrence)", script: origin?.script, line: origin?.line ?? 0,
        at: loop.wallNow, parent: parent)
    }
    jobEvent = origin?.run
    switch event {
    case .started:
      let cause = schedule(current)
      jobEvent = cause
      (origin ?? jobs.declare(job, script: "", line: 0)).run = cause
      add(.run, by: cause)
    case .failed(let reason):
      add(.failed, .none, reason, [.init("in_row", .number(job.failuresInRow))], by: origin?.run)
    case .skipped(let due):
      let reason =
        job.overlap == .queue ? "\(Job.queueLimit) runs wait already" : "the one before has not ended"
      jobEvent = schedule(nil)
      add(.skipped, .time(due), reason, by: jobEvent)
    case .missed(let due):
      jobEvent = schedule(nil)
      add(.missed, .time(due), absence(at: due, job), by: jobEvent)
    case .omitted(let due):
      jobEvent = current ?? schedule(nil)
      add(.omitted, .time(due), by: jobEvent)
    case .withoutSun(let date, let next):
      add(
        .sunless, next.map { .time($0) } ?? .none,
        "has no run from \(date) on, as the sun stays up or down all day",
        [.init("date", .string("\(date)"))], by: schedule(nil))
    case .ended:
      // Only a command that ends the job is recorded.
      if let current {
        jobEvent = current
        add(.cancelled, by: current)
      }
      jobs.remove(job)
    case .failing(let runs, _):
      entry = JournalEntry(.failing, of: .job, job.name, at: loop.wallNow, to: .number(runs))
    case .succeeded, .queued: break
    }
    return entry
  }

  /// Returns the reason for a missed run in words.
  private func absence(at due: WallTime, _ job: Job) -> String {
    let text = JournalText(zone: job.zone, now: loop.wallNow)
    let policy: String
    if let grace = job.lateRuns.grace {
      policy = "that was longer ago than its grace of \(DurationText.describe(grace))"
    } else {
      policy = job.lateRuns.catchesUp ? "catch_up is \"run_once\"" : "catch_up is \"skip\""
    }
    guard due < began else {
      return "the machine slept, or its clock was set, until \(text.time(loop.wallNow)); \(policy)"
    }
    guard let last = archive?.last else {
      return "roomtone did not run before \(text.time(began)); \(policy)"
    }
    let since = last.at < due ? "from \(last.isEnd ? "" : "some time after ")\(text.time(last.at)) " : ""
    return "roomtone did not run \(since)to \(text.time(began)); \(policy)"
  }
}
