internal import EventLoop
internal import Glibc
internal import JSONText
internal import Scheduling

/// The last run of a job of the crontab, which the run itself writes into a file of the state folder.
struct JobResult {
  enum Outcome: Equatable {
    case running
    /// The process has ended without writing its result: it was killed, or the machine lost power.
    case killed
    case ended(WallTime, status: Int32, error: String?)
  }

  let started: WallTime
  let outcome: Outcome

  /// The environment variable by which a line of the crontab names its job.
  static let variable = "ROOMTONE_JOB"

  /// Returns the last run of the job called `name`; nil when no run is known.
  static func last(of name: String) -> JobResult? {
    guard let path = path(of: name) else { return nil }
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard file >= 0 else { return nil }
    defer { close(file) }
    let isRunning = flock(file, LOCK_SH | LOCK_NB) != 0
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = pread(file, &bytes, bytes.count, 0)
    guard let json = JSON(parsing: bytes.prefix(max(0, count))), let started = json["started"]?.int else {
      return nil
    }
    let begin = WallTime(seconds: Int64(started))
    guard !isRunning else { return JobResult(started: begin, outcome: .running) }
    guard let end = json["ended"]?.int, let status = json["status"]?.int else {
      return JobResult(started: begin, outcome: .killed)
    }
    return JobResult(
      started: begin,
      outcome: .ended(
        WallTime(seconds: Int64(end)), status: Int32(clamping: status), error: json["error"]?.text))
  }

  /// The run in words: `2026-03-28 20:30:00 failed (status 1)`.
  var text: String {
    let time = "\(ProcessZone().local(started))"
    return switch outcome {
    case .running: "\(time) running"
    case .killed: "\(time) killed"
    case .ended(_, 0, _): "\(time) ok"
    case .ended(_, let status, _): "\(time) failed (status \(status))"
    }
  }

  /// The run for programs.
  var json: JSON {
    var members: [(name: String, value: JSON)] = [("started", .string(Timestamp.text(started)))]
    switch outcome {
    case .running: members.append(("state", "running"))
    case .killed: members.append(("state", "killed"))
    case .ended(let end, let status, let error):
      members += [
        ("state", status == 0 ? "ok" : "failed"), ("ended", .string(Timestamp.text(end))),
        ("status", .number(Int(status))), ("error", .optional(error)),
      ]
    }
    return .object(members)
  }

  /// Returns the path of the file of a job; nil without a home.
  fileprivate static func path(of name: String) -> String? {
    // FNV-1a: a file name for any name of a job.
    let hash = name.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    return UserFolders.state.map { "\($0)/cron/\(String(hash, radix: 16)).json" }
  }
}

/// The run of a job of the crontab in this process, whose file is locked until the process ends.
struct JobRun {
  private let file: Int32
  private let name: String
  private let started = Timestamp.now

  /// Begins the run of the job that the environment names.
  /// - Returns: nil in a process that is not a run, and where its file can't be written, which does not stop
  ///   the job.
  init?() {
    guard let name = getenv(JobResult.variable).map({ String(cString: $0) }), Crontab.isName(name) else {
      return nil
    }
    // A program that the job starts is not a run of the job.
    unsetenv(JobResult.variable)
    guard let path = JobResult.path(of: name) else { return nil }
    try? LinuxFiles.makeFolders(LinuxFiles.folder(of: path), mode: 0o700)
    file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    self.name = name
    // An earlier run may still continue: then the result of this run replaces the earlier one's.
    guard file >= 0 else { return nil }
    _ = flock(file, LOCK_EX | LOCK_NB)
    write([])
  }

  /// Notes the end of the run.
  func end(status: Int32, error: String?) {
    write([
      ("ended", .number(Int(Timestamp.now.seconds))), ("status", .number(Int(status))),
      ("error", .optional(error.map { String($0.prefix(500)) })),
    ])
    close(file)
  }

  private func write(_ more: [(name: String, value: JSON)]) {
    let members: [(name: String, value: JSON)] =
      [("job", .string(name)), ("started", .number(Int(started.seconds)))] + more
    let text = Array((JSON.object(members).line + "\n").utf8)
    if pwrite(file, text, text.count, 0) == text.count { ftruncate(file, off_t(text.count)) }
  }
}
