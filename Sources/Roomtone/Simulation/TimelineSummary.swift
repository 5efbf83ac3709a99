internal import EventLoop
internal import Home
internal import JSONText
internal import LuaRuntime
internal import Scheduling
internal import StreamCore

/// The counts of a time line, for its summary.
struct TimelineSummary {
  private struct Counts {
    var runs = 0
    var failures = 0
    var skipped = 0
    var missed = 0
    var next: WallTime?
  }

  /// Errors that did not occur in a run of a job.
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
  mutating func removeFailure(of job: String) -> LuaError? { jobErrors.removeValue(forKey: "job \"\(job)\"") }

  /// Counts an entry about a job.
  mutating func count(_ entry: JournalEntry) {
    switch entry.kind {
    case .run: jobs[index(of: entry.name)].counts.runs += 1
    case .failed: jobs[index(of: entry.name)].counts.failures += 1
    case .skipped, .omitted: jobs[index(of: entry.name)].counts.skipped += 1
    case .missed: jobs[index(of: entry.name)].counts.missed += 1
    default: break
    }
  }

  /// Adds the jobs that are scheduled at the end, with their next runs.
  mutating func add(_ scheduled: [Job]) {
    for job in scheduled { jobs[index(of: job.name)].counts.next = job.next }
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

  /// Returns the entries of the summary, whose fact `about` names the thing that is counted; empty when
  /// nothing is.
  func entries(at time: WallTime, in zone: any LocalZone) -> [JournalEntry] {
    func entry(_ about: String, _ text: String, _ facts: [(String, JSON)], job: String? = nil) -> JournalEntry
    {
      var entry = JournalEntry(
        .summary, of: .house, at: time, detail: text,
        facts: [.init("about", .string(about))] + facts.map { .init($0, $1) })
      entry.job = job
      return entry
    }
    func text(_ number: Int, _ one: String) -> String { "\(number) \(one)\(number == 1 ? "" : "s")" }
    let failures = jobs.reduce(failures) { $0 + $1.counts.failures }
    let unheard = sources.filter { !$0.isHeard }.map { StreamAddress.shown($0.url) }
    guard !jobs.isEmpty || !unheard.isEmpty || failures > 0 || warnings > 0 else { return [] }
    var entries = jobs.map { name, counts in
      var parts = [counts.runs == 0 ? "no run" : text(counts.runs, "run")]
      if counts.failures > 0 { parts.append("\(counts.failures) failed") }
      if counts.skipped > 0 { parts.append("\(counts.skipped) skipped") }
      if counts.missed > 0 { parts.append("\(counts.missed) missed") }
      if counts.runs == 0 {
        parts.append(counts.next.map { "the next at \(zone.local($0))" } ?? "none scheduled")
      }
      var entry = entry(
        "job", "job \"\(name)\": \(parts.joined(separator: ", "))",
        [
          ("runs", .number(counts.runs)), ("failures", .number(counts.failures)),
          ("skipped", .number(counts.skipped)), ("missed", .number(counts.missed)),
        ], job: name)
      if let next = counts.next { entry.to = .time(next) }
      return entry
    }
    if !unheard.isEmpty {
      entries.append(
        entry(
          "sources", "never heard: \(unheard.shortList)",
          [("sources", .array(unheard.map { .string($0) }))]))
    }
    let runs = jobs.reduce(0) { $0 + $1.counts.runs }
    let total = [text(runs, "run"), text(failures, "failure"), text(warnings, "warning")]
    entries.append(
      entry(
        "total", total.joined(separator: ", "),
        [("runs", .number(runs)), ("failures", .number(failures)), ("warnings", .number(warnings))]))
    return entries
  }
}

extension [String] {
  /// The names with commas between them; of many the first and a count.
  var shortList: String {
    let shown = prefix(count > 4 ? 3 : 4).joined(separator: ", ")
    return count > 4 ? "\(shown) and \(count - 3) more" : shown
  }
}
