import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("programs that scripts of the daemon start", .waiting, .tags(.task, .daemon)) struct ProgramTests {
  /// Starts two programs, and prints their numbers; the second does not end by SIGTERM.
  private static let script =
    """
    one = io.popen "echo $$; echo trouble with one >&2; exec sleep 1000"
    two = io.popen "trap '' TERM; echo $$; exec sleep 1000"
    print("programs", one:read(), two:read(), "started")
    """

  /// Returns the numbers of the programs that a daemon has started.
  private static func programs(_ daemon: RunningCommand) throws -> [pid_t] {
    try daemon.expect("a: programs ")
    return try daemon.consume(upTo: " started").split(separator: " ").compactMap { pid_t($0) }
  }

  private static func isRunning(_ process: pid_t) -> Bool {
    guard let bytes = try? readBytes("/proc/\(process)/stat") else { return false }
    let fields = String(decoding: bytes, as: UTF8.self).split(separator: ")").last ?? ""
    return !fields.hasPrefix(" Z")
  }

  @Test(
    "those that a killed daemon has left behind are ended before scripts start, and their errors are logged")
  func leftBehind() throws {
    let (home, daemon) = try ServeTests.serve([("a.lua", Self.script)])
    let first = try Self.programs(daemon)
    try #require(first.count == 2)
    defer { for process in first where Self.isRunning(process) { kill(process, SIGKILL) } }
    try ServeTests.wait("its errors are in the log") {
      try home.run("ctl", "log").output.contains("trouble with one")
    }
    let logged = try home.run("ctl", "log", "--script", "a").lines.filter { $0.contains("trouble with one") }
    #expect(logged.count == 1 && logged.first?.contains("program=echo $$;") == true, "\(logged)")
    daemon.send(SIGKILL)
    _ = try daemon.finish()
    #expect(first.allSatisfy(Self.isRunning))

    let again = try home.startInShell("exec $ROOMTONE serve --output null scripts")
    let second = try Self.programs(again)
    try #require(second.count == 2)
    #expect(!first.contains(where: Self.isRunning))
    again.send(SIGTERM)
    let outcome = try again.finish()
    for process in first {
      #expect(
        outcome.errors.split(separator: "\n").contains {
          $0.contains("outlived a killed daemon is ended") && $0.hasSuffix("(process \(process))")
        }, "\(outcome)")
    }
    kill(second[1], SIGKILL)
    #expect(!Self.isRunning(second[0]))
  }

  @Test("a record of a process that is another one now, or of another run of the system, ends nothing")
  func otherProcesses() throws {
    let (home, daemon) = try ServeTests.serve([("a.lua", Self.script)])
    let first = try Self.programs(daemon)
    try #require(first.count == 2)
    defer { for process in first where Self.isRunning(process) { kill(process, SIGKILL) } }
    daemon.send(SIGKILL)
    _ = try daemon.finish()
    let records = first.map { "state/roomtone/programs/\($0)" }
    let texts = try records.map { String(decoding: try readBytes(home.path($0)), as: UTF8.self) }
    var lines = texts[0].split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    // The start of its first process.
    lines[1] = "1" + lines[1]
    try home.write(Array(lines.joined(separator: "\n").utf8), to: records[0])
    try home.write(Array(("another system" + texts[1].drop { $0 != "\n" }).utf8), to: records[1])

    let again = try home.startInShell("exec $ROOMTONE serve --output null scripts")
    let second = try Self.programs(again)
    #expect(first.allSatisfy(Self.isRunning))
    again.send(SIGTERM)
    #expect(try !again.finish().errors.contains("outlived"))
    for process in second where Self.isRunning(process) { kill(process, SIGKILL) }
  }
}
