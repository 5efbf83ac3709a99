import EventLoop
import LuaRuntime
import TestTraits
import Testing

@Suite("The host survives any script", .tags(.scripts, .hostile))
struct HostSafetyTests {
  static func watched(run: Duration = .milliseconds(200)) throws -> ScriptHarness {
    var limits = LuaLimits()
    limits.run = run
    limits.memory = 64 << 20
    return try ScriptHarness(limits: limits, watched: true)
  }

  @Test("more results than the script's stack holds raise, and the script continues")
  func fullStack() throws {
    let harness = try ScriptHarness()
    let many = LuaFunction("many") { call in
      try call.suspend { continuation in
        continuation.resume(returning: [LuaValue](repeating: .int(7), count: 900_000))
        return nil
      }
    }
    let manyAtOnce = LuaFunction("many_at_once") { call in
      call.results([LuaValue](repeating: .int(7), count: 900_000))
    }
    harness.state.register("flood", [many, manyAtOnce], global: true)
    let lines = try harness.printed(
      """
      local t = {}
      for i = 1, 400000 do t[i] = i end
      local function deep(f, ...) return select('#', ...), select('#', f()) end
      for _, f in ipairs { flood.many, flood.many_at_once } do
        print(select('#', f()))
        local ok, err = pcall(deep, f, table.unpack(t))
        print(ok, err.code)
      end
      """)
    #expect(lines == ["900000", "false\tscript.stack", "900000", "false\tscript.stack"])
  }

  @Test("tables may be returned to a script whose stack is nearly full")
  func nearlyFullStack() throws {
    let harness = try ScriptHarness()
    let nested = LuaFunction("nested") { call in
      call.return(.list([.record([("a", .list([.int(1)]))])]))
    }
    harness.state.register("flood", [nested], global: true)
    let lines = try harness.printed(
      """
      local t = {}
      for i = 1, 999000 do t[i] = i end
      local function deep(...) return flood.nested()[1].a[1] end
      print(pcall(deep, table.unpack(t, 1, 999000)))
      print(deep(table.unpack(t, 1, 900000)))
      """)
    #expect(lines.last == "1")
  }

  @Test(
    "the function behind an object's fields survives any arguments: no script gets at the host by calling it")
  func strayIndex() throws {
    let harness = try ScriptHarness()
    let lines = try harness.printed(
      """
      local found
      xpcall(function() local size = host.new_thing().nonesuch return size end, function()
        for level = 2, 9 do
          local info = debug.getinfo(level, "fn")
          if info and info.name == "index" then found = info.func end
        end
      end)
      print(pcall(found))
      print(pcall(found, nil, "size"))
      print(pcall(found, io.stdout, "size"))
      print(pcall(found(io.stdout, "set_size", 1, 2), io.stdout, 5))
      """)
    #expect(lines.count == 4)
    #expect(lines.allSatisfy { $0.hasPrefix("false") })
    #expect(lines.suffix(3).allSatisfy { $0.contains("thing expected, got") }, "\(lines)")
  }

  @Test("a __tostring that never ends is stopped, also where the host calls it after the routine has ended")
  func endlessText() throws {
    let evil = "local evil = setmetatable({}, {__tostring = function() while true do end end})"
    let error = try #require(try Self.watched().failure("\(evil) error(evil)"))
    #expect(error.message.contains("tostring failed"))
    #expect(error.location == "test.lua:1")
    let harness = try Self.watched()
    _ = try harness.run("shown = setmetatable({}, {__tostring = function() while true do end end})")
    #expect(harness.state.inspect(harness.state[global: "shown"]).contains("tostring failed"))
  }

  @Test("a script that is stopped inside a function of the host's can't continue there")
  func blockedInsideHost() throws {
    let harness = try Self.watched()
    harness.state.register(
      "log", [LuaFunction("info") { call in call.return(.int(try call.fields(1).count)) }], global: true)
    let error = try #require(
      try harness.failure(
        """
        local evil = setmetatable({}, {__tostring = function() while true do end end})
        while true do pcall(log.info, {a = evil}) end
        """))
    #expect(error.code == "script.blocked")
    // Later routines do not see that error.
    for number in 1...40 {
      #expect(try harness.failure("error('mine \(number)', 0)")?.message == "mine \(number)")
    }
  }

  @Test("a script that may run for long is not ended as one that can't be interrupted")
  func longRun() throws {
    var limits = LuaLimits()
    (limits.run, limits.uninterruptible) = (.seconds(60), .milliseconds(10))
    let harness = try ScriptHarness(limits: limits, watched: true)
    let lines = try harness.printed(
      "local start = os.clock() while os.clock() - start < 0.3 do end print 'done'")
    #expect(lines == ["done"])
  }

  @Test("a table that changes while the host describes it does no harm, and the memory limit still holds")
  func changingTable() throws {
    let harness = try Self.watched(run: .seconds(30))
    harness.state.register(
      "log", [LuaFunction("info") { call in call.return(.int(try call.fields(1).count)) }], global: true)
    let lines = try harness.printed(
      """
      local t = {}
      local function change() t.a = nil for i = 1, 200 do t["x" .. i] = 1 end collectgarbage() return "k" end
      t.a = setmetatable({}, {__tostring = change})
      t.b = 2
      print(log.info(t))
      print(pcall(host.configure, {[setmetatable({}, {__tostring = change})] = 1}))
      print(select(2, pcall(string.rep, "x", 4e8)).code)
      shown = {[setmetatable({}, {__tostring = function() shown.a = nil for i = 1, 99 do shown[i .. ""] = i end return "k" end})] = 1, a = 2}
      """)
    #expect(lines[0] == "2")
    #expect(lines[1].contains("no option is called '[k]'"))
    #expect(lines[2] == "script.memory")
    #expect(harness.state.inspect(harness.state[global: "shown"]).contains("[k] = "))
  }

  @Test("an error without a message, or that is no text, is reported with its position")
  func placeless() throws {
    #expect(try ScriptHarness().failure("error()")?.description == "test.lua:1: an error without a message")
    #expect(try ScriptHarness().failure("error({})")?.description.hasPrefix("test.lua:1: table: ") == true)
    #expect(try ScriptHarness().failure("error('x', 0)")?.description == "test.lua:1: x")
    #expect(try ScriptHarness().failure("error('x')")?.description == "test.lua:1: x")
  }

  @Test("a coroutine that is closed while it loads a module leaves the module to others")
  func closedWhileLoading() throws {
    try ModuleTests.withModules(["pause.lua": "if not ready then coroutine.yield() end return 'loaded'"]) {
      folder in
      let harness = try ScriptHarness()
      harness.state.setModulePath(["\(folder)/?.lua"])
      let lines = try harness.printed(
        """
        local co = coroutine.create(function() return require "pause" end)
        coroutine.resume(co)
        host.later(function() print("other", require "pause") end)
        print(coroutine.close(co))
        ready = true
        print(require "pause")
        """)
      _ = harness.loop.run(until: { false })
      #expect(lines == ["true", "loaded"])
      #expect(harness.lines.last == "other\tloaded")
    }
  }
}
