internal import EventLoop
internal import JSONText
internal import LuaRuntime
internal import Roomtone

/// The result of a check: a line of `roomtone doctor`.
struct Finding: Sendable, Equatable {
  enum State: String, Sendable {
    /// The subject works.
    case ok
    /// The subject does not work, and nothing that was configured depends on it.
    case warn
    /// The subject does not work, although it was configured, or nothing works without it.
    case fail = "FAIL"
  }

  /// Subject of the check, as `time zone`.
  let check: String
  let state: State
  /// Fact in one line.
  let detail: String
  /// The remedy; nil when it is not needed, or not known.
  var hint: String?

  static func ok(_ check: String, _ detail: String) -> Finding {
    Finding(check: check, state: .ok, detail: detail)
  }

  static func warn(_ check: String, _ detail: String, hint: String?) -> Finding {
    Finding(check: check, state: .warn, detail: detail, hint: hint)
  }

  static func fail(_ check: String, _ detail: String, hint: String?) -> Finding {
    Finding(check: check, state: .fail, detail: detail, hint: hint)
  }

  /// Returns a failure that counts only if the subject was asked for.
  static func problem(
    _ check: String, isAskedFor: Bool, _ detail: String, hint: String?
  ) -> Finding {
    Finding(check: check, state: isAskedFor ? .fail : .warn, detail: detail, hint: hint)
  }

  var json: JSON {
    .object([
      ("check", .string(check)), ("state", .string(state.rawValue.lowercased())), ("detail", .string(detail)),
      ("hint", .optional(hint)),
    ])
  }
}

/// The user's setting that is examined.
struct DoctorSubject: Sendable {
  var configuration = Configuration()
  /// Path of the configuration; nil without one.
  var path: String?
  /// Errors of the configuration.
  var errors: [LuaError] = []
}

/// A check of the table, which runs on a thread of its own.
struct Check: Sendable {
  /// Subjects of its findings, for the width of their column.
  let names: [String]
  /// `true` if silence is a failure rather than a warning.
  var isAskedFor = false
  /// Time after which the check counts as hanging.
  var limit = Duration.seconds(5)
  /// Returns the findings; never throws, as a failure is a finding.
  let run: @Sendable () -> [Finding]

  init(
    _ names: [String], isAskedFor: Bool = false, limit: Duration = .seconds(5),
    _ run: @escaping @Sendable () -> [Finding]
  ) { (self.names, self.isAskedFor, self.limit, self.run) = (names, isAskedFor, limit, run) }

  init(_ name: String, isAskedFor: Bool = false, _ run: @escaping @Sendable () -> Finding) {
    self.init([name], isAskedFor: isAskedFor) { [run()] }
  }

  /// Findings of a check that was not over in time.
  private var timeouts: [Finding] {
    names.map { name in
      .problem(name, isAskedFor: isAskedFor, "no answer within \(limit.inSeconds.formatted) s", hint: nil)
    }
  }

  /// Runs all checks at the same time, and passes the findings of each to `report` in the order of the table.
  /// Returns when all were reported; a check that hangs keeps its thread.
  static func run(_ checks: [Check], report: @escaping ([Finding]) -> Void) {
    let loop = EventLoop(name: "doctor")
    defer { loop.close() }
    let results = CheckResults(count: checks.count, report: report)
    let reference = LoopReference(results)
    for (index, check) in checks.enumerated() {
      loop.after(check.limit) { results.accept(check.timeouts, of: index) }
      do {
        try startDetachedThread("no thread for a check") {
          let findings = check.run()
          loop.post { reference.object?.accept(findings, of: index) }
        }
      } catch {
        results.accept(check.names.map { .warn($0, error.message, hint: error.hint) }, of: index)
      }
    }
    _ = loop.run(until: { results.isComplete })
  }
}

/// The results of checks in the order of their table. Confined to the loop.
private final class CheckResults {
  private var results: [[Finding]?]
  private var reported = 0
  private let report: ([Finding]) -> Void

  init(count: Int, report: @escaping ([Finding]) -> Void) {
    results = Array(repeating: nil, count: count)
    self.report = report
  }

  var isComplete: Bool { reported == results.count }

  /// Accepts the first result of a check, and reports all results that are next in order.
  func accept(_ findings: [Finding], of index: Int) {
    guard results[index] == nil else { return }
    results[index] = findings
    while reported < results.count, let next = results[reported] {
      report(next)
      reported += 1
    }
  }
}

extension Double {
  /// The number without a fraction of zero: `5`, `0.5`.
  fileprivate var formatted: String { self == rounded() ? String(Int(self)) : String(self) }
}
