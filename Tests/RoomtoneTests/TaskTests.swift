import LuaRuntime
import TestTraits
import Testing

@Suite("task", .waiting, .tags(.task))
struct TaskTests {
  @Test(
    "sleep accepts seconds and text, and names anything else",
    arguments: [
      ("0.5", 0.5), ("2", 2), ("'250ms'", 0.25), ("'1h30m'", 5400), ("'90s'", 90), ("'7d'", 604_800),
    ])
  func sleep(_ time: String, _ seconds: Double) throws {
    var harness = try EngineHarness()
    harness.limit = .seconds(8 * 86_400)
    let lines = try harness.printed(
      "local b = task.now() task.sleep(\(time)) print(task.now() - b == \(seconds))")
    #expect(lines == ["true"])
  }

  @Test("times that are none name the argument", arguments: ["'soon'", "-1", "'5'", "{}", "", "0/0", "1/0"])
  func noTime(_ time: String) throws {
    let line = try #require(
      try EngineHarness.printed("print(failure(task.sleep, \(time.isEmpty ? "nil" : time)))").first)
    #expect(line.hasPrefix("test.lua:1: bad argument #1 to 'sleep' ("))
  }

  @Test("an error comes through await as the very value that was raised, in every routine that awaits")
  func identity() throws {
    let lines = try EngineHarness.printed(
      """
      local mine = setmetatable({ code = "mine" }, { __tostring = function() return "mine!" end })
      local t = task.spawn(function() task.sleep(1) error(mine) end)
      local function caught() return select(2, pcall(t.await, t)) end
      local other = task.spawn(caught)
      print(caught() == mine, other:await() == mine, caught() == mine)
      local text = task.spawn(function() error("plain", 0) end)
      print(pcall(text.await, text))
      local raised
      local host = task.spawn(function() raised = failure(speaker.device, "Nobody at all") error(raised) end)
      print(select(2, pcall(host.await, host)) == raised, raised.code)
      """)
    #expect(lines == ["true\ttrue\ttrue", "false\tplain", "true\tspeaker.unknown"])
  }

  @Test("a failing task that nobody awaits is reported with its position, and the script continues")
  func unawaited() throws {
    let outcome = try EngineHarness().run(
      """
      task.spawn(function()
        error "lost"
      end)
      task.sleep(1)
      print "goes on"
      """)
    #expect(outcome.lines == ["goes on"] && outcome.status == 1)
    #expect(outcome.failures.map(\.description) == ["test.lua:2: lost"])
    #expect(outcome.failures.first?.traceback?.contains("test.lua:2") == true)
  }

  @Test("a task whose function is none of the script's fails at the line that has started it")
  func birthplace() throws {
    let outcome = try EngineHarness().run(
      """
      local announce = require "announce"
      task.spawn(announce.say, { 5 })
      local t = task.spawn(speaker.set_volume, 99)
      print(failure(t.await, t))
      task.spawn(function() error { code = "mine.own", message = "mine" } end)
      """)
    #expect(outcome.lines == ["test.lua:3: bad argument #1 to 'set_volume' (0 to 50 expected, got 99)"])
    #expect(
      outcome.failures.map(\.description) == [
        "test.lua:2: the text, value 1 in the options of 'say': string expected, got number",
        "test.lua:5: mine (mine.own)",
      ])
  }

  @Test("a task that fails after the timeout of await is reported too")
  func failsAfterTimeout() throws {
    let outcome = try EngineHarness().run(
      """
      local t = task.spawn(function() task.sleep(2) error "late" end)
      print(code(t.await, t, 1))
      task.sleep(5)
      """)
    #expect(outcome.lines == ["task.timeout"])
    #expect(outcome.failures.map(\.description) == ["test.lua:1: late"] && outcome.status == 1)
  }

  @Test("a failure while a cancelled task unwinds is reported")
  func failsWhileUnwinding() throws {
    let outcome = try EngineHarness().run(
      """
      local t = task.spawn(function()
        local guard <close> = setmetatable({}, { __close = function() error "broken close" end })
        task.sleep(10)
      end)
      task.sleep(1)
      t:cancel()
      task.sleep(1)
      """)
    #expect(outcome.failures.map(\.description) == ["test.lua:2: broken close"] && outcome.status == 1)
  }

  @Test("cancel unwinds through pcall; <close> variables run and may suspend; await raises task.cancelled")
  func cancel() throws {
    let lines = try EngineHarness.printed(
      """
      local t = task.spawn(function()
        local guard <close> = setmetatable({}, { __close = function(_, err)
          print("closing", err.code)
          task.sleep(1)
          print("closed", task.now())
        end })
        print(pcall(function() pcall(task.sleep, "1h") print "never" end))
        print "never"
      end)
      task.sleep(1)
      t:cancel()
      t:cancel()
      print(code(t.await, t), task.now(), t)
      """)
    #expect(
      lines == ["closing\ttask.cancelled", "closed\t2.0", "task.cancelled\t2.0\ttask \"task\" (cancelled)"])
  }

  @Test(
    "a task that is cancelled before its first line does not run; cancelling what is done changes nothing")
  func cancelEarly() throws {
    let lines = try EngineHarness.printed(
      """
      local t = task.spawn(print, "never")
      t:cancel()
      print(t.done, code(t.await, t))
      local done = task.spawn(function() return 5 end)
      task.sleep(1)
      done:cancel()
      print(done:await())
      """)
    #expect(lines == ["true\ttask.cancelled", "5"])
  }

  @Test("all returns the first results in order; a failure cancels the others and is raised")
  func all() throws {
    let lines = try EngineHarness.printed(
      """
      local slow = task.spawn(function() task.sleep(2) return "slow", "rest" end)
      local list = task.all { slow, function() return "quick" end, function() end }
      print(#list, list[1], list[2], list[3], task.now(), #task.all {})
      local function guarded() local g <close> = setmetatable({}, { __close = function() print "cancelled" end }) task.sleep "1h" end
      local err = failure(task.all, { guarded, function() task.sleep(1) error({ code = "mine" }) end })
      print(err.code, task.now())
      print(message(task.all, { 7 }))
      """)
    #expect(lines[0] == "3\tslow\tquick\ttrue\t2.0\t0")
    #expect(lines[1...2].sorted() == ["cancelled", "mine\t3.0"])
    #expect(lines[3] == "bad argument #1 to 'all' (element 1: task or function expected, got number)")
  }

  @Test("race returns the results of the first and cancels the others")
  func race() throws {
    let lines = try EngineHarness.printed(
      """
      local loser = task.spawn(function() task.sleep(2) return "slow" end)
      print(task.race { loser, function() task.sleep(1) return "quick", 2 end })
      print(code(loser.await, loser), task.now())
      print(code(task.race, { function() error({ code = "mine" }) end, function() task.sleep(1) end }))
      print(code(task.race, {}))
      """)
    #expect(lines == ["quick\t2", "task.cancelled\t1.0", "mine", "argument"])
  }

  @Test("timeout returns the results in time, and else cancels the function and raises task.timeout")
  func timeout() throws {
    let lines = try EngineHarness.printed(
      """
      print(task.timeout("2s", function(a) task.sleep(1) return a, "b" end, "a"))
      print(failure(task.timeout, 1, function()
        local guard <close> = setmetatable({}, { __close = function() print "cancelled" end })
        task.sleep "1h"
      end).code, task.now())
      print(code(task.timeout, 1, function() error({ code = "mine" }) end))
      """)
    #expect(
      lines[0] == "a\tb" && lines[1...2].sorted() == ["cancelled", "task.timeout\t2.0"] && lines[3] == "mine")
  }

  @Test("all, race and timeout return when what they cancelled has unwound")
  func unwound() throws {
    let lines = try EngineHarness.printed(
      """
      local function slow()
        local guard <close> = setmetatable({}, { __close = function() task.sleep(2) print("unwound", task.now()) end })
        task.sleep "1h"
      end
      local function later(time) return function() task.sleep(time) error({ code = "mine" }) end end
      print(code(task.all, { slow, later(1), slow }), task.now())
      print(task.race { slow, function() task.sleep(1) return "won" end }, task.now())
      print(code(task.timeout, 1, slow), task.now())
      local done = task.spawn(function() return "at once" end)
      task.sleep(1)
      print(task.race { done, slow })
      """)
    #expect(
      lines == [
        "unwound\t3.0", "unwound\t3.0", "mine\t3.0", "unwound\t6.0", "won\t6.0", "unwound\t9.0",
        "task.timeout\t9.0", "at once",
      ])
  }

  @Test("cancelling a caller of all, race or timeout cancels what they started")
  func structured() throws {
    let lines = try EngineHarness.printed(
      """
      local function guarded(name)
        return function()
          local guard <close> = setmetatable({}, { __close = function() print(name) end })
          task.sleep "1h"
        end
      end
      local outer = {
        task.spawn(function() task.all { guarded "all" } end), task.spawn(function() task.race { guarded "race" } end),
        task.spawn(function() task.timeout("2h", guarded "timeout") end),
      }
      task.sleep(1)
      for _, t in ipairs(outer) do t:cancel() end
      """)
    #expect(lines == ["all", "race", "timeout"])
  }

  @Test(
    "inside a function that Lua's C code calls, a function that suspends raises task.cannot_suspend and does not begin",
    arguments: [
      "task.sleep(1)", "speaker.play 'tone.wav'", "speaker.wait 'time'", "speaker.finish()",
      "task.all { function() print 'began' end }", "task.race { function() print 'began' end }",
      "task.timeout(1, function() print 'began' end)",
    ])
  func cannotSuspend(_ call: String) throws {
    let lines = try EngineHarness.printed(
      """
      speaker.open()
      table.sort({ 1, 2 }, function() print(code(function() \(call) end)) return false end)
      string.gsub("x", "x", function() print(code(function() \(call) end)) end)
      tostring(setmetatable({}, { __tostring = function() print(code(function() \(call) end)) return "" end }))
      task.sleep(1)
      print(speaker.state())
      """)
    #expect(lines == Array(repeating: "task.cannot_suspend", count: 3) + ["stopped"])
  }

  @Test("a function before the house is open may suspend, and can't where nothing can")
  func beforeOpening() throws {
    var harness = try EngineHarness()
    harness.addsAll = false
    let lines = try harness.printed(
      """
      table.sort({ 1, 2 }, function() print(code(speaker.devices)) return false end)
      print(#speaker.devices())
      table.sort({ 1, 2 }, function() print(code(speaker.devices)) return false end)
      """)
    #expect(lines == ["task.cannot_suspend", "6", "none"])
  }
}
