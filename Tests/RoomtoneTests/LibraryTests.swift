import Glibc
import Home
import LuaRuntime
import TestSupport
import TestTraits
import Testing

@Suite("log, os, io and require as scripts see them", .waiting, .tags(.log, .files))
struct LibraryTests {
  @Test("each level logs its message with fields sorted by name")
  func log() throws {
    let outcome = try EngineHarness().run(
      """
      log.debug "one"
      log.info("two", { volume = 20, room = "Kitchen" })
      log.warn("three", { ok = false, at = 0.5 })
      log.error("four", {})
      """)
    #expect(
      outcome.log == [
        .init(level: .debug, message: "one", fields: []),
        .init(level: .info, message: "two", fields: ["room=Kitchen", "volume=20"]),
        .init(level: .warn, message: "three", fields: ["at=0.5", "ok=false"]),
        .init(level: .error, message: "four", fields: []),
      ])
    #expect(outcome.status == 0 && outcome.lines.isEmpty)
  }

  @Test("a message that is none, and fields that are none, are named")
  func logMisuse() throws {
    let lines = try EngineHarness.printed("print(message(log.info)) print(message(log.info, 'x', 'y'))")
    #expect(
      lines == [
        "bad argument #1 to 'info' (string expected, got no value)",
        "bad argument #2 to 'info' (table expected, got string)",
      ])
  }

  @Test(
    "os.exit ends the script with its status, through pcall, from any routine",
    arguments: [
      ("os.exit()", 0), ("os.exit(true)", 0), ("os.exit(false)", 1), ("os.exit(7)", 7), ("os.exit(255)", 255),
      ("pcall(os.exit, 3) print 'never'", 3),
      ("task.spawn(function() task.sleep(1) os.exit(4) end) task.sleep '1h' print 'never'", 4),
      ("coroutine.wrap(function() os.exit(5) end)() print 'never'", 5),
      ("schedule.at('06:45', function() os.exit(6) end)", 6),
      ("task.try(function() pcall(os.exit, 8) end) os.exit(9)", 8),
    ] as [(String, Int32)])
  func exit(_ code: String, _ status: Int32) throws {
    let outcome = try EngineHarness().run(code)
    #expect(outcome.status == status && outcome.lines.isEmpty && outcome.failures.isEmpty)
  }

  @Test("os.exit lets <close> variables run in every routine, and stops what plays")
  func exitUnwinds() throws {
    let outcome = try EngineHarness().run(
      """
      local function guard(name) return setmetatable({}, { __close = function() task.sleep(1) print(name, speaker.is_open()) end }) end
      task.spawn(function() local other <close> = guard "other" task.sleep "1h" end)
      speaker.play "long.wav"
      local own <close> = guard "own"
      task.sleep(1)
      os.exit(2)
      """)
    #expect(outcome.lines.sorted() == ["other\ttrue", "own\ttrue"] && outcome.status == 2)
    #expect(outcome.seconds < 5)
  }

  @Test("a status that is none raises", arguments: ["300", "-1", "'x'", "1.5"])
  func badStatus(_ status: String) throws {
    #expect(try EngineHarness.printed("print(code(os.exit, \(status)))") == ["argument"])
  }

  @Test("under simulation os.time, os.date and os.clock follow the virtual clock")
  func time() throws {
    let lines = try EngineHarness.printed(
      """
      local begin = os.time()
      print(os.date "%Y-%m-%d %H:%M:%S", os.clock())
      task.sleep "26h"
      print(os.date "%a %d %b %H:%M", os.time() - begin, os.clock())
      local now = os.date "*t"
      print(now.year, now.month, now.day, now.hour, now.min, now.sec, now.wday, now.yday, type(now.isdst))
      print(os.time(now) == os.time(), os.time { year = 2026, month = 1, day = 5, hour = 0 } == begin)
      print(os.time { year = 2026, month = 1, day = 5 } - begin, os.time { year = 2026, month = 1, day = 36, hour = 0 } - begin)
      print(os.date("!%H:%M", 3600), os.date("!*t", 0).year, code(os.date, "%Ez"), code(os.time, { year = 2026 }))
      """)
    #expect(
      lines == [
        "2026-01-05 00:00:00\t0.0", "Tue 06 Jan 02:00\t93600\t93600.0", "2026\t1\t6\t2\t0\t0\t3\t6\tboolean",
        "true\ttrue", "43200\t2678400", "01:00\t1970\targument\targument",
      ])
  }

  @Test(
    "under simulation what acts outside raises simulate.not_here",
    arguments: [
      "os.execute, 'true'", "os.execute", "io.popen, 'ls'", "os.tmpname",
    ])
  func notHere(_ call: String) throws {
    #expect(try EngineHarness.printed("print(code(\(call)))") == ["simulate.not_here"])
  }

  @Test("on the wall clock os.execute returns what Lua's does, and suspends its own routine only")
  func execute() throws {
    let harness = try EngineHarness(wall: true)
    let lines = try harness.printed(
      """
      local ticks, ended = 0, false
      task.spawn(function() while not ended do task.sleep "20ms" ticks = ticks + 1 end end)
      print(os.execute(), os.execute "exit 3")
      print(os.execute "true")
      print(os.execute "kill -9 $$")
      print(os.execute "sleep 1", ticks > 5)
      ended = true
      print(code(os.execute, 7))
      """)
    #expect(lines == ["true\tnil\texit\t3", "true\texit\t0", "nil\tsignal\t9", "true\ttrue", "argument"])
  }

  @Test("io.popen reads from a program and writes to one; only the routine that waits is suspended")
  func popen() throws {
    signal(SIGPIPE, SIG_IGN)
    let harness = try EngineHarness(wall: true)
    let outcome = try harness.run(
      """
      local ticks = 0
      local clock = task.spawn(function() while true do task.sleep(0.01) ticks = ticks + 1 end end)
      local file = io.popen "printf 'one\\ntwo\\n3 four\\n'; sleep 1; printf five; exit 7"
      print(file:read(), file:read "L", file:read("n", "l"))
      print(file:read "a", file:read(), ticks > 3)
      print(file:close())
      print(pcall(file.read, file))
      for line in io.popen("printf 'a\\nb\\n'"):lines() do print("line", line) end
      local sink = io.popen("sort > sorted.txt", "w")
      print(sink:write("b\\n", 1, "\\na\\n") == sink, sink:close())
      for line in io.lines "sorted.txt" do print(line) end
      local closed = io.popen("exec <&-; sleep 0.1", "w")
      task.sleep(0.05)
      print(select(3, closed:write(("x"):rep(200000))))
      print(code(io.popen, "true", "rw"), code(closed.read, closed))
      clock:cancel()
      """.replacing("sorted.txt", with: harness.folder.file("sorted.txt")))
    #expect(outcome.failures.isEmpty, "\(outcome.failures)")
    #expect(
      outcome.lines == [
        "one\ttwo\n\t3\t four", "five\tnil\ttrue", "nil\texit\t7",
      ] + outcome.lines.dropFirst(3).prefix(1) + [
        "line\ta", "line\tb", "true\ttrue\texit\t0", "1", "a", "b", "32", "argument\targument",
      ])
  }

  @Test("a routine that is cancelled ends the program that it waits for")
  func executeCancelled() throws {
    let outcome = try EngineHarness(wall: true).run(
      "print(code(task.timeout, 0.1, os.execute, 'exec sleep 60')) ")
    #expect(outcome.lines == ["task.timeout"] && outcome.seconds < 10)
  }

  @Test("processes that such a program has started end with it, and it has no signals ignored or blocked")
  func executeGroup() throws {
    let harness = try EngineHarness(wall: true)
    let pid = harness.folder.file("pid")
    let outcome = try harness.run(
      """
      print(code(task.timeout, 2, os.execute, "sleep 60 & echo $! > \(pid); wait"))
      print(os.execute [[
        for _ in $(seq 300); do
          test -s \(pid) && ! grep -q '^State:.[^ZX]' /proc/$(cat \(pid))/status 2> /dev/null && exit 9
          sleep 0.1
        done]])
      print(os.execute "grep -q '^SigBlk:.*0000000000000000$' /proc/self/status")
      print(os.execute "kill -PIPE $$")
      print(message(os.execute, "true\\0false"))
      """)
    #expect(outcome.lines.prefix(4) == ["task.timeout", "nil\texit\t9", "true\texit\t0", "nil\tsignal\t13"])
    #expect(outcome.lines.last?.contains("contains a zero byte") == true)
  }

  @Test("an error of a script with the code of os.exit is an error")
  func forgedExit() throws {
    let outcome = try EngineHarness().run(
      "task.spawn(error, { code = 'script.exit' }) task.sleep(1) print 'on'")
    #expect(outcome.failures.map(\.code) == ["script.exit"])
    #expect(outcome.lines == ["on"] && outcome.status == 1)
  }

  @Test("require finds modules of the library and beside the script")
  func require() throws {
    var harness = try EngineHarness()
    harness.addsAll = false
    _ = try harness.folder.write(
      Array("task = require 'task' task.sleep(1) return { answer = 42 }".utf8), to: "mine.lua")
    _ = try harness.folder.write(Array("return ...".utf8), to: "init.lua")
    let lines = try harness.printed(
      """
      print(require("mine").answer, require "mine" == require "mine", task.now())
      print(select(2, pcall(require, "meta.log")))
      print(code(require, "nowhere"), message(require, "nowhere"):find("nowhere.lua", 1, true) ~= nil)
      print(require "speaker" == speaker, package.loaded.task == task)
      """)
    #expect(lines[0] == "42\ttrue\t1.0" && lines[1].contains("stdlib/meta/log.lua is a description"))
    #expect(lines[2] == "script.module\ttrue" && lines[3] == "true\ttrue")
  }

  @Test("no file beside the script hides a module of the library", arguments: [true, false])
  func hides(_ hasFolder: Bool) throws {
    var harness = try EngineHarness()
    if !hasFolder { harness.standardLibrary = nil }
    #expect(
      mkdir(harness.folder.file("roomtone"), 0o755) == 0 && mkdir(harness.folder.file("zone"), 0o755) == 0)
    for file in ["party.lua", "speaker.lua", "roomtone/options.lua", "zone/init.lua", "_party.lua"] {
      _ = try harness.folder.write(Array("print 'mine' return { mine = true }".utf8), to: file)
    }
    let lines = try harness.printed(
      """
      for _, name in ipairs { "party", "speaker", "roomtone.options", "zone", "alarm" } do
        print(name, rawget(require(name), "mine"))
      end
      print(require("_party").mine)
      """)
    #expect(
      lines == [
        "party\tnil", "speaker\tnil", "roomtone.options\tnil", "zone\tnil", "alarm\tnil", "mine", "true",
      ])
  }

  @Test("Lua's own library: text only, no finalizers, and debug that only looks")
  func restricted() throws {
    let lines = try EngineHarness.printed(
      """
      print(code(load, string.dump(function() end), "x", "b") ~= "none", load(string.dump(function() end)))
      print((message(setmetatable, {}, { __gc = print })))
      print(type(debug.traceback()), debug.getinfo(1, "l").currentline)
      print(pcall(function() task.sleep(1) error "after" end))
      print(xpcall(function() task.sleep(1) error({}) end, function(err) return type(err) end))
      """)
    #expect(lines[0].hasPrefix("true\tnil\t") && lines[0].contains("attempt to load a binary chunk"))
    #expect(lines.count == 5 && lines[2] == "string\t3")
    #expect(lines.dropFirst(3) == ["false\ttest.lua:4: after", "false\ttable"])
  }
}
