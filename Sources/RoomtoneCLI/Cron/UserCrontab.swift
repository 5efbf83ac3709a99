internal import EventLoop
internal import Glibc

/// The user's crontab, as the `crontab` of the system gives and takes it.
enum UserCrontab {
  /// Why it can't be had, or can't be changed.
  struct Failure: CodedError {
    let code: String
    let message: String
    var hint: String?
  }

  /// What it holds now; an empty one when there is none.
  static func read() throws -> Crontab {
    // Debian's `crontab -l` leaves its own first lines out unless it is told not to.
    let result = try run(["-l"], variables: ["CRONTAB_NOHEADER": "Y", "LC_ALL": "C"])
    if result.status == 0 { return Crontab(result.output) }
    guard result.errors.contains("no crontab for") else { throw refused("read", result) }
    return Crontab([])
  }

  /// Changes it, while no other `roomtone` does, and reads it again: what is not in it then was not taken.
  /// - Parameter lock: a file that is made for this; nil where there is no place for one.
  static func change(lock path: String?, _ body: (inout Crontab) throws -> Void) throws {
    let lock = try path.map { try FileLock(waitingFor: $0) }
    defer { withExtendedLifetime(lock) {} }
    var crontab = try read()
    try body(&crontab)
    let result = try run(["-"], input: crontab.bytes, variables: ["LC_ALL": "C"])
    guard result.status == 0 else { throw refused("change", result) }
    guard try crontab.isAll(of: read()) else {
      throw Failure(
        code: "cron.failed", message: "the crontab is not what was written into it",
        hint: "look at it with crontab -l")
    }
  }

  private static func run(_ arguments: [String], input: [UInt8] = [], variables: [String: String]) throws
    -> ExternalProgram.Result
  {
    do {
      return try ExternalProgram.run("crontab", arguments, input: input, variables: variables)
    } catch let failure {
      guard failure.number == ENOENT else {
        throw Failure(
          code: "cron.failed", message: "can't run crontab: \(String(cString: strerror(failure.number)))")
      }
      throw Failure(
        code: "cron.missing", message: "this system has no crontab", hint: "install cron (apt install cron)")
    }
  }

  private static func refused(_ what: String, _ result: ExternalProgram.Result) -> Failure {
    let words = result.errors.split(separator: "\n").joined(separator: "; ")
    let reason = words.isEmpty ? "crontab ended with status \(result.status)" : words
    return Failure(code: "cron.failed", message: "can't \(what) the crontab: \(reason)")
  }
}
