import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("roomtone check", .waiting, .tags(.check)) struct CheckTests {
  @Test("is silent about correct scripts, and reports each mistake in a line")
  func findings() throws {
    let home = try Home()
    try home.script("local speaker = require 'speaker'\nspeaker.stop()\n", as: "good.lua")
    try home.script(
      "local speaker = require 'speaker'\nspeaker.stpo()\nspeaker.set_volume(51)\n", as: "bad.lua")
    #expect(try home.run("check", "good.lua") == Outcome(status: 0, output: "", errors: ""))
    let bad = try home.run("check", "good.lua", "bad.lua")
    #expect(bad.status == 1 && bad.errors == "")
    #expect(
      bad.lines == [
        "bad.lua:2:9: the module 'speaker' has no field or function 'stpo'; did you mean 'stop'? (check.name)",
        "bad.lua:3:20: 'volume' of 'speaker.set_volume': 0 to 50 expected, got 51 (check.value)",
      ])
    let json = try home.run("check", "--json", "bad.lua")
    #expect(json.status == 1)
    #expect(json.output.contains(#""file": "bad.lua", "line": 2, "column": 9, "code": "check.name""#))
    #expect(try home.run("check", "--json", "good.lua") == Outcome(status: 0, output: "[]\n", errors: ""))
    let input = try home.run("check", "-", input: .text("x = = 1"))
    #expect(input.status == 1 && input.output == "stdin:1:5: unexpected symbol near '=' (check.syntax)\n")
  }

  @Test("knows the rooms and stations of the configuration")
  func configuration() throws {
    let home = try Home()
    try home.script(
      """
      local speaker = require "speaker"
      speaker.device "Kitchen":join()
      speaker.device "Attic":join()
      speaker.play_stream "morning"
      speaker.play_stream "mornin"
      """)
    try home.script(
      "house { speakers = { { name = 'Attic' } } } stations { morning = 'http://127.0.0.1:1/x.mp3' }",
      as: "c.lua")
    let own = try home.run("check", "routine.lua")
    #expect(own.lines.map { $0.prefix(14) } == ["routine.lua:3:", "routine.lua:4:", "routine.lua:5:"])
    let given = try home.run("check", "--config", "c.lua", "routine.lua")
    #expect(given.lines.map { $0.prefix(14) } == ["routine.lua:2:", "routine.lua:5:"])
    #expect(given.output.contains("did you mean \"morning\"?"))
  }

  @Test("knows the names that speakers have been given; specs have a house of their own")
  func renamed() throws {
    let home = try Home()
    try home.script("require('speaker').device('Kitchen'):set_name 'Galley'\n", as: "rename.lua")
    #expect(try home.run("run", "--output", "null", "rename.lua").status == 0)
    try home.script("require('speaker').device('Galley'):join()\n", as: "new.lua")
    try home.script("require('speaker').device('Bathrom'):join()\n", as: "old.lua")
    #expect(try home.run("check", "new.lua") == Outcome(status: 0, output: "", errors: ""))
    let old = try home.run("check", "old.lua")
    #expect(old.output.contains("did you mean \"Bathroom\""), "\(old)")
    try home.script("require('speaker').device('Kitchen'):join()\n", as: "x_spec.lua")
    try home.script("require('speaker').device('Galley'):join()\n", as: "y_spec.lua")
    #expect(try home.run("check", "x_spec.lua") == Outcome(status: 0, output: "", errors: ""))
    #expect(try home.run("check", "y_spec.lua").status == 1)
  }

  @Test("looks into folders and modules, and refuses what can't be read")
  func files() throws {
    let home = try Home()
    #expect(mkdir(home.path("all"), 0o755) == 0 && mkdir(home.path("all/sub"), 0o755) == 0)
    #expect(mkdir(home.path("none"), 0o755) == 0)
    try home.script("pritn 'x'\n", as: "all/a.lua")
    try home.script("local m = require 'mine'\nm.rign()\n", as: "all/sub/b.lua")
    try home.script("return { ring = function() end }\n", as: "all/sub/mine.lua")
    try home.script("no Lua", as: "all/notes.txt")
    let folder = try home.run("check", "all")
    #expect(folder.status == 1)
    #expect(folder.lines.map { $0.prefix { $0 != " " } } == ["all/a.lua:1:1:", "all/sub/b.lua:2:3:"])
    for arguments in [["none"], ["nope.lua"], ["all", "nope.lua"], [], ["--frobnicate", "all"]] {
      let outcome = try home.start(["check"] + arguments).finish()
      #expect(outcome.status == 2 && outcome.output == "", "\(arguments): \(outcome)")
      #expect(outcome.errorLines.count == 1, "\(arguments): \(outcome)")
    }
    // Not even the superuser reads a folder as a script.
    #expect(symlink("loop.lua", home.path("loop.lua")) == 0)
    #expect(try home.run("check", "loop.lua").status == 2)
  }

  @Test("counts columns in characters, and reads files of Windows and with a first line for the shell")
  func texts() throws {
    let home = try Home()
    try home.script("#!/usr/bin/env -S roomtone run\r\nprint('\u{E4}\u{1F3B5}', x)\r\n", as: "a.lua")
    #expect(try home.run("check", "a.lua").output == "a.lua:2:13: undefined global 'x' (check.global)\n")
    try home.script("\u{FEFF}print(x)\n", as: "b.lua")
    #expect(try home.run("check", "b.lua").output == "b.lua:1:7: undefined global 'x' (check.global)\n")
    try home.script("\u{FEFF}#!/usr/bin/lua\nprint(1)\n", as: "e.lua")
    #expect(try home.run("check", "e.lua") == Outcome(status: 0, output: "", errors: ""))
    #expect(try home.run("run", "--output", "null", "e.lua") == Outcome(status: 0, output: "1\n", errors: ""))
    try home.write([0x78, 0, 0xFF, 0x0A], to: "c.lua")
    #expect(
      try home.run("check", "c.lua").output == "c.lua:1:2: unexpected symbol near '<\\0>' (check.syntax)\n")
    try home.write([], to: "d.lua")
    #expect(try home.run("check", "d.lua") == Outcome(status: 0, output: "", errors: ""))
  }

  @Test("run warns of the mistakes that have not failed yet, unless the log shows none")
  func warnings() throws {
    let home = try Home()
    try home.script(
      """
      local speaker = require "speaker"
      if arg[1] then speaker.stpo() end
      print "done"
      """)
    let calm = try home.run("run", "--output", "null", "routine.lua")
    #expect(calm.status == 0 && calm.output == "done\n")
    #expect(calm.errorLines.count == 1)
    #expect(calm.errors.hasPrefix("warn: routine.lua:2:24: the module 'speaker' has no"))
    // A failure says it already.
    let failed = try home.run("run", "--output", "null", "routine.lua", "x")
    #expect(failed.status == 1)
    #expect(failed.failures.count == 1 && !failed.errors.contains("warn:"), "\(failed)")
    try home.script("log { level = 'error' }", as: "c.lua")
    let silent = try home.run("run", "--output", "null", "--config", "c.lua", "routine.lua")
    #expect(silent == Outcome(status: 0, output: "done\n", errors: ""))
  }

  @Test("a job of cron and a script before the prompt are checked, too")
  func others() throws {
    let home = try Home()
    try home.script("local speaker = require \"speaker\"\nif os.getenv \"NOPE\" then speaker.stpo() end\n")
    let prompt = try home.run("repl", "--output", "null", "routine.lua", input: .text("print(1)\n"))
    #expect(prompt.errors.hasPrefix("warn: routine.lua:2:34: "), "\(prompt)")
    if let room = try CronRoom() {
      try room.home.script("local task = require \"task\"\nlocal function f() task.slep(1) end\nprint(f)\n")
      let added = try room.run("$ROOMTONE cron add @daily routine.lua")
      #expect(added.status == 0, "\(added)")
      #expect(added.errors.hasPrefix("warn: routine.lua:2:25: "), "\(added)")
    }
    try home.script("if os.getenv \"NOPE\" then speaker.stop() end\n", as: "globals.lua")
    #expect(try home.run("repl", "--output", "null", "globals.lua", input: .text("")).errors == "")
  }
}
