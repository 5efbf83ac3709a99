internal import EventLoop
public import Scheduling

/// The declarations of jobs in scripts, and the causes of their runs.
struct JobOrigins {
  struct Origin {
    weak var job: Job?
    let script: String
    let line: Int
    var run: Cause?
  }

  /// The scripts of jobs, also of those that are over, by the names of the jobs.
  private(set) var names: [String: String] = [:]
  /// The cause of the event that the listeners of a job receive next.
  var event: Cause?
  private var origins: [ObjectIdentifier: Origin] = [:]
  private var room = 64

  subscript(job: Job) -> Origin? {
    get { origins[ObjectIdentifier(job)].flatMap { $0.job === job ? $0 : nil } }
    set {
      origins[ObjectIdentifier(job)] = newValue
      if let newValue, !newValue.script.isEmpty, names.count < 1000 || names[job.name] != nil {
        names[job.name] = newValue.script
      }
      guard origins.count > room else { return }
      origins = origins.filter { $0.value.job != nil }
      room = max(64, 2 * origins.count)
    }
  }
}

/// Runs of jobs, and those that did not happen.
extension ChangeLog {
  /// Keeps the place in a script that has made a job.
  /// - Parameter line: 0 for none.
  public func declare(_ job: Job, script: String, line: Int) {
    jobs[job] = .init(job: job, script: script, line: line, run: nil)
  }

  /// Returns the cause of what the latest run of a job does; nil before its first.
  public func cause(of job: Job) -> Cause? { jobs[job]?.run }

  /// The cause of the event of a job that is delivered now: its run, or its schedule.
  public var jobEvent: Cause? { jobs.event }

  /// Keeps the cause of an event of a job for its listeners, and records one that tells something. To be called before any
  /// other listener.
  public func receive(_ event: JobEvent, of job: Job) {
    func add(_ kind: Change.Kind, _ to: Change.Value = .none, _ detail: String? = nil, by cause: Cause?) {
      record(kind, of: .job, job.name, to: to, detail: detail, cause: cause)
    }
    func schedule(_ parent: Cause?) -> Cause {
      let origin = jobs[job]
      return Cause(
        .job, job.name, detail: "\(job.recurrence)", script: origin?.script, line: origin?.line ?? 0,
        at: loop.wallNow, parent: parent)
    }
    jobs.event = jobs[job]?.run
    switch event {
    case .started:
      let cause = schedule(current)
      jobs.event = cause
      if jobs[job] == nil { declare(job, script: "", line: 0) }
      jobs[job]?.run = cause
      add(.run, by: cause)
    case .failed(let reason): add(.failed, .none, reason, by: jobs[job]?.run)
    case .skipped(let due):
      let reason =
        job.overlap == .queue ? "\(Job.queueLimit) runs waited already" : "the run before had not ended"
      jobs.event = schedule(nil)
      add(.skipped, .time(due), reason, by: jobs.event)
    case .missed(let due):
      jobs.event = schedule(nil)
      add(.missed, .time(due), absence(at: due, job), by: jobs.event)
    case .omitted(let due):
      jobs.event = current ?? schedule(nil)
      add(.omitted, .time(due), by: jobs.event)
    case .withoutSun(let date, _):
      add(.sunless, .none, "no run from \(date) on: the sun stays up or down all day", by: schedule(nil))
    case .ended:
      // A job that is over needs no words.
      if let current {
        jobs.event = current
        add(.cancelled, by: current)
      }
      jobs[job] = nil
    case .succeeded, .queued, .failing: break
    }
  }

  /// Returns the reason for a missed run in words.
  private func absence(at due: WallTime, _ job: Job) -> String {
    let text = ChangeText(zone: job.zone, now: loop.wallNow)
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
