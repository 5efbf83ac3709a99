import LuaRuntime
import TestTraits
import Testing

/// The replacements in a state with a seed behave as Lua's own functions do, but for random numbers and
/// addresses.
@Suite("Determinism of Lua's own functions", .tags(.simulation))
struct SeededLibraryTests {
  static func printed(_ code: String) throws -> [String] { try ScriptHarness(seed: 7).printed(code) }

  @Test("table.sort sorts, also large and lopsided lists, and equal keys come in the same order each time")
  func sort() throws {
    let code = """
      local function check(t, less)
        table.sort(t, less)
        for i = 2, #t do assert(not (less or function(a, b) return a < b end)(t[i], t[i - 1])) end
      end
      for n = 0, 300 do
        local t = {}
        for i = 1, n do t[i] = (i * 7919) % 101 end
        check(t) check(t) check(t, function(a, b) return a > b end)
      end
      local same = {}
      for i = 1, 20000 do same[i] = { key = i % 3 == 0 and i or 0, at = i } end
      check(same, function(a, b) return a.key < b.key end)
      local sum = 0
      for i, v in ipairs(same) do sum = (sum * 31 + v.at) % 1000000007 end
      print(sum)
      local words = { "pear", "apple", "fig" }
      table.sort(words)
      print(table.concat(words, " "))
      """
    let first = try Self.printed(code)
    #expect(first == (try Self.printed(code)))
    #expect(first[1] == "apple fig pear")
  }

  @Test("the iterator of pairs raises for what is no table, as Lua's does")
  func strayIterator() throws {
    let lines = try Self.printed(
      """
      local step = pairs {}
      for _, value in ipairs { 5, "text", true, print, io.stdout, coroutine.create(print) } do
        print(pcall(step, value))
      end
      print(pcall(step))
      """)
    #expect(lines.count == 7 && lines.allSatisfy { $0.hasPrefix("false\t") && $0.contains("table expected") })
  }

  @Test("table.sort honours metamethods and complains as Lua does")
  func sortArguments() throws {
    let lines = try Self.printed(
      """
      local list = { 3, 1, 2 }
      local proxy = setmetatable({}, { __index = list, __len = function() return #list end,
        __newindex = function(_, k, v) list[k] = v end })
      table.sort(proxy)
      print(table.concat(list, " "))
      local function message(...) return (select(2, pcall(table.sort, ...))) end
      print(message(1))
      print(message({ 1, 2 }, 1))
      print(message({ 1, "x" }))
      print(message(setmetatable({}, { __len = function() return 1 << 40 end })))
      local t = {}
      for i = 1, 50 do t[i] = 1 end
      print(message(t, function() return true end))
      """)
    #expect(lines[0] == "1 2 3")
    #expect(lines[1].contains("table expected, got number"))
    #expect(lines[2].contains("function expected, got number"))
    #expect(lines[3].contains("attempt to compare"))
    #expect(lines[4].contains("array too big"))
    #expect(lines[5].contains("invalid order function for sorting"))
  }

  @Test("string.format is Lua's, but for addresses")
  func format() throws {
    let lines = try Self.printed(
      """
      print(string.format("100%%pure %d", 5))
      print(#string.format("a\\0b %d", 5))
      local t = {}
      print(#string.format("%20p", t), string.format("%p", t) == string.format("%p", t))
      print(string.format("%p|%p", 1, nil), string.format("%p", "abc") ~= "abc")
      print(string.format("%s %5.1f %q", setmetatable({}, { __tostring = function() return "me" end }), 3, "x"))
      print(pcall(string.format, "%d", {}))
      local ok, err = pcall(function() return string.format("%d", {}) end)
      print(err)
      ok, err = pcall(function() return ("%d"):format("x") end)
      print(err)
      ok, err = pcall(function() return string.format("%y", 1) end)
      print(err)
      print(pcall(string.format, "%"))
      """)
    #expect(lines[0] == "100%pure 5")
    #expect(lines[1] == "5")
    #expect(lines[2] == "20\ttrue")
    #expect(lines[3] == "(null)|(null)\ttrue")
    #expect(lines[4] == "me   3.0 \"x\"")
    #expect(lines[5].hasSuffix("(number expected, got table)"))
    #expect(lines[6] == "test.lua:8: bad argument #2 to 'format' (number expected, got table)")
    #expect(lines[7] == "test.lua:10: bad argument #1 to 'format' (number expected, got string)")
    #expect(lines[8] == "test.lua:12: invalid conversion '%y' to 'format'")
    #expect(lines[9].hasPrefix("false\t"))
  }

  @Test("files, uncaught values and joined errors show numbers for addresses")
  func addresses() throws {
    let lines = try Self.printed(
      """
      print(tostring(io.stdout), tostring(io.stdout) == tostring(io.stderr))
      local ok, err = pcall(host.fail)
      print(err .. {})
      local file = io.tmpfile()
      file:close()
      print(file)
      """)
    #expect(!lines.joined().contains("0x"))
    #expect(lines[0].hasPrefix("file (") && lines[0].hasSuffix("\tfalse"))
    #expect(lines[2] == "file (closed)")
    let error = try #require(try ScriptHarness(seed: 7).failure("error({})"))
    #expect(!error.description.contains("0x"))
  }

  @Test("no two C functions are the same key")
  func lightFunctions() throws {
    let lines = try Self.printed(
      """
      local seen, functions = {}, { ipairs({}), package.searchpath, (utf8.codes("")) }
      for _, f in pairs(getmetatable("")) do functions[#functions + 1] = f end
      for _, name in ipairs { "read", "write", "close", "seek", "lines" } do functions[#functions + 1] = io.stdout[name] end
      for _, f in ipairs(functions) do
        if type(f) == "function" then
          assert(not seen[tostring(f)] and tostring(f) ~= "function: 0", tostring(f))
          seen[tostring(f)] = true
        end
      end
      print("distinct")
      """)
    #expect(lines == ["distinct"])
  }

  @Test("next continues from a key that was added later, and refuses one that never was there")
  func nextAfterChange() throws {
    let lines = try Self.printed(
      """
      local t = {}
      next(t) t.x = 1
      print(next(t, "x"))
      print(pcall(next, t, "y"))
      local q = { b = 1, c = 2, d = 3 }
      next(q) q.a = 0
      local keys = {}
      for k in next, q do keys[#keys + 1] = k end
      table.sort(keys)
      print(table.concat(keys, " "))
      local n = 0
      for k in next, q do for l in next, q do q[l] = nil n = n + 1 end q[k] = nil end
      print(n, next(q))
      """)
    #expect(lines == ["nil", "false\tinvalid key to 'next'", "a b c d", "4\tnil"])
  }

  @Test("emptying a queue by next is fast")
  func queue() throws {
    var limits = LuaLimits()
    // Many times the time needed, and less than with a walk over all empty slots at each `next`.
    limits.run = .seconds(20)
    let harness = try ScriptHarness(limits: limits, watched: true, seed: 7)
    let lines = try harness.printed(
      """
      local q, n = {}, 0
      for i = 1, 200000 do q["k" .. i] = i end
      while next(q) ~= nil do q[next(q)] = nil n = n + 1 end
      print(n)
      """)
    #expect(lines == ["200000"])
  }

  @Test("a weak table sheds its keys after next")
  func weak() throws {
    let lines = try Self.printed(
      """
      local t = setmetatable({}, { __mode = "k" })
      for i = 1, 10 do t[{}] = i end
      next(t)
      collectgarbage() collectgarbage()
      print(next(t))
      """)
    #expect(lines == ["nil"])
  }
}
