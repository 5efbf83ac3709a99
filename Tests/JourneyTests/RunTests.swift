import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("roomtone run", .waiting, .tags(.command)) struct RunTests {
  @Test("an empty script does nothing, prints nothing and is no failure")
  func empty() throws {
    let home = try Home()
    let nothing = Outcome(status: 0, output: "", errors: "")
    #expect(try home.run("run", home.script("")) == nothing)
    #expect(try home.run("run", "-e", "") == nothing)
    #expect(try home.run("run", "-", input: .text("")) == nothing)
  }

  @Test("a script comes from a file, from the command line or from standard input")
  func sources() throws {
    let home = try Home()
    let text = "print(\"hello\")\n"
    #expect(try home.run("run", home.script(text)).output == "hello\n")
    #expect(try home.run("run", "-e", text).output == "hello\n")
    #expect(try home.run("run", "-", input: .text(text)).output == "hello\n")
    #expect(try home.run("run", "-", input: .file(home.path("routine.lua"))).output == "hello\n")
  }

  @Test("arg and ... hold what is the script's: operands, and all behind two dashes")
  func arguments() throws {
    let home = try Home()
    let script = try home.script("print(arg[0], #arg, arg[1], arg[2], select('#', ...), ...)")
    let expected = "routine.lua\t2\tBedroom\t--for\t2\tBedroom\t--for\n"
    #expect(try home.run("run", "--output", "null", script, "Bedroom", "--", "--for").output == expected)
    #expect(try home.run("run", script, "Bedroom", "--for", "1h", "--", "--for").output == expected)
    let simulated = try home.run("simulate", script, "Bedroom", "--for", "1h", "--", "--for")
    #expect(simulated.lines.last?.hasSuffix(expected.dropLast()) == true)
    #expect(try home.run("run", "-e", "print(#arg, arg[1], ...)", "a b").output == "1\ta b\ta b\n")
    #expect(try home.run("run", "-", "x", input: .text("print(#arg, ...)")).output == "1\tx\n")
  }

  @Test("run and simulate obey --for behind the script")
  func limit() throws {
    let home = try Home()
    let script = try home.script("require 'task'.sleep '1h' print 'never'")
    #expect(try home.run("run", script, "--for", "100ms") == Outcome(status: 0, output: "", errors: ""))
    #expect(try home.run("simulate", script, "--for", "59m") == Outcome(status: 0, output: "", errors: ""))
  }

  @Test("errors in a simulation have the time of the simulation")
  func simulatedFailure() throws {
    let home = try Home()
    let script = try home.script(
      """
      local schedule, log = require "schedule", require "log"
      schedule.at("06:45", { name = "alarm" }, function() log.warn "nobody is up" error "no good" end)
      """)
    let outcome = try home.run("simulate", script, "--from", "2026-03-01T00:00", "--for", "1d")
    #expect(outcome.status == 1)
    #expect(outcome.errors.contains("warn: 2026-03-01 06:45: nobody is up\n"), "\(outcome)")
    #expect(outcome.errors.contains("roomtone: 2026-03-01 06:45, job \"alarm\": "), "\(outcome)")
  }

  @Test("os.exit ends the script with its status, after its <close> variables have run")
  func exits() throws {
    let home = try Home()
    let script = try home.script(
      """
      local task = require "task"
      local guard <close> = setmetatable({}, { __close = function() print "unwound" end })
      task.spawn(function()
        local inner <close> = setmetatable({}, { __close = function() print "unwound too" end })
        task.sleep("1h")
      end)
      task.sleep(0)
      pcall(os.exit, tonumber(arg[1]))
      print "never"
      """)
    let outcome = try home.run("run", script, "3")
    #expect(outcome.status == 3)
    #expect(outcome.lines.sorted() == ["unwound", "unwound too"])
    #expect(outcome.errors == "")
    #expect(try home.run("run", script, "0").status == 0)
    #expect(try home.run("run", "-e", "os.exit(true)").status == 0)
    #expect(try home.run("run", "-e", "os.exit(false)").status == 1)
  }

  @Test("as many files may be open as the system allows, whatever the shell asked for")
  func files() throws {
    let home = try Home()
    let script = try home.script(
      """
      local files = {}
      for number = 1, 200 do files[number] = assert(io.open("routine.lua")) end
      print(#files)
      """)
    let outcome = try home.runInShell("ulimit -Sn 64; \"$ROOMTONE\" run \(script)")
    #expect(outcome.lines == ["200"], "\(outcome)")
  }

  @Test("os.exit in a callback or a routine ends the whole script")
  func exitsElsewhere() throws {
    let home = try Home()
    let outcome = try home.run(
      "run", "-e",
      "local task = require 'task' task.spawn(function() task.sleep(0.1) os.exit(7) end) task.sleep('1h')")
    #expect(outcome == Outcome(status: 7, output: "", errors: ""))
  }

  @Test("--for ends a script that would run for ever, which is no failure")
  func limited() throws {
    let home = try Home()
    let outcome = try home.run(
      "run", "--for", "1s", "--output", "null", "-e",
      """
      local task, schedule = require "task", require "schedule"
      local guard <close> = setmetatable({}, { __close = function() print "unwound" end })
      schedule.every("1h", function() end)
      while true do task.sleep(0.1) end
      """)
    #expect(outcome == Outcome(status: 0, output: "unwound\n", errors: ""))
  }

  @Test("io.write and print come out in the order of the script, in a pipe too")
  func order() throws {
    let home = try Home()
    let outcome = try home.run(
      "run", "-e",
      """
      local task = require "task"
      io.write("a ") print("b")
      io.write("c ") io.stdout:write("d ") print("e")
      task.sleep(0.01)
      io.write("f ") task.sleep(0.01) print("g")
      print("h") io.write("i")
      """)
    #expect(outcome == Outcome(status: 0, output: "a b\nc d e\nf g\nh\ni", errors: ""))
  }

  @Test("misuse of a file is reported at the line of the script, and programs do not inherit the file")
  func fileMisuse() throws {
    let outcome = try Home().run(
      "run", "-e",
      """
      local file = assert(io.open("a.txt", "w+"))
      for _, fn in ipairs { function() file:read "z" end, function() io.read "z" end, function() file:seek "z" end,
        function() file:write {} end } do print(pcall(fn)) end
      io.popen("ls -l /proc/self/fd"):read "a":gsub("a%.txt", print)
      """)
    #expect(
      outcome.output == """
        false\t-e:2: bad argument #1 to 'read' (invalid format)
        false\t-e:2: bad argument #1 to 'read' (invalid format 'z': l, L, n, a or a number of bytes)
        false\t-e:2: bad argument #1 to 'seek' (invalid option 'z')
        false\t-e:3: bad argument #1 to 'write' (string expected, got table)

        """, "\(outcome)")
  }

  @Test("warnings and errors of the log go to standard error, results to standard output")
  func streams() throws {
    let home = try Home()
    let outcome = try home.run(
      "run", "-e",
      "local log = require 'log' log.warn('late', { by = 3, at = 'noon' }) log.debug('no') print(1)")
    #expect(outcome == Outcome(status: 0, output: "1\n", errors: "warn: late at=noon by=3\n"))
    #expect(try home.run("run", "--verbose", "-e", "require 'log'.debug('yes')").errors == "debug: yes\n")
  }

  @Test("without the sound card that was asked for, the speakers play silently and one line reports it")
  func noCard() throws {
    let home = try Home()
    try home.tune(frames: 9_600)
    let outcome = try home.run(
      "run", "--output", "alsa:no_such_card", "-e",
      "local speaker = require 'speaker' speaker.play('tune.wav', { rooms = 'Kitchen' }) print(speaker.finish())"
    )
    #expect(outcome.status == 0)
    #expect(outcome.output == "finished\n")
    #expect(outcome.errorLines.count { $0.hasPrefix("warn: no sound: ") } == 1)
  }

  @Test("a script that waits for what can't happen any more ends with an error instead of hanging")
  func stuck() throws {
    let home = try Home()
    for code in [
      "require 'speaker'.wait('ended')",
      "local task = require 'task' local a a = task.spawn(function() task.sleep(0) a:await() end)",
    ] {
      for command in ["run", "simulate"] {
        let script = try home.script(code)
        let outcome =
          command == "run"
          ? try home.run(command, "--output", "null", script) : try home.run(command, "--for", "1h", script)
        #expect(outcome.status == 1, "\(command) of \(code)")
        #expect(outcome.failures.count == 1, "\(outcome)")
        let time = command == "run" ? "" : "2026-01-05 00:00: "
        #expect(outcome.errors.hasPrefix("roomtone: \(time)routine.lua"), "\(outcome)")
        #expect(outcome.errors.contains("waits for something that can't happen any more"), "\(outcome)")
      }
    }
  }

  @Test(
    "lines of standard input are waited for by the reading routine alone, with every function",
    arguments: [
      "for line in io.lines() do print(line) end",
      "for line in io.stdin:lines() do print(line) end",
      "for line in io.lines(nil, 'L') do io.write(line) end",
      "local line = io.stdin:read() while line do print(line) line = io.input():read('l') end",
    ])
  func input(_ reading: String) throws {
    let home = try Home()
    let script = try home.script(
      """
      local task = require "task"
      -- Who holds the other end writes its last line when the second routine has run meanwhile.
      task.spawn(function() task.sleep(0.05) io.open("go", "w"):close() end)
      \(reading)
      io.open("file", "w"):write("in a file\\n"):close()
      for line in io.lines "file" do print(line) end
      io.input "file"
      print(io.read(), io.read())
      """)
    let outcome = try home.runInShell(
      """
      { echo one; n=0; while [ ! -e go ] && [ $n -lt 600 ]; do sleep 0.1; n=$((n+1)); done; [ -e go ] && echo two; } \
        | "$ROOMTONE" run --output null \(script)
      """)
    #expect(
      outcome == Outcome(status: 0, output: "one\ntwo\nin a file\nin a file\tnil\n", errors: ""), "\(outcome)"
    )
  }
}
