internal import EventLoop
internal import Glibc

/// The user's crontab, read and written through the system's `crontab`.
enum UserCrontab {
  /// Reads the crontab; returns an empty one if the user has no crontab.
  static func read() throws -> Crontab {
    // Debian's `crontab -l` omits its own first lines unless this variable is set.
    let result = try run(["-l"], variables: ["CRONTAB_NOHEADER": "Y", "LC_ALL": "C"])
    if result.status == 0 { return Crontab(result.output) }
    guard result.errors.contains("no crontab for") else { throw refused("read", result) }
    return Crontab([])
  }

  /// Changes the crontab, one `roomtone` at a time, and reads it again to verify that the change was
  /// accepted.
  /// - Parameter lock: path of a lock file that is created for this; nil without one.
  static func change(lock path: String?, _ body: (inout Crontab) throws -> Void) throws {
    let lock = try path.map { try FileLock(waitingFor: $0) }
    defer { withExtendedLifetime(lock) {} }
    var crontab = try read()
    try body(&crontab)
    let result = try run(["-"], input: crontab.bytes, variables: ["LC_ALL": "C"])
    guard result.status == 0 else { throw refused("change", result) }
    guard try crontab.isAll(of: read()) else {
      throw CommandFailure(
        .cron, "the crontab differs from the text that was written to it",
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
        throw CommandFailure(.cron, "can't run crontab: \(failure.text)")
      }
      throw CommandFailure(.noCron, "this system has no crontab", hint: "install cron (apt install cron)")
    }
  }

  private static func refused(_ what: String, _ result: ExternalProgram.Result) -> CommandFailure {
    let words = result.errors.split(separator: "\n").joined(separator: "; ")
    let reason = words.isEmpty ? "crontab ended with status \(result.status)" : words
    return CommandFailure(.cron, "can't \(what) the crontab: \(reason)")
  }
}
