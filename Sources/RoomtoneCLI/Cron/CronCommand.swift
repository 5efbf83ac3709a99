internal import EventLoop
internal import Glibc
internal import Home
internal import JSONText
internal import Scheduling
internal import StreamCore

/// Command `roomtone cron`.
enum CronCommand {
  static func run(_ arguments: ParsedArguments) throws -> Int32 {
    switch arguments.action?.name {
    case "add": try add(arguments)
    case "remove": try remove(arguments.operands[0])
    case "run": try runNow(arguments.operands[0])
    default: try list(json: arguments.has(.jsonList))
    }
  }

  // MARK: Changing

  private static func add(_ arguments: ParsedArguments) throws -> Int32 {
    let expression: CronExpression
    do throws(ScheduleError) {
      expression = try CronExpression(parsing: arguments.operands[0])
    } catch {
      throw wrong("EXPR: \(error.message)" + (error.hint.map { "; \($0)" } ?? ""))
    }
    let given = arguments.text(.jobName)
    if let given, !Crontab.isName(given) {
      throw wrong(
        "--name: \(quoted(given)) can't be a job's name: at most 60 letters, without #, % and \\ expected")
    }
    let job = try CronJob(Array(arguments.operands.dropFirst()))
    let variables = JobEnvironment.needed { name in
      Terminal.log(
        .warn, "\(name) has a password in it and is left out: others could read it in the crontab's job", [])
    }
    for word in arguments.operands where StreamAddress.looksLikeURL(word) {
      guard StreamAddress.redacted(word) != word else { continue }
      Terminal.log(
        .warn,
        "the password of \(StreamAddress.redacted(word)) stands in the crontab, and in 'ps' while the job runs: "
          + "give it with --user and --password-file, or name the station in the configuration", [])
    }
    var added: Crontab.Job?
    try UserCrontab.change(lock: UserFolders.state.map { "\($0)/crontab.lock" }) { crontab in
      let name = try name(given ?? job.name, isGiven: given != nil, in: crontab)
      let command = try command(job.words(named: name), [(JobResult.variable, name)] + variables)
      let line = Crontab.Job(name: name, schedule: expression.description, command: command)
      guard Crontab.length(of: line) <= Crontab.longestCommand else {
        throw CommandFailure(
          .cronLine,
          "the line has \(Crontab.length(of: line)) bytes, and cron would cut it after \(Crontab.longestCommand)",
          hint: "put it into a script, and have cron run that")
      }
      crontab.add(line)
      added = line
    }
    if let added {
      Terminal.print(
        "\(added.name): \(added.schedule), \(next(added).map { "next \($0)" } ?? "when the machine starts")")
    }
    return 0
  }

  /// Returns an unused name for a job; a name derived from the command gets a number where needed.
  private static func name(_ wanted: String, isGiven: Bool, in crontab: Crontab) throws -> String {
    if isGiven {
      guard crontab.job(wanted) == nil else {
        throw CommandFailure(
          .duplicateJob, "a job is called \(quoted(wanted)) already",
          hint: "remove it first (roomtone cron remove), or give another --name")
      }
      return wanted
    }
    let letters = wanted.map { $0.isLetter || $0.isNumber || "._-".contains($0) ? $0 : "-" }
    let name = String(letters.drop { $0 == "-" }.prefix(20))
    let base = Crontab.isName(name) ? name : "job"
    if crontab.job(base) == nil { return base }
    let number = (2...).first { crontab.job("\(base)-\($0)") == nil } ?? 2
    return "\(base)-\(number)"
  }

  /// Returns the command for the crontab's shell.
  private static func command(_ words: [String], _ variables: [(name: String, value: String)]) throws
    -> String
  {
    guard let executable = executable() else {
      throw CommandFailure(.cron, "can't find out where roomtone itself is")
    }
    let settings = variables.map { "\($0.name)=\($0.value)" }
    let all = (settings.isEmpty ? [] : ["/usr/bin/env"] + settings) + [executable] + words
    let isOdd = { (scalar: Unicode.Scalar) in scalar.properties.generalCategory == .control }
    if let odd = all.first(where: { $0.unicodeScalars.contains(where: isOdd) }) {
      throw wrong("\(quoted(odd)) has a character that can't stand in a crontab")
    }
    return all.map(ShellWord.quoted).joined(separator: " ")
  }

  private static func executable() -> String? {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/exe", &buffer, buffer.count - 1)
    return count > 0 ? String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
  }

  private static func remove(_ name: String) throws -> Int32 {
    try UserCrontab.change(lock: UserFolders.state.map { "\($0)/crontab.lock" }) { crontab in
      crontab.remove(try job(name, in: crontab).name)
    }
    return 0
  }

  /// Returns the job of that name.
  /// - Throws: `cron.unknown` with the nearest name.
  private static func job(_ name: String, in crontab: Crontab) throws -> Crontab.Job {
    if let job = crontab.job(name) { return job }
    let names = crontab.jobs.map(\.name)
    let hint =
      probable(name, among: names).map { "did you mean '\($0)'?" }
      ?? (names.isEmpty ? "there are no jobs" : "there are: \(names.joined(separator: ", "))")
    throw CommandFailure(.unknownJob, "no job is called \(quoted(name))", hint: hint)
  }

  /// Turns this process into a run of a job, with the shell, the folder and the few variables that cron sets.
  private static func runNow(_ name: String) throws -> Int32 {
    let job = try job(name, in: UserCrontab.read())
    let user = getpwuid(getuid())
    let home = user.map { String(cString: $0.pointee.pw_dir) } ?? "/"
    let variables = [
      "HOME=\(home)", "LOGNAME=\(user.map { String(cString: $0.pointee.pw_name) } ?? "")", "SHELL=/bin/sh",
      "PATH=/usr/bin:/bin", "\(JobResult.variable)=\(job.name)",
    ]
    guard chdir(home) == 0 else {
      throw CommandFailure(.cron, "can't go to the home folder \(home): \(SystemError(errno).text)")
    }
    // The executed program has the signal actions of a shell.
    for ignored in [SIGPIPE, SIGXFSZ] { signal(ignored, SIG_DFL) }
    let line: [String] = ["/bin/sh", "-c", job.command]
    let words = line.map { strdup($0) as UnsafeMutablePointer<CChar>? }
    let entries = variables.map { strdup($0) as UnsafeMutablePointer<CChar>? }
    defer { for text in words + entries { free(text) } }
    execve("/bin/sh", words + [nil], entries + [nil])
    throw CommandFailure(.cron, "can't run /bin/sh: \(SystemError(errno).text)")
  }

  private static func wrong(_ message: String) -> UsageError {
    UsageError(.value, message, help: "roomtone cron")
  }

  // MARK: Looking

  private static func list(json: Bool) throws -> Int32 {
    let jobs = try UserCrontab.read().jobs
    if json {
      let objects = jobs.map { job in
        JSON.object([
          ("name", .string(job.name)), ("schedule", .string(job.schedule)),
          ("next", .optional(nextTime(job).map { Timestamp.text($0) })),
          ("last", JobResult.last(of: job.name)?.json ?? .null), ("command", .string(shown(job))),
        ])
      }
      Terminal.print(JSON.array(objects).lines)
      return 0
    }
    guard !jobs.isEmpty else {
      Terminal.print("no jobs: 'roomtone cron add' makes one")
      return 0
    }
    var table = TextTable(["NAME", "SCHEDULE", "NEXT", "LAST", "COMMAND"])
    for job in jobs {
      let last = JobResult.last(of: job.name)?.text ?? "-"
      table.add([job.name, job.schedule, next(job) ?? "-", last, shown(job)])
    }
    table.lines.forEach(Terminal.print)
    return 0
  }

  private static func nextTime(_ job: Crontab.Job) -> WallTime? {
    (try? CronExpression(parsing: job.schedule))?.next(after: Timestamp.now, in: ProcessZone())
  }

  private static func next(_ job: Crontab.Job) -> String? {
    nextTime(job).map { "\(ProcessZone().local($0))" }
  }

  /// Returns the job's command without the path of `roomtone` and the environment; passwords are hidden.
  private static func shown(_ job: Crontab.Job) -> String {
    guard let words = ShellWord.split(job.command) else { return job.command }
    // The words before the program set variables.
    let own = words.firstIndex { !$0.contains("=") && ($0 == "roomtone" || $0.hasSuffix("/roomtone")) }
    let rest = own.map { Array(words[($0 + 1)...]) } ?? words
    return rest.map { ShellWord.quoted(StreamAddress.redacted($0)) }.joined(separator: " ")
  }
}
