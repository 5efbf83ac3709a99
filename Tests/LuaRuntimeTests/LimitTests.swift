import EventLoop
import Glibc
import LuaRuntime
import TestSupport
import TestTraits
import Testing

@Suite("Memory limit", .tags(.limits))
struct MemoryTests {
  static func harness(megabytes: Int = 32) throws -> ScriptHarness {
    var limits = LuaLimits()
    limits.memory = megabytes << 20
    return try ScriptHarness(limits: limits)
  }

  @Test(
    "beyond the limit script.memory is raised where it happened, can be caught, and the script continues",
    arguments: [
      ("tables", "local t = {} for i = 1, 1e9 do t[i] = {i} end"),
      ("table.concat", "local t = {} for i = 1, 100 do t[i] = ('x'):rep(2^20) end"),
      (
        "table.concat of one text",
        "local s, t = ('x'):rep(2^20), {} for i = 1, 64 do t[i] = s end local r = table.concat(t)"
      ),
      ("string.rep", "local s = ('x'):rep(2^30)"),
      ("a string pushed by Swift", "local t = {} for i = 1, 100 do t[i] = host.long_text(2^20) end"),
      ("one large string pushed by Swift", "local s = host.long_text(2^26)"),
      ("in a coroutine", "coroutine.wrap(function() local t = {} for i = 1, 1e9 do t[i] = {i} end end)()"),
      ("concatenation", "local s = ('x'):rep(2^20) while true do s = s .. s end"),
    ])
  func limit(place: String, code: String) throws {
    let harness = try Self.harness()
    let lines = try harness.printed(
      """
      local ok, err = pcall(function()
        \(code)
      end)
      print(ok, type(err), err.code, err.where)
      collectgarbage()
      print(#("y"):rep(100))
      """)
    #expect(lines == ["false\ttable\tscript.memory\ttest.lua:2", "100"])
    #expect(harness.state.memory.peak < 110 << 20)
  }

  @Test("uncaught it ends the routine with file and line")
  func uncaught() throws {
    let harness = try Self.harness()
    let error = try #require(try harness.failure("\n\nlocal t = {} for i = 1, 1e9 do t[i] = {} end"))
    #expect(error.code == "script.memory")
    #expect(error.description.hasPrefix("test.lua:3: "))
  }

  @Test("a loop of pcalls that run out of memory ends")
  func pcallLoop() throws {
    let harness = try Self.harness(megabytes: 8)
    let lines = try harness.printed(
      "for i = 1, 50 do assert(not pcall(string.rep, 'x', 2^25)) end print('done')")
    #expect(lines == ["done"])
  }

  @Test("a finalizer of a file that fails to close, and a warning, raise nothing")
  func warnings() throws {
    let harness = try ScriptHarness()
    let lines = try harness.printed("warn('@on') warn('low ', 'battery') print('on')")
    #expect(lines == ["warning: low battery", "on"])
  }
}

/// A table that says of itself that it has no end.
private let endlessTable = """
  setmetatable({}, {__len = function() return math.maxinteger - 1 end, __index = type, __newindex = type})
  """

@Suite("Time limit", .tags(.limits))
struct TimeLimitTests {
  static func harness() throws -> ScriptHarness {
    var limits = LuaLimits()
    limits.run = .milliseconds(200)
    return try ScriptHarness(limits: limits, watched: true)
  }

  @Test(
    "an endless loop gets script.blocked with file and line",
    arguments: [
      ("plain", "while true do end"),
      ("in pcall", "while true do pcall(error) end"),
      ("around a loop in pcall", "while true do pcall(function() while true do end end) end"),
      ("in coroutine.wrap", "while true do coroutine.wrap(function() while true do end end)() end"),
      (
        "in coroutine.resume",
        "while true do coroutine.resume(coroutine.create(function() while true do end end)) end"
      ),
      ("in a message handler", "while true do xpcall(error, function() while true do end end) end"),
      ("in a message handler that fails", "while true do xpcall(error, function() error() end) end"),
      ("in load's reader", "while true do load(function() while true do end end) end"),
      (
        "in a <close> that fails",
        "while true do pcall(function() local x <close> = setmetatable({}, {__close = error}) while true do end end) end"
      ),
      (
        "in a sort function",
        "while true do pcall(table.sort, {3, 2, 1}, function() while true do end end) end"
      ),
      (
        "in coroutine.close",
        "while true do local c = coroutine.create(function() local x <close> = setmetatable({}, {__close = function() while true do end end}) coroutine.yield() end) coroutine.resume(c) coroutine.close(c) end"
      ),
      ("calls of Swift", "while true do pcall(host.fail) end"),
    ])
  func endless(place: String, code: String) throws {
    let harness = try Self.harness()
    let error = try #require(try harness.failure(code))
    #expect(error.code == "script.blocked", "\(error)")
    #expect(error.description.hasPrefix("test.lua:1: ran for 0.2 s without suspending"))
  }

  @Test(
    "a call of Lua's library that has no end gets script.blocked too",
    arguments: [
      "table.move({}, 1, math.maxinteger - 1, 2)", "table.move({}, 1, math.maxinteger - 1, 1, {})",
      "table.insert(\(endlessTable), 1, 'x')", "table.remove(\(endlessTable), 1)",
      "table.concat(\(endlessTable), nil, 1, math.maxinteger - 1)",
      "table.sort(setmetatable({}, {__len = function() return 2^31 - 2 | 0 end, __index = type, __newindex = type}))",
      "string.rep('', math.maxinteger) while true do end",
      "(('a'):rep(2^22)):find(('a'):rep(2^21) .. 'b', 1, true) while true do end",
    ])
  func endlessLibrary(code: String) throws {
    let harness = try Self.harness()
    let start = ContinuousClock.now
    let error = try #require(try harness.failure("pcall(function() \(code) end) while true do end"))
    #expect(error.code == "script.blocked", "\(error)")
    #expect(error.description.hasPrefix("test.lua:1: ran for 0.2 s"), "\(error)")
    #expect(ContinuousClock.now - start < .seconds(9))
  }

  /// A text whose compilation takes seconds: each name is looked for in all functions around it.
  private static let slowSource = """
    local open, close = {}, {}
    for level = 1, 80 do
      local names = {}
      for i = 1, 180 do names[i] = "v" .. level .. "_" .. i end
      open[level] = "local " .. table.concat(names, ",") .. " local function f() "
      close[level] = " end "
    end
    local slow = table.concat(open) .. ("x=x "):rep(150000) .. table.concat(close)
    """

  @Test("the compilation of a text counts as time of the script, and is stopped in the middle")
  func compilation() throws {
    let harness = try Self.harness()
    let error = try #require(try harness.failure("\(Self.slowSource) print(load(slow))"))
    #expect(error.code == "script.blocked", "\(error)")

  }

  @Test("a source of more than 1 MB is refused, also by load, a module, a reader")
  func largeSource() throws {
    let harness = try ScriptHarness()
    let large = Array(repeating: UInt8(ascii: "\n"), count: LuaState.largestSource + 1)
    let error = #expect(throws: LuaError.self) { try harness.state.load(large, chunkName: "@large.lua") }
    #expect(error?.description == "large.lua is larger than 1 MB: no source is (script.syntax)")
    _ = try harness.state.load(Array(large.dropLast()), chunkName: "@large.lua")
    let lines = try harness.printed(
      """
      print(load(("\\n"):rep(2^20 + 1)))
      print(load(("\\n"):rep(2^20)) ~= nil)
      local line = ("\\n"):rep(2^16)
      print(load(function() return line end))
      print(pcall(require, ("m"):rep(256)))
      """)
    #expect(
      lines == [
        "nil\tthe text is larger than 1 MB: no source is", "true",
        "nil\ttest.lua:4: the text is larger than 1 MB: no source is",
        "false\tbad argument #1 to 'require' (the name of a module has at most 255 bytes)",
      ])
  }

  @Test("a mark is there while code runs on its way to the fatal limit, and gone when it suspends in time")
  func mark() throws {
    var limits = LuaLimits()
    limits.uninterruptible = .seconds(6)
    let folder = try TemporaryFolder()
    let harness = try ScriptHarness(virtual: false, limits: limits, watched: true)
    let mark = folder.file("mark")
    harness.state.setMark(path: mark, text: "the script")
    var content = ""
    harness.state.register(
      "host",
      [
        LuaFunction("hold") { _ in
          // It is there before its text is.
          while content.isEmpty { content = String(decoding: (try? readBytes(mark)) ?? [], as: UTF8.self) }
          return .none
        }
      ], global: true)
    _ = try harness.run("host.hold()")
    #expect(content == "the script")
    while access(mark, F_OK) == 0 { usleep(1000) }
  }

  @Test("a slice that holds the loop for 100 ms of the processor is reported with its line, and counted")
  func holds() throws {
    let harness = try ScriptHarness(watched: true)
    var holds: [(time: Duration, location: String?)] = []
    harness.state.onHold { holds.append(($0, $1)) }
    harness.state.measureTime()
    try harness.run(
      """
      local function busy(time)
        local start = os.clock()
        repeat until os.clock() - start > time
      end
      busy(3)
      host.sleep(1)
      """)
    #expect(holds.first?.location == "test.lua:3")
    // `os.clock` counts the processor time of all threads, those of other tests too.
    #expect(holds.first.map { $0.time >= .milliseconds(100) } == true)
    let usage = harness.state.usage
    #expect(usage.longestHold == holds.map(\.time).max() && usage.longestHoldLocation == "test.lua:3")
    #expect(usage.busy >= .milliseconds(100))
  }

  @Test("its <close> variables run, and an endless one of those ends too")
  func closeVariables() throws {
    let harness = try Self.harness()
    let error = try #require(
      try harness.failure(
        """
        local a <close> = setmetatable({}, {__close = function() print("closed") end})
        local b <close> = setmetatable({}, {__close = function() while true do end end})
        while true do end
        """))
    #expect(error.code == "script.blocked")
    #expect(harness.lines == ["closed"])
  }

  @Test("other routines of the script continue, and one that suspends in time is left alone")
  func othersContinue() throws {
    let harness = try Self.harness()
    _ = try harness.run("host.later(function() for i = 1, 5 do host.sleep(0.1) end print('alive') end)")
    _ = try harness.run("while true do end")
    _ = harness.loop.run(until: { false })
    #expect(harness.lines == ["alive"])
  }
}

@Suite("Determinism", .tags(.simulation))
struct DeterminismTests {
  static let script = """
    local t = {}
    for i = 1, 40 do t["key" .. i] = i t[i * 3] = true t[i / 4] = false end
    t[true] = 1 t[{}] = 2 t[print] = 3
    local seen = {}
    for k, v in pairs(t) do seen[#seen + 1] = tostring(k) .. "=" .. tostring(v) end
    print(table.concat(seen, " "))
    local k, n = nil, 0
    repeat k = next(t, k) if k ~= nil then n = n + 1 t[k] = nil end until k == nil
    print(n, next(t))
    print({}, function() end, coroutine.create(print), string.format("%s %p %5.1f", {}, {}, 3))
    print(math.random(1000000), math.random(), (math.randomseed()))
    """

  @Test("with a seed, keys come sorted, addresses are numbers and random numbers repeat")
  func sorted() throws {
    let first = try ScriptHarness(seed: 7).printed(Self.script)
    let second = try ScriptHarness(seed: 7).printed(Self.script)
    let other = try ScriptHarness(seed: 8).printed(Self.script)
    #expect(first == second)
    #expect(first[3] != other[3])
    #expect(
      first[0].hasPrefix("true=1 0.25=false 0.5=false 0.75=false 1.0=false")
        || first[0].hasPrefix("true=1 0.25=false 0.5=false 0.75=false 1=false"))
    #expect(!first[2].contains("0x"))
    #expect(first[1].hasSuffix("\tnil"))
  }

  @Test("fields may be cleared and changed while pairs walks; __pairs is honoured")
  func pairsWhileChanging() throws {
    let lines = try ScriptHarness(seed: 1).printed(
      """
      local t = {a = 1, b = 2, c = 3}
      for k in pairs(t) do print(k) t.b = nil t[k] = nil end
      for k, v in pairs(setmetatable({}, {__pairs = function() return next, {z = 26} end})) do print(k, v) end
      """)
    #expect(lines == ["a", "c", "z\t26"])
  }
}

@Suite("Measured time", .tags(.limits))
struct MeasuredTimeTests {
  @Test("code that waits for a processor takes none of its time, and is not reported")
  func waiting() throws {
    let harness = try ScriptHarness(virtual: false, watched: true)
    var holds = 0
    harness.state.onHold { _, _ in holds += 1 }
    harness.state.measureTime()
    harness.state.register(
      "machine",
      [
        LuaFunction("stall") { _ in
          let end = ContinuousClock.now + .milliseconds(300)
          // The watchdog's signals end a sleep.
          while ContinuousClock.now < end { usleep(10_000) }
          return .none
        }
      ], global: true)
    try harness.run("machine.stall()")
    let stalled = harness.state.usage
    #expect(stalled.longestHold >= .milliseconds(300) && stalled.busy < .milliseconds(100), "\(stalled)")
    #expect(holds == 0)
    let before = Self.ownTime()
    try harness.run("for i = 1, 2e7 do end")
    let (taken, worked) = (Self.ownTime() - before, harness.state.usage.busy - stalled.busy)
    #expect(worked <= taken && worked >= taken / 2, "\(worked) of \(taken)")
    try harness.run("for i = 1, 100 do host.sleep(0) end")
    #expect(harness.state.usage.busy > stalled.busy + worked, "short slices count, too")
  }

  /// Returns the processor time of this thread.
  private static func ownTime() -> Duration {
    var now = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now)
    return .seconds(now.tv_sec) + .nanoseconds(now.tv_nsec)
  }
}
