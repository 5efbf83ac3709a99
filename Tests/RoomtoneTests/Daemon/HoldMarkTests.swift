import EventLoop
import Glibc
import JSONText
import TestSupport
import TestTraits
import Testing

@testable import Roomtone

/// Marks of scripts that a daemon has ended with.
@Suite("the mark of a script", .waiting, .tags(.limits)) struct HoldMarkTests {
  /// A daemon that begins beside the mark of a script `busy`, which leads to `file` of its folder.
  private static func daemon(_ state: TemporaryFolder, file: String = "busy.lua") throws -> DaemonHarness {
    let daemon = try DaemonHarness(
      state: state.path, [("busy.lua", "print 'busy'"), ("other.lua", "print 'other'")])
    guard mkdir(state.file("held"), 0o700) == 0 else { throw TestFailure("mkdir") }
    _ = try state.write(Array(daemon.folder.file(file).utf8), to: "held/busy")
    return daemon
  }

  @Test("at the next start the script is failed with the reason, and the others run")
  func failed() throws {
    let state = try TemporaryFolder()
    let daemon = try Self.daemon(state)
    try daemon.begin()
    #expect(daemon.states == ["busy failed", "other running"])
    #expect(daemon.printed == ["other: other"])
    let line = try #require(daemon.daemon.log.kept.first { $0.level == .error })
    #expect(line.script == "busy" && line.message.hasPrefix("not run: at "), "\(line)")
    #expect(line.message.contains("held the process until that was ended"))
    #expect(line.message.contains("change it, or run: roomtone ctl restart busy"))
    // All scripts are read again, and nothing has changed.
    _ = try daemon.call("reload")
    #expect(daemon.states == ["busy failed", "other running"])
    // The mark stays for the next start.
    #expect(access(state.file("held/busy"), F_OK) == 0)
  }

  @Test("it runs again when a person restarts it, and from then on")
  func restart() throws {
    let state = try TemporaryFolder()
    let daemon = try Self.daemon(state)
    try daemon.begin()
    _ = try daemon.call("restart", [("name", "busy")])
    #expect(daemon.states == ["busy running", "other running"])
    #expect(access(state.file("held/busy"), F_OK) != 0)
  }

  @Test("it runs again when its file has changed since, also while no daemon ran")
  func changed() throws {
    let state = try TemporaryFolder()
    let daemon = try Self.daemon(state)
    usleep(20_000)
    try daemon.write("print 'mended'", to: "busy.lua")
    try daemon.begin()
    #expect(daemon.printed == ["busy: mended", "other: other"])
  }

  @Test("the mark of a file of another folder is no reason")
  func otherFolder() throws {
    let state = try TemporaryFolder()
    let daemon = try Self.daemon(state, file: "elsewhere/busy.lua")
    try daemon.begin()
    #expect(daemon.states == ["busy running", "other running"])
  }
}

/// The time that scripts hold the loop, as the daemon shows it.
@Suite("the time of scripts", .waiting, .tags(.limits, .daemon)) struct ScriptTimeTests {
  @Test("a script that holds the others is on top, with its line, and in the log, once a minute")
  func top() throws {
    let daemon = try DaemonHarness([
      ("calm.lua", "require 'schedule'.every('1s', function() end)"),
      (
        "busy.lua",
        """
        require 'schedule'.every('10s', function()
          for i = 1, 1e8 do end
        end)
        """
      ),
    ])
    try daemon.begin()
    daemon.pass(.seconds(31))
    let top = try #require(try daemon.call("top").elements)
    #expect(top.map { $0["name"]?.text } == ["busy", "calm"])
    #expect(top[0]["longest_hold_at"]?.text == "busy.lua:2")
    #expect(top[0]["events"]?.int == 4)
    #expect(top[1]["events"]?.int == 32)
    let script = try #require(try daemon.call("scripts").elements?.first { $0["name"]?.text == "busy" })
    #expect(script["longest_hold"]?.line == top[0]["longest_hold"]?.line)
    #expect(script["longest_hold_at"]?.text == "busy.lua:2")
    let lines = daemon.daemon.log.kept.filter { $0.level == .warn }
    #expect(lines.allSatisfy { $0.script == "busy" } && (1...2).contains(lines.count), "\(lines)")
    #expect(lines.first?.message.hasPrefix("busy.lua:2: it held all other scripts for ") == true)
  }

  @Test("a hold is logged once a minute for each line, and again when it is twice as long")
  func repeated() {
    var log = HoldLog()
    func line(_ milliseconds: Int64, _ place: String?, at seconds: Int64) -> String? {
      log.line(
        .milliseconds(milliseconds), at: place, now: Instant(nanoseconds: seconds * 1_000_000_000))
    }
    let text = "it held all other scripts for 120ms; let long work suspend: task.sleep(0) between its steps"
    #expect(line(120, "a.lua:1", at: 0) == "a.lua:1: " + text)
    #expect(line(239, "a.lua:1", at: 1) == nil)
    #expect(line(120, nil, at: 1) == text)
    #expect(line(240, "a.lua:1", at: 2) != nil)
    #expect(line(240, "a.lua:1", at: 61) == nil)
    #expect(line(120, "a.lua:1", at: 62) != nil)
  }

  @Test("lists that are longer than an answer come in pages, and status says how many scripts it leaves out")
  func pages() throws {
    let scripts = (0..<300).map { ("s\(1000 + $0).lua", "error(('x'):rep(5000))") }
    let daemon = try DaemonHarness(scripts)
    try daemon.begin()
    let status = try daemon.call("status")
    #expect(status.line.utf8.count < ControlSession.longestAnswer)
    let shown = try #require(status["scripts"]?.elements?.count)
    #expect(shown > 10 && status["scripts_left_out"]?.int == 300 - shown)
    var (names, next) = ([String](), Int?.some(0))
    while let first = next {
      let page = try daemon.call("scripts", [("from", .number(first))])
      #expect(page.line.utf8.count < ControlSession.longestAnswer)
      names += (page["items"]?.elements ?? []).compactMap { $0["name"]?.text }
      next = page["next"]?.int
    }
    #expect(names == scripts.map { String($0.0.dropLast(4)) })
    #expect(throws: RPCError.self) { try daemon.call("scripts", [("from", .number(301))]) }
  }

  @Test("the history answers with the latest changes that fit")
  func history() throws {
    let daemon = try DaemonHarness([
      ("a.lua", "for i = 1, 900 do require 'trigger'.fire('t' .. i, { text = ('x'):rep(1000) }) end")
    ])
    try daemon.begin()
    let changes = try daemon.call("history")
    #expect(changes.line.utf8.count < ControlSession.longestAnswer)
    #expect(changes.elements?.last?["name"]?.text == "t900")
    #expect((100...900).contains(changes.elements?.count ?? 0))
  }
}
