import EventLoop
import LuaRuntime
import TestTraits
import Testing

@Suite("Coroutines", .tags(.scripts))
struct CoroutineTests {
  @Test("coroutines that close one another without end raise an error, as nested calls do")
  func nestedClosing() throws {
    let lines = try ScriptHarness().printed(
      """
      local last, failure
      for i = 1, 20000 do
        local inner = last
        last = coroutine.create(function()
          local guard <close> = setmetatable({}, { __close = function()
            if not inner then return end
            local ok, err = pcall(coroutine.close, inner)
            if not ok then failure = err end
          end })
          coroutine.yield()
        end)
        coroutine.resume(last)
      end
      print(coroutine.close(last))
      print(failure)
      -- Each step begins a hundred nested calls of C's count anew.
      local function deep(n, f) if n == 0 then f() else pcall(deep, n - 1, f) end end
      last, failure = nil, nil
      for i = 1, 500 do
        local inner = last
        last = coroutine.create(function()
          local guard <close> = setmetatable({}, { __close = function()
            deep(100, function()
              local ok, err = pcall(function() if inner then coroutine.close(inner) end end)
              if not ok then failure = err end
            end)
          end })
          coroutine.yield()
        end)
        coroutine.resume(last)
      end
      print(coroutine.close(last))
      print(failure)
      """)
    try #require(lines.count == 4)
    #expect(lines[0] == "true" && lines[2] == "true")
    #expect(lines[1].hasSuffix("C stack overflow") && lines[3].hasSuffix("C stack overflow"))
  }

  @Test("closing coroutines in a row, and a few inside one another, is no overflow")
  func ordinaryClosing() throws {
    let lines = try ScriptHarness().printed(
      """
      local closed, last = 0, nil
      for i = 1, 50 do
        local inner = last
        last = coroutine.create(function()
          local guard <close> = setmetatable({}, { __close = function()
            closed = closed + 1
            if inner then assert(coroutine.close(inner)) end
          end })
          coroutine.yield()
        end)
        coroutine.resume(last)
      end
      print(coroutine.close(last), closed)
      """)
    #expect(lines == ["true\t50"])
  }

  @Test("a script can't resume, close or wrap a routine of the host: each raises and names the routine")
  func hostRoutines() throws {
    let harness = try ScriptHarness()
    let lines = try harness.printed(
      """
      local main = coroutine.running()
      local function told(f, ...)
        local ok, err = pcall(f, ...)
        print(ok, err.code, err.message)
      end
      for _, name in ipairs { "resume", "close", "wrap" } do told(coroutine[name], main) end
      host.later(function()
        print(coroutine.status(main))
        for _, name in ipairs { "resume", "close", "wrap" } do told(coroutine[name], main, true, "forged") end
      end)
      print(host.sleep(2))
      """)
    try #require(lines.count == 8)
    #expect(lines[3] == "normal" && lines[7] == "slept")
    for line in lines[0...2] + lines[4...6] {
      #expect(
        line.hasPrefix("false\targument\tcannot ") && line.contains("the routine \"test.lua\""), "\(line)")
    }
  }

  @Test("the thread on which the host itself calls a script belongs to the host too")
  func mainThread() throws {
    let harness = try ScriptHarness()
    harness.state.register(
      "log", [LuaFunction("info") { call in call.return(.int(try call.fields(1).count)) }], global: true)
    let lines = try harness.printed(
      """
      local threads = {}
      local shown = setmetatable({}, { __tostring = function()
        threads[#threads + 1] = coroutine.running()
        return "shown"
      end })
      log.info { a = shown }
      for _, thread in ipairs(threads) do
        print(pcall(coroutine.close, thread))
        print(pcall(coroutine.resume, thread, 1))
      end
      print(#threads)
      """)
    #expect(lines.last == "1" && lines.dropLast().allSatisfy { $0.hasPrefix("false") }, "\(lines)")
  }
}
