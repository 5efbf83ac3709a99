import EventLoop
import Glibc
import LuaRuntime
import TestTraits
import Testing

@Suite("Errors between Swift and Lua", .tags(.error, .scripts))
struct ErrorTests {
  @Test("a thrown Swift error reaches pcall with code, message, hint and facts")
  func swiftErrorReachesPcall() throws {
    let harness = try ScriptHarness()
    let lines = try harness.printed(
      """
      local ok, err = pcall(host.fail)
      print(ok, err.code, err.message, err.hint, err.status)
      local ok, err = pcall(function() host.fail() end)
      print(tostring(err))
      print(err.traceback:find("test.lua:3", 1, true) ~= nil)
      """)
    #expect(lines[0] == "false\ttest.broken\tthe door is stuck\tpush harder\t7")
    #expect(lines[1] == "test.lua:3: the door is stuck (test.broken); push harder")
    #expect(lines[2] == "true")
  }

  @Test("a thrown Swift error of an async function reaches pcall, and later code runs on")
  func asyncErrorReachesPcall() throws {
    let harness = try ScriptHarness()
    let lines = try harness.printed(
      """
      local ok, err = pcall(function()
        host.fail_later()
      end)
      print(ok, err)
      print(host.sleep(1))
      """)
    #expect(lines == ["false\ttest.lua:2: the door is stuck (test.broken); push harder", "slept"])
  }

  @Test("an uncaught Lua error returns to Swift with file, line and traceback")
  func luaErrorReachesSwift() throws {
    let harness = try ScriptHarness()
    let error = try #require(
      try harness.failure(
        """
        local function deeper() local x = nil; return x.y end
        deeper()
        """))
    #expect(error.message == "test.lua:1: attempt to index a nil value (local 'x')")
    #expect(error.code == "script.error")
    let traceback = try #require(error.traceback)
    #expect(traceback.contains("test.lua:2"))
  }

  @Test("an error in a callback returns to Swift, and the next callback runs")
  func callbackError() throws {
    let harness = try ScriptHarness()
    _ = try harness.run(
      "host.later(function() error('first') end) host.later(function() print('second') end)")
    _ = harness.loop.run(until: { false })
    #expect(harness.lines == ["second"])
  }

  @Test("a value that a script raised is the same value when it is raised again")
  func identityIsKept() throws {
    let harness = try ScriptHarness()
    guard case .failed(let error) = try harness.run("mine = {} ; error(mine)") else {
      Issue.record("no error")
      return
    }
    let again = LuaFunction("again") { _ in throw error }
    harness.state.register("raiser", [again], global: true)
    #expect(try harness.printed("local ok, err = pcall(raiser.again) print(err == mine)") == ["true"])
  }

  @Test("errors concatenate with text, and their metatable can't be changed")
  func errorsConcatenate() throws {
    let harness = try ScriptHarness()
    let lines = try harness.printed(
      """
      local _, err = pcall(host.fail)
      print("oh: " .. err)
      print(pcall(setmetatable, err, {}))
      """)
    #expect(lines[0].hasPrefix("oh: ") && lines[0].contains("the door is stuck"))
    #expect(lines[1].hasPrefix("false"))
  }

  @Test("a syntax error names file and line")
  func syntaxError() throws {
    let harness = try ScriptHarness()
    do {
      _ = try harness.run("print(1)\nlocal = 3")
      Issue.record("compiled")
    } catch let error as LuaError {
      #expect(error.code == "script.syntax")
      #expect(error.message == "test.lua:2: <name> expected near '='")
    }
  }

  @Test("binary chunks are refused")
  func textOnly() throws {
    let harness = try ScriptHarness()
    let lines = try harness.printed(
      """
      local binary = string.dump(function() return 1 end)
      print(load(binary))
      print(load("return 42")())
      print(pcall(load, binary, "b", "b"))
      print(load("return x", "chunk", "t", {x = 7})())
      """)
    #expect(lines[0].hasPrefix("nil\t") && lines[0].contains("binary"))
    #expect(lines[1] == "42")
    #expect(lines[2].hasPrefix("false"))
    #expect(lines[3] == "7")
  }
}

@Suite("Arguments and objects", .tags(.scripts, .error))
struct ArgumentTests {
  @Test(
    "misuse names the argument, the expected type and the actual one",
    arguments: [
      ("host.set_volume(host.new_thing(), 51)", "bad argument #2 to 'set_volume' (0 to 50 expected, got 51)"),
      ("host.new_thing():set_size(51)", "bad argument #1 to 'set_size' (0 to 50 expected, got 51)"),
      (
        "local t = host.new_thing() t.set_size(t, 51)",
        "bad argument #2 to 'set_size' (0 to 50 expected, got 51)"
      ),
      ("host.new_thing():set_size('5')", "bad argument #1 to 'set_size' (number expected, got string)"),
      ("host.new_thing():set_size(1.5)", "bad argument #1 to 'set_size' (whole number expected, got 1.5)"),
      ("host.new_thing():set_size()", "bad argument #1 to 'set_size' (number expected, got no value)"),
      (
        "host.new_thing().set_size(5)",
        "bad argument #1 to 'set_size' (thing expected, got number); call it with a colon: object:set_size(…)"
      ),
      ("host.set_volume(io.stdout, 5)", "bad argument #1 to 'set_volume' (thing expected, got FILE*)"),
      ("host.sleep(0/0)", "bad argument #1 to 'sleep' (finite number expected, got nan)"),
      (
        "host.configure{volum = 3}",
        "bad argument #1 to 'configure' (no option is called 'volum'; did you mean 'volume'?)"
      ),
      (
        "host.configure{volume = 99}",
        "bad argument #1 to 'configure' (option 'volume': 0 to 50 expected, got 99)"
      ),
      (
        "host.configure{title = 99}",
        "bad argument #1 to 'configure' (option 'title': string expected, got number)"
      ),
      (
        "print(host.new_thing().sise)", "no field or method of a thing is called 'sise'; did you mean 'size'?"
      ),
      (
        "host.new_thing().size = 4",
        "the field 'size' of a thing is for reading; call :set_size(…) to change it"
      ),
      ("host.new_thing().nothing = 4", "a thing can't be given a field 'nothing'"),
    ])
  func misuse(code: String, message: String) throws {
    let harness = try ScriptHarness()
    let error = try #require(try harness.failure(code))
    #expect(
      error.description.replacing("nan", with: "nan") == "test.lua:1: " + message
        || error.description == "test.lua:1: " + message.replacing("got nan", with: "got -nan"))
  }

  @Test("an object is the same userdata each time, has fields, methods and one line of text")
  func objects() throws {
    let harness = try ScriptHarness()
    let lines = try harness.printed(
      """
      local t = host.new_thing()
      t:set_size(9)
      print(t, t.size, t:rest(), getmetatable(t))
      """)
    #expect(lines == ["thing 9\t9\t9\tthing"])
  }

  @Test("a userdata's Swift object is freed when Lua collects it, and when the state closes")
  func objectsAreFreed() throws {
    let harness = try ScriptHarness()
    _ = try harness.run("kept = host.new_thing(); local gone = host.new_thing()")
    _ = try harness.run("collectgarbage()")
    #expect(harness.census.alive == 1)
    harness.state.close()
    #expect(harness.census.alive == 0)
  }

  @Test("a reference that is released on another thread frees its value on the loop")
  func referencesFromOtherThreads() throws {
    let harness = try ScriptHarness()
    _ = try harness.run("weak = setmetatable({}, {__mode = 'k'}); big = {}; weak[big] = true")
    let box = Holder(harness.state[global: "big"])
    _ = try harness.run("big = nil; collectgarbage(); print(next(weak) ~= nil)")
    var thread = pthread_t()
    let started = pthread_create(
      &thread, nil,
      { raw in
        raw.map { Unmanaged<Holder>.fromOpaque($0).takeUnretainedValue().value = nil }
        return nil
      }, Unmanaged.passUnretained(box).toOpaque())
    #expect(started == 0)
    pthread_join(thread, nil)
    _ = try harness.run("collectgarbage(); print(next(weak) ~= nil)")
    #expect(harness.lines == ["true", "false"])
  }

  private final class Holder: @unchecked Sendable {  // handed to one thread, which is joined
    var value: LuaValue?
    init(_ value: LuaValue) { self.value = value }
  }

  @Test("scripts get neither __gc nor the doors out of the sandbox")
  func sandbox() throws {
    let harness = try ScriptHarness()
    let lines = try harness.printed(
      """
      print(pcall(setmetatable, {}, {__gc = function() end}))
      print(package.loadlib, os.setlocale, debug.sethook, debug.getregistry, package.searchers)
      print(require("debug").sethook, getmetatable(io.stdout))
      """)
    #expect(lines[0].contains("__gc"))
    #expect(lines[1] == "nil\tnil\tnil\tnil\tnil")
    #expect(lines[2] == "nil\tfile")
  }
}
