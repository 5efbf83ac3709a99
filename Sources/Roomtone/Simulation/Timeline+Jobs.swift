internal import EventLoop
internal import LuaRuntime
internal import Scheduling
internal import StreamKit

/// Events of jobs, as entries of the time line.
extension Timeline {
  func receive(_ job: Job, _ event: JobEvent) {
    func add(_ entry: TimelineEvent) { self.add(entry, job: job.name) }
    summary.count(event, of: job)
    switch event {
    case .started: addRun(of: job)
    case .failed(let reason):
      let error = summary.removeFailure(of: job)
      add(.failed(message: error?.description ?? reason, code: error?.code, inRow: job.failuresInRow))
    case .skipped(let due): add(.skipped(due: time(due), isRequested: false))
    case .omitted(let due): add(.skipped(due: time(due), isRequested: true))
    case .missed(let due): add(.missed(due: time(due)))
    case .withoutSun(let date, let next): add(.withoutSun(from: date, next: next.map(time)))
    case .succeeded, .queued, .failing, .ended: break
    }
  }
}

/// The counts of a time line, for its summary.
struct TimelineSummary {
  private struct Counts {
    var runs = 0
    var failures = 0
    var skipped = 0
    var missed = 0
    var next: TimelineTime?
  }

  /// Errors that were no run of a job.
  var failures = 0
  var warnings = 0
  private var jobs: [(name: String, counts: Counts)] = []
  private var jobErrors: [String: LuaError] = [:]
  private var sources: [(url: String, isHeard: Bool)] = []

  /// Keeps the error of a job until its event comes; returns false for any other error.
  mutating func keep(_ error: LuaError) -> Bool {
    guard var context = error.context, let start = context.firstRange(of: "job \"") else { return false }
    context = String(context[start.lowerBound...])
    var error = error
    error.context = nil
    jobErrors[context] = error
    return true
  }

  /// Removes and returns the error with which the last run of a job failed.
  mutating func removeFailure(of job: Job) -> LuaError? {
    jobErrors.removeValue(forKey: "job \"\(job.name)\"")
  }

  mutating func count(_ event: JobEvent, of job: Job) {
    switch event {
    case .started: jobs[index(of: job.name)].counts.runs += 1
    case .failed: jobs[index(of: job.name)].counts.failures += 1
    case .skipped, .omitted: jobs[index(of: job.name)].counts.skipped += 1
    case .missed: jobs[index(of: job.name)].counts.missed += 1
    case .succeeded, .queued, .failing, .withoutSun, .ended: break
    }
  }

  /// Adds the jobs that are scheduled at the end, with their next runs.
  mutating func add(_ scheduled: [(job: Job, next: TimelineTime?)]) {
    for (job, next) in scheduled { jobs[index(of: job.name)].counts.next = next }
  }

  /// Adds a source of scripts, or one of the stations of the simulation, once.
  mutating func addSource(_ url: String, isHeard: Bool) {
    if let index = sources.firstIndex(where: { $0.url == url }) {
      sources[index].isHeard = sources[index].isHeard || isHeard
    } else {
      sources.append((url, isHeard))
    }
  }

  private mutating func index(of job: String) -> Int {
    if let index = jobs.firstIndex(where: { $0.name == job }) { return index }
    jobs.append((job, Counts()))
    return jobs.count - 1
  }

  /// Returns the entries of the summary; none when there is nothing to count.
  func entries(at time: TimelineTime) -> [TimelineEntry] {
    func entry(_ summary: TimelineEvent.Summary, _ job: String? = nil) -> TimelineEntry {
      TimelineEntry(time: time, room: "", job: job, event: .summary(summary))
    }
    let failures = jobs.reduce(failures) { $0 + $1.counts.failures }
    let unheard = sources.filter { !$0.isHeard }
    guard !jobs.isEmpty || !unheard.isEmpty || failures > 0 || warnings > 0 else { return [] }
    return jobs.map { name, counts in
      entry(
        .job(
          runs: counts.runs, failures: counts.failures, skipped: counts.skipped, missed: counts.missed,
          next: counts.next), name)
    } + (unheard.isEmpty ? [] : [entry(.unheard(sources: unheard.map { StreamAddress.shown($0.url) }))]) + [
      entry(
        .total(runs: jobs.reduce(0) { $0 + $1.counts.runs }, failures: failures, warnings: warnings))
    ]
  }
}
