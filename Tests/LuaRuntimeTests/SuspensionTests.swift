import EventLoop
import LuaRuntime
import TestTraits
import Testing

@Suite("Suspending in a Swift function", .tags(.scripts))
struct SuspensionTests {
  @Test(
    "a slow function suspends the routine, and only it, inside",
    arguments: [
      ("pcall", "print(pcall(host.sleep, 1))", "true\tslept"),
      ("pcall of a function", "print(pcall(function() return host.sleep(1) end))", "true\tslept"),
      ("xpcall", "print(xpcall(host.sleep, print, 1))", "true\tslept"),
      (
        "xpcall with arguments", "print(xpcall(function(a, b) return host.sleep(a), b end, print, 1, 2))",
        "true\tslept\t2"
      ),
      (
        "a metamethod", "print(setmetatable({}, {__index = function(_, k) return host.sleep(1) .. k end}).x)",
        "sleptx"
      ),
      (
        "an arithmetic metamethod",
        "print(setmetatable({}, {__add = function() return host.sleep(1) end}) + 1)", "slept"
      ),
      (
        "an iterator",
        "for x in function(_, last) if not last then return host.sleep(1) end end do print(x) end", "slept"
      ),
      ("coroutine.wrap", "print(coroutine.wrap(function() return host.sleep(1) end)())", "slept"),
      (
        "coroutine.resume", "print(coroutine.resume(coroutine.create(function() return host.sleep(1) end)))",
        "true\tslept"
      ),
      (
        "a coroutine in a coroutine",
        "print(coroutine.wrap(function() return coroutine.wrap(function() return pcall(host.sleep, 1) end)() end)())",
        "true\tslept"
      ),
      (
        "a <close> variable",
        "do local x <close> = setmetatable({}, {__close = function() print(host.sleep(1)) end}) end", "slept"
      ),
      ("dofile's chunk", "print(load('return host.sleep(1)')())", "slept"),
      ("a method of an object", "print(pcall(function() return host.new_thing():rest() end))", "true\t3"),
    ])
  func suspends(_ place: String, code: String, result: String) throws {
    let harness = try ScriptHarness()
    _ = try harness.run("host.later(function() print('other') end)")
    let start = harness.loop.now
    let lines = try harness.printed(
      code.replacing("host.sleep(1)", with: "host.sleep(2)").replacing("host.sleep, 1", with: "host.sleep, 2")
    )
    #expect(lines.contains("other") || place == "a method of an object")
    #expect(lines.contains(result), "\(lines)")
    #expect(start.duration(to: harness.loop.now) >= .seconds(1))
  }

  @Test("a script's coroutine keeps yielding to the script after it waited for the host")
  func yieldsAfterWaiting() throws {
    let harness = try ScriptHarness()
    let lines = try harness.printed(
      """
      local co = coroutine.create(function(a)
        local b = coroutine.yield(a .. host.sleep(1))
        host.sleep(1)
        local c = coroutine.yield(b)
        return c, "end"
      end)
      print(coroutine.resume(co, "1"))
      print(coroutine.resume(co, "2"))
      print(coroutine.resume(co, "3"))
      print(coroutine.resume(co), coroutine.status(co))
      """)
    #expect(lines == ["true\t1slept", "true\t2", "true\t3\tend", "false\tdead"])
  }

  @Test("a coroutine that waits for the host can be neither resumed nor closed by another routine")
  func waitingCoroutineIsNormal() throws {
    let harness = try ScriptHarness()
    let lines = try harness.printed(
      """
      co = coroutine.create(function() host.sleep(5) end)
      host.later(function() print(coroutine.status(co), coroutine.resume(co)) print(pcall(coroutine.close, co)) end)
      coroutine.resume(co)
      print(coroutine.status(co))
      """)
    #expect(lines[0] == "normal\tfalse\tcannot resume non-suspended coroutine")
    #expect(lines[1] == "false\tcannot close a normal coroutine")
    #expect(lines[2] == "dead")
  }

  @Test(
    "inside a function that Lua's C code calls it raises task.cannot_suspend",
    arguments: [
      "table.sort({2, 1}, function() host.sleep(1) end)",
      "string.gsub('a', 'a', function() host.sleep(1) end)",
      "tostring(setmetatable({}, {__tostring = function() host.sleep(1) return '' end}))",
      "table.sort({2, 1}, function() coroutine.wrap(function() host.sleep(1) end)() end)",
      "table.sort({2, 1}, function() coroutine.wrap(function() coroutine.wrap(host.sleep)(1) end)() end)",
      "local c = coroutine.create(function() local x <close> = setmetatable({}, {__close = function() host.sleep(1) end}) coroutine.yield() end) coroutine.resume(c) print(coroutine.close(c)) error(select(2, coroutine.close(c)) or 'task.cannot_suspend')",
    ])
  func cannotSuspend(code: String) throws {
    let harness = try ScriptHarness()
    let error = try #require(try harness.failure(code))
    #expect(
      error.code == "task.cannot_suspend" || harness.lines.first?.contains("task.cannot_suspend") == true)
  }

  @Test("a routine is no coroutine of the script's")
  func routineIsMain() throws {
    let harness = try ScriptHarness()
    let lines = try harness.printed(
      "print(select(2, coroutine.running()), coroutine.isyieldable()) print(pcall(coroutine.yield, 1))")
    #expect(lines == ["true\tfalse", "false\tattempt to yield from outside a coroutine"])
  }

  @Test("cancelling unwinds through pcall, coroutines and <close> variables, which may suspend")
  func cancellation() throws {
    let harness = try ScriptHarness()
    let outcome = try harness.run(
      """
      local function closing(name)
        return setmetatable({}, {__close = function()
          print(name, host.sleep(1), pcall(error, "inner"))
        end})
      end
      local a <close> = closing("a")
      pcall(function()
        local b <close> = closing("b")
        coroutine.wrap(function()
          local c <close> = closing("c")
          pcall(host.sleep, 100)
          print("not reached")
        end)()
        print("not reached")
      end)
      print("not reached")
      """, then: { routine in harness.loop.after(.seconds(2)) { routine.cancel() } })
    guard case .cancelled = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(harness.lines == ["c\tslept\tfalse\tinner", "b\tslept\tfalse\tinner", "a\tslept\tfalse\tinner"])
    #expect(harness.loop.now == Instant(nanoseconds: 5_000_000_000))
  }

  @Test("a loop around pcall can't swallow a cancellation")
  func pcallLoopIsCancelled() throws {
    let harness = try ScriptHarness()
    _ = try harness.run(
      "while true do pcall(host.sleep, 1) end",
      then: { routine in harness.loop.after(.seconds(10)) { routine.cancel() } })
    #expect(harness.loop.now == Instant(nanoseconds: 10_000_000_000))
  }

  @Test("a <close> handler that fails can't turn a cancellation into an error that pcall catches")
  func failingCloseHandler() throws {
    let harness = try ScriptHarness()
    _ = try harness.run(
      """
      while true do
        pcall(function()
          local x <close> = setmetatable({}, {__close = function() error("mine") end})
          host.sleep(1)
        end)
        print("round")
      end
      """, then: { routine in harness.loop.after(.milliseconds(1500)) { routine.cancel() } })
    #expect(harness.lines == ["round"])
  }

  @Test("cancelling a Swift async function ends it at once")
  func cancelsSwiftTask() throws {
    let harness = try ScriptHarness()
    _ = try harness.run(
      "host.sleep(100)", then: { routine in harness.loop.after(.seconds(1)) { routine.cancel() } })
    _ = harness.loop.run(until: { false })
    #expect(harness.loop.now < Instant(nanoseconds: 2_000_000_000))
  }

  @Test("two states and two loops in one process don't see each other")
  func twoEngines() async throws {
    let results = await withTaskGroup(of: String.self) { group in
      for number in 1...4 {
        group.addTask {
          let harness = try? ScriptHarness(virtual: false)
          _ = try? harness?.run("n = \(number) for i = 1, 20 do host.sleep(0.005) n = n + 100 end print(n)")
          return harness?.lines.first ?? "none"
        }
      }
      return await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(results == ["2001", "2002", "2003", "2004"])
  }
}
