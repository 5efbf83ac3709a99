internal import EventLoop
internal import Glibc
internal import Scheduling

/// Checks of cron and of the user's crontab.
enum CronChecks {
  static func table() -> [Check] {
    [Check(["cron", "crontab"]) { findings() }]
  }

  private static func findings() -> [Finding] {
    let crontab: Crontab
    do { crontab = try UserCrontab.read() } catch {
      let failure = error as? CommandFailure
      let problem = Finding.warn(
        "crontab", failure?.message ?? "\(error)", hint: failure?.hint)
      return [cron(isRunning: isRunning(), jobs: 0), problem]
    }
    return [cron(isRunning: isRunning(), jobs: crontab.jobs.count), Self.crontab(crontab)]
  }

  /// Returns the finding for cron itself.
  /// - Parameter jobs: number of jobs that need it.
  static func cron(isRunning: Bool, jobs: Int) -> Finding {
    if isRunning { return .ok("cron", "running; its jobs have the PATH /usr/bin:/bin") }
    return .problem(
      "cron", isAskedFor: jobs > 0,
      "not running" + (jobs > 0 ? ": \(FolderChecks.counted(jobs, "job")) will not run" : ""),
      hint: "systemctl enable --now cron (apt install cron)")
  }

  /// Returns `true` if a process of this machine is a cron.
  /// - Parameter folder: the folder of processes.
  static func isRunning(in folder: String = "/proc") -> Bool {
    let names = (try? LinuxFiles.names(in: folder)) ?? []
    return names.contains { name in
      guard name.allSatisfy(\.isNumber), let bytes = readName(of: "\(folder)/\(name)/comm") else {
        return false
      }
      return ["cron", "crond", "cronie", "fcron", "bcron"].contains(bytes)
    }
  }

  /// Returns the first line of a short file.
  private static func readName(of path: String) -> String? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var buffer = [UInt8](repeating: 0, count: 64)
    let count = read(file, &buffer, buffer.count)
    return count > 0 ? String(decoding: buffer[..<count].prefix { $0 != 10 }, as: UTF8.self) : nil
  }

  /// Returns the finding for the lines of `roomtone`: the first flaw of each.
  static func crontab(_ crontab: Crontab) -> Finding {
    let flaws = crontab.jobs.compactMap { job in flaw(of: job).map { "\(job.name): \($0)" } }
    guard flaws.isEmpty else {
      return .fail(
        "crontab", flaws.joined(separator: "; ").onOneLine,
        hint: "roomtone cron remove NAME, then add it as it should be")
    }
    let count = crontab.jobs.count
    return .ok(
      "crontab", count == 0 ? "no jobs" : "\(FolderChecks.counted(count, "job")), all of which can run")
  }

  /// Returns the flaw for which a job can't run; nil without one.
  private static func flaw(of job: Crontab.Job) -> String? {
    do throws(ScheduleError) { _ = try CronExpression(parsing: job.schedule) } catch { return error.message }
    guard let words = ShellWord.split(job.command) else { return "its command has a quote without an end" }
    let isVariable = { (word: String) in word.contains("=") && !word.hasPrefix("/") }
    let isEnvironment = words.first == "/usr/bin/env" || words.first == "env"
    let command = Array(words.dropFirst(isEnvironment ? 1 : 0).drop(while: isVariable))
    guard let program = command.first else { return "it has no command" }
    // cron's PATH is short; programs in it are found without a folder.
    let path = program.hasPrefix("/") ? program : ExternalProgram.find(program, in: "/usr/bin:/bin")
    guard let path, access(path, X_OK) == 0 else {
      return "\(program.onOneLine) is not there, or is not a program that cron finds"
    }
    guard path.hasSuffix("/roomtone") else { return nil }
    do {
      _ = try CronJob(Array(command.dropFirst()))
      return nil
    } catch let error as any CodedError {
      return error.message
    } catch {
      return "\(error)"
    }
  }
}
