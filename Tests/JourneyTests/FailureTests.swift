import Glibc
import TestSupport
import TestTraits
import Testing

/// A script that must fail, with the parts of the expected message.
struct FailingScript: CustomTestStringConvertible {
  let testDescription: String
  /// Line 4 of the script, which runs while the last seconds of a tune play.
  let line: String
  /// Parts of the message.
  let message: [String]

  init(_ name: String, _ line: String, _ message: String...) {
    (testDescription, self.line, self.message) = (name, line, message)
  }

  static let all = [
    FailingScript(
      "a file that is not there", #"speaker.play "nope.mp3""#, "nope.mp3", "no such file", "audio.not_found"),
    FailingScript(
      "a file that is no audio", #"speaker.play "routine.lua""#, "routine.lua", "byte 0", "audio.unreadable"),
    FailingScript("a volume out of range", "speaker.set_volume(51)", "set_volume", "0 to 50", "51"),
    FailingScript(
      "a speaker's volume out of range", #"speaker.device "Kitchen":set_volume(-1)"#, "set_volume", "0 to 50",
      "-1"),
    FailingScript(
      "a speaker that is unknown", #"speaker.device "Kichen""#, #""Kichen""#, #""Kitchen""#, "speaker.unknown"
    ),
    FailingScript("an event that is unknown", #"speaker.on("volum", print)"#, "volum", "volume", "ended"),
    FailingScript(
      "an option that is unknown", #"speaker.play("music.mp3", { titel = "x" })"#, "titel", "title"),
    FailingScript(
      "a field that is assigned", #"speaker.device "Kitchen".volume = 5"#, "volume", "set_volume"),
    FailingScript("an endless loop", "while true do end", "script.blocked"),
    FailingScript("an endless loop that catches errors", "while true do pcall(error) end", "script.blocked"),
    FailingScript(
      "300 MB of tables",
      #"local mB, all = ("x"):rep(2 ^ 20), {} for i = 1, 300 do all[i] = { mB .. i } end"#, "256 MB",
      "script.memory"),
    FailingScript("an error of its own", #"error "my own words""#, "my own words"),
    FailingScript("a call of nil", "speaker.plai()", "plai"),
  ]

  /// Writes a routine that plays a tune and has `line` as its line 4; returns its name.
  func write(in home: Home) throws -> String {
    try home.music()
    return try home.script(
      """
      local speaker, task = require "speaker", require "task" speaker.open { add_all = true }
      speaker.play("music.mp3", { start = 21 })
      while speaker.is_playing() and speaker.position() < 21.1 do task.sleep(0.02) end
      \(line)
      """)
  }
}

@Suite("A script that fails", .waiting, .tags(.error)) struct FailureTests {
  @Test(
    "reports what and where in one message, and leaves the house in order", arguments: FailingScript.all)
  func fails(_ failing: FailingScript) throws {
    let home = try Home()
    let script = try failing.write(in: home)
    let outcome = try home.run("run", "--output", "wav:out", script)
    #expect(outcome.status == 1)
    #expect(outcome.output == "")
    #expect(outcome.failures.count == 1, "\(outcome)")
    #expect(outcome.errors.hasPrefix("roomtone: routine.lua:4: "), "\(outcome)")
    for part in failing.message { #expect(outcome.failures.first?.contains(part) == true, "\(outcome)") }
    // The lines after the message locate the script.
    #expect(outcome.errorLines.dropFirst().allSatisfy { $0.hasPrefix("  routine.lua:4: ") }, "\(outcome)")
    #expect(try unfinishedWAVs(in: home.path("out")) == [])
    #expect(fileNames(in: home.path("out")).count == 6)
    #expect(try Sound(file: home.path("out/Kitchen.wav")).peak > 0)

    try home.tune("short.wav", frames: 4_800)
    let next = try home.script(
      "local s = require 'speaker' s.play('short.wav', { rooms = s.devices() }) print(s.finish())",
      as: "next.lua")
    #expect(
      try home.run("run", "--output", "wav:out", next) == Outcome(status: 0, output: "finished\n", errors: "")
    )
    #expect(try Sound(file: home.path("out/Kitchen.wav")).frameCount == 4_800)
  }

  @Test("a syntax error is reported with its line before anything runs")
  func syntax() throws {
    let home = try Home()
    let script = try home.script("print 'before'\n\nlocal x = = 1\n")
    let outcome = try home.run("run", "--output", "wav:out", script)
    #expect(outcome.status == 1)
    #expect(outcome.output == "")
    #expect(outcome.errorLines.count == 1)
    #expect(outcome.errors.hasPrefix("roomtone: routine.lua:3: "))
    #expect(outcome.errors.contains("near '='"))
    #expect(fileNames(in: home.path("out")) == [])
    let simulated = try home.run("simulate", script)
    #expect(simulated.status == 1)
    #expect(simulated.errors == outcome.errors)
    let line = try home.run("run", "-e", "local x = = 1")
    #expect(line.status == 1)
    #expect(line.errors.hasPrefix("roomtone: -e:1: "))
    let input = try home.run("run", "-", input: .text("\nlocal x = = 1"))
    #expect(input.status == 1)
    #expect(input.errors.hasPrefix("roomtone: stdin:2: "))
  }

  @Test("fails the same way in a simulation", arguments: FailingScript.all)
  func simulated(_ failing: FailingScript) throws {
    let home = try Home()
    let script = try failing.write(in: home)
    let outcome = try home.run("simulate", "--render", "out", script)
    #expect(outcome.status == 1)
    #expect(outcome.failures.count == 1, "\(outcome)")
    #expect(outcome.errors.hasPrefix("roomtone: 2026-01-05 00:00: routine.lua:4: "), "\(outcome)")
    for part in failing.message { #expect(outcome.failures.first?.contains(part) == true, "\(outcome)") }
    #expect(try unfinishedWAVs(in: home.path("out")) == [])
  }

  @Test("a routine or a job that fails is reported, and the script continues to its end")
  func beside() throws {
    let home = try Home()
    let script = try home.script(
      """
      local schedule, task = require "schedule", require "task"
      task.spawn(function() task.sleep("1s") error "in a routine" end)
      local job = schedule.every("1m", { name = "milk" }, function() error "in a job" end)
      task.sleep("2m30s")
      job:cancel()
      print("end", job.runs, job.failures)
      """)
    let outcome = try home.run("simulate", script)
    #expect(outcome.status == 1)
    #expect(outcome.output.contains("end\t2\t2\n"))
    #expect(
      outcome.failures == [
        "roomtone: 2026-01-05 00:00:01: routine.lua:2: in a routine",
        "roomtone: 2026-01-05 00:01, job \"milk\": routine.lua:3: in a job",
        "roomtone: 2026-01-05 00:02, job \"milk\": routine.lua:3: in a job",
      ])
  }

  @Test("the script itself failing ends what it has set up: jobs, timers and routines")
  func mainFails() throws {
    let home = try Home()
    let script = try home.script(
      """
      local schedule, task = require "schedule", require "task"
      schedule.every("1s", function() print "a job" end)
      task.spawn(function() while true do task.sleep(1) print "a routine" end end)
      error "no more"
      """)
    for (command, time) in [
      (["run", "--output", "null", script], ""), (["simulate", "--for", "1h", script], "2026-01-05 00:00: "),
    ] {
      let outcome = try home.start(command).finish()
      #expect(outcome.status == 1)
      #expect(outcome.failures == ["roomtone: \(time)routine.lua:4: no more"], "\(outcome)")
      #expect(!outcome.output.contains("a "), "\(outcome)")
    }
  }

  @Test("an error with the code of os.exit is a failure all the same")
  func forgedExit() throws {
    let home = try Home()
    let code = "error({ code = 'script.exit', message = 'no exit' })"
    let outcome = try home.run("run", "--output", "null", "-e", code)
    #expect(outcome.status == 1 && outcome.failures.count == 1, "\(outcome)")
    let prompt = try home.run("repl", "--output", "null", input: .text("\(code)\n'goes on'\n"))
    #expect(prompt.status == 1 && prompt.failures.count == 1 && prompt.output == "goes on\n", "\(prompt)")
  }

  @Test(
    "output that can't be written is reported once, and is a failure",
    arguments: [
      "print(1) print(2)", "io.write(1)", "print(1) os.exit(0)",
    ])
  func fullDisk(_ code: String) throws {
    let home = try Home()
    let outcome = try home.runInShell("\"$ROOMTONE\" run --output null -e '\(code)' > /dev/full")
    #expect(outcome.status == 1, "\(outcome)")
    #expect(outcome.errors == "roomtone: can't write the output: No space left on device\n")
    // A closed reader is not a failure.
    let piped = try home.runInShell("{ \"$ROOMTONE\" run --output null -e '\(code)'; echo $? >&2; } | true")
    #expect(piped.errors == "0\n", "\(piped)")
  }

  @Test("standard streams that are closed are as empty ones, and files don't get their descriptors")
  func closedStreams() throws {
    let home = try Home()
    #expect(
      try home.runInShell("\"$ROOMTONE\" run --output null -e 'print(io.read())' <&-")
        == Outcome(status: 0, output: "nil\n", errors: ""))
    #expect(
      try home.runInShell("\"$ROOMTONE\" repl --output null <&-")
        == Outcome(status: 0, output: "", errors: ""))
    try home.tune("tune.wav", frames: 4_800)
    let script = try home.script(
      "local s = require 'speaker' s.play('tune.wav', { rooms = s.devices() }) print(s.finish())")
    #expect(
      try home.runInShell("\"$ROOMTONE\" run --output wav:out \(script) >&- 2>&-")
        == Outcome(status: 0, output: "", errors: ""))
    #expect(try unfinishedWAVs(in: home.path("out")) == [])
  }

  @Test("a log line stays one line, whatever it contains")
  func logLine() throws {
    let home = try Home()
    let code =
      #"require 'log'.warn("a\nwarn: b\27[2J\127", { k = "x y", e = "", q = 'say "hi"', u = "é" })"#
    let outcome = try home.run("run", "--output", "null", "-e", code)
    #expect(outcome.errors == #"warn: a\nwarn: b\x1b[2J\x7f e="" k="x y" q="say \"hi\"" u=é"# + "\n")
  }

  @Test("an error that the script catches is an object with code, message and hint, and is no failure")
  func caught() throws {
    let home = try Home()
    let outcome = try home.run(
      "run", "--output", "null", "-e",
      """
      local speaker, task = require "speaker", require "task"
      local good, err = pcall(speaker.device, "Kichen")
      print(good, err.code, err.message, err.hint)
      local nothing, other = task.try(speaker.play, "nope.mp3", { rooms = "Kitchen" })
      print(nothing, other.code, other.path)
      """)
    #expect(
      outcome
        == Outcome(
          status: 0,
          output: """
            false\tspeaker.unknown\tno speaker is called "Kichen"\tdid you mean "Kitchen"?
            nil\taudio.not_found\tnope.mp3

            """, errors: ""))
  }
}

@Suite("A command line that is wrong", .waiting, .tags(.error, .command)) struct UsageTests {
  /// A wrong command line: words after `roomtone`, and the parts of the one line on standard error.
  struct Wrong: CustomTestStringConvertible {
    let words: [String]
    let message: [String]
    var testDescription: String { words.joined(separator: " ") }
    init(_ words: String..., tells message: String...) { (self.words, self.message) = (words, message) }

    static let all = [
      Wrong("run", "missing.lua", tells: "missing.lua", "No such file or directory"),
      Wrong("run", ".", tells: ".", "directory"),
      Wrong("simulate", "missing.lua", tells: "missing.lua"),
      Wrong("repl", "missing.lua", tells: "missing.lua"),
      Wrong("run", "--outptu", "null", "a.lua", tells: "--outptu", "did you mean '--output'?"),
      Wrong("simulate", "--rendr", "x", "a.lua", tells: "--rendr", "did you mean '--render'?"),
      Wrong("rnu", "a.lua", tells: "rnu", "did you mean 'run'?"),
      Wrong("wake_up.lua", tells: "roomtone run SCRIPT"),
      Wrong("run", "--for", "1fortnight", "a.lua", tells: "--for", "1fortnight"),
      Wrong("run", "--for", "a.lua", tells: "--for", "a.lua"),
      Wrong("run", "--output", "tape", "a.lua", tells: "--output", "tape", "wav:DIR"),
      Wrong("simulate", "--from", "yesterday", "a.lua", tells: "--from", "yesterday"),
      Wrong("simulate", "--seed", "-1", "a.lua", tells: "--seed", "-1"),
      Wrong("simulate", "--timezone", "Europe/Berlln", "-", tells: "Europe/Berlln"),
      Wrong("run", tells: "SCRIPT"),
    ]
  }

  @Test("ends with status 2 and one line that names the mistake", arguments: Wrong.all)
  func wrong(_ wrong: Wrong) throws {
    let home = try Home()
    let outcome = try home.start(wrong.words).finish()
    #expect(outcome.status == 2)
    #expect(outcome.output == "")
    #expect(outcome.errorLines.count == 1, "\(outcome)")
    for part in wrong.message { #expect(outcome.errors.contains(part), "\(outcome)") }
  }

  @Test("a mistake in the configuration is reported with its line and the nearest known key")
  func configuration() throws {
    let home = try Home()
    mkdir(home.path("config/roomtone"), 0o700)
    try home.script("house { speakers = {\n { nmae = 'A' } } }", as: "config/roomtone/config.lua")
    let outcome = try home.run("run", "-e", "print 'never'")
    #expect(outcome.status != 0)
    #expect(outcome.output == "")
    #expect(outcome.failures.count == 1, "\(outcome)")
    #expect(outcome.errors.contains("config.lua:1: "), "\(outcome)")
    #expect(outcome.errors.contains("nmae") && outcome.errors.contains("name"), "\(outcome)")
  }

  @Test("help and version go to standard output with status 0, help for nothing to standard error with 2")
  func help() throws {
    let home = try Home()
    for words in [
      ["--help"], ["run", "--help"], ["simulate", "-h"], ["repl", "--help"], ["help", "run"], ["--version"],
    ] {
      let outcome = try home.start(words).finish()
      #expect(outcome.status == 0 && outcome.errors == "" && outcome.output.hasSuffix("\n"), "\(words)")
    }
    let outcome = try home.start([]).finish()
    #expect(outcome.status == 2 && outcome.output == "" && outcome.errors.contains("roomtone run"))
  }
}
