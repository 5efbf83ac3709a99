import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("The house between runs and between processes", .waiting, .tags(.daemon, .recovery))
struct SharedHouseTests {
  /// Script that drives the house until it is ended.
  private static let alarm = """
    local speaker, task = require "speaker", require "task"
    speaker.open { add_all = true }
    speaker.set_volume(31)
    task.sleep(1.5)
    print "ready"
    task.sleep("1h")
    """

  /// Starts `alarm.lua`, which drives the house, in a new home.
  private func start() throws -> (Home, RunningCommand) {
    let home = try Home()
    let first = try home.start([
      "run", "--output", "null", home.path(home.script(Self.alarm, as: "alarm.lua")),
    ])
    try first.expect("ready\n")
    return (home, first)
  }

  private static let look = """
    local speaker = require "speaker"
    for _, d in ipairs(speaker.devices()) do
      print(d.name, d.group_name, d.volume, d.muted, d.role, d.balance)
    end
    """

  @Test(
    "the next run finds names, groups, volumes, mute, roles and balance as they were left; so does the prompt"
  )
  func kept() throws {
    let home = try Home()
    let edit = try home.script(
      """
      local speaker = require "speaker"
      speaker.open { add_all = false }
      local kitchen, bath = speaker.device "Kitchen", speaker.device "Bathroom"
      kitchen:set_name "Küche"
      kitchen:set_group "Downstairs"
      bath:set_group "Downstairs"
      kitchen:set_volume(41)
      bath:mute()
      bath:set_role "left"
      bath:set_balance(-4)
      """)
    let look = try home.script(Self.look, as: "look.lua")
    let before = try home.run("run", "--output", "null", look)
    #expect(before.lines[2] == "Kitchen\tKitchen\t22\tfalse\tmono\t0", "\(before)")
    #expect(try home.run("run", "--output", "null", edit) == Outcome(status: 0, output: "", errors: ""))
    let after = try home.run("run", "--output", "null", look)
    var expected = before.lines
    expected[2] = "Küche\tDownstairs\t41\tfalse\tmono\t0"
    expected[5] = "Bathroom\tDownstairs\t20\ttrue\tleft\t-4"
    #expect(after.lines == expected)
    let prompt = try home.run(
      "repl", "--output", "null", input: .text("speaker.group('Down').devices[1].name\n"))
    #expect(prompt.output.contains("Küche"), "\(prompt)")
    // A house in another home, and a simulated one.
    #expect(try Home().run("run", "--output", "null", "-e", Self.look).lines == before.lines)
    let simulated = try home.run("simulate", look)
    #expect(simulated.output.contains("Kitchen\tKitchen\t22") && !simulated.output.contains("Küche"))
  }

  @Test("the stored state of a speaker takes precedence over its configuration")
  func configured() throws {
    let home = try Home()
    try home.script(
      "house { output = 'null', speakers = { { name = 'A', volume = 10 }, { name = 'B', volume = 11 } } }",
      as: "config.lua")
    let change = "require('speaker').device('A'):set_volume(44)"
    #expect(try home.run("run", "--config", "config.lua", "-e", change).status == 0)
    let after = try home.run("run", "--config", "config.lua", "-e", Self.look)
    #expect(
      after.lines == ["A\tharman\t44\tfalse\tstereo\t0", "B\tharman\t11\tfalse\tstereo\t0"], "\(after)")
  }

  @Test("without XDG_STATE_HOME it lies below the home folder; without a home nothing is kept")
  func folders() throws {
    let home = try Home()
    let line = #""$ROOMTONE" run --output null -e 'require("speaker").device("Kitchen"):set_volume(3)'"#
    let outcome = try home.runInShell("unset XDG_STATE_HOME; \(line) && ls .local/state/roomtone state")
    #expect(outcome.status == 0 && outcome.output.contains("house.state"), "\(outcome)")
    #expect(fileNames(in: home.path("state")).isEmpty)
    let relative = try home.runInShell("XDG_STATE_HOME=here \(line) && ls")
    #expect(relative.status == 0 && !relative.lines.contains("here"), "\(relative)")
    let homeless = try home.runInShell("unset HOME XDG_STATE_HOME XDG_CONFIG_HOME; \(line)")
    #expect(homeless == Outcome(status: 0, output: "", errors: ""))
  }

  @Test("a folder that can't be written is reported in one line with a hint")
  func unwritable() throws {
    let home = try Home()
    try home.script("", as: "state/roomtone")
    let outcome = try home.run("run", "--output", "null", "-e", "require('speaker').devices()")
    #expect(outcome.status == 1 && outcome.failures.count == 1, "\(outcome)")
    #expect(outcome.failures.first?.contains("(speaker.lost)") == true)
    #expect(outcome.failures.first?.contains("state/roomtone") == true)
  }

  @Test("a second process waits, reports for which process, and continues when the first ends")
  func waits() throws {
    let (home, first) = try start()
    let second = try home.start([
      "run", "--output", "null", "-e",
      "local speaker = require 'speaker' print(speaker.device('Kitchen').volume)",
    ])
    try second.expectError(
      "roomtone run alarm.lua (process \(first.process)) has the house: waiting for it\n")
    first.send(SIGTERM)
    #expect(try first.finish().status == 143)
    let outcome = try second.finish()
    #expect(outcome.status == 0 && outcome.lines == ["31"], "\(outcome)")
    #expect(outcome.errorLines.count == 1)
  }

  @Test(
    "with wait = false it raises speaker.busy at once, which names the process, the script and what to do")
  func busy() throws {
    let (home, first) = try start()
    let code = """
      local err = select(2, require("task").try(require("speaker").open, { wait = false }))
      print(err.code, err.process, err.path, err.hint)
      require("speaker").open { wait = 0.2 }
      """
    let outcome = try home.run("run", "--output", "null", "-e", code)
    let owner = "roomtone run alarm.lua (process \(first.process))"
    #expect(
      outcome.lines == ["speaker.busy\t\(owner)\t\(home.path("state/roomtone"))\tend it, or wait longer"])
    #expect(outcome.status == 1)
    #expect(
      outcome.failures == ["roomtone: -e:3: \(owner) has the house (speaker.busy); end it, or wait longer"])
    #expect(
      try home.run("simulate", "alarm.lua", "--for", "10s").status == 0, "a simulation has a house of its own"
    )
  }

  @Test("a waiting process ends at once with a signal", arguments: [SIGINT, SIGTERM])
  func signalled(_ signal: Int32) throws {
    let (home, first) = try start()
    let second = try home.start(["run", "--output", "null", "-e", "require('speaker').open { wait = '1h' }"])
    try second.expectError("waiting for it\n")
    second.send(signal)
    #expect(try second.finish().status == 128 + signal)
    first.send(SIGTERM)
    _ = try first.finish()
  }

  @Test("one that is killed leaves the house free, as it was a second before")
  func killed() throws {
    let (home, first) = try start()
    let state = home.path("state/roomtone/house.state")
    for _ in 0..<6_000 {
      if let bytes = try? readBytes(state), String(decoding: bytes, as: UTF8.self).contains("volume 31") {
        break
      }
      usleep(10_000)
    }
    first.send(SIGKILL)
    #expect(try first.finish().status == 128 + SIGKILL)
    let code =
      "local speaker = require 'speaker' speaker.open { wait = false } print(speaker.device('Kitchen').volume)"
    #expect(
      try home.run("run", "--output", "null", "-e", code) == Outcome(status: 0, output: "31\n", errors: ""))
  }
}
