import EventLoop
import Glibc
import LuaRuntime
import TestTraits
import Testing

@Suite("require", .tags(.scripts))
struct ModuleTests {
  /// Runs `body` with a folder of these files, which is removed afterwards.
  static func withModules(_ files: [String: String], _ body: (String) throws -> Void) throws {
    var template = Array("/tmp/roomtone-modules-XXXXXX".utf8CString)
    let folder = String(cString: try #require(mkdtemp(&template)))
    for (name, text) in files {
      let file = try #require(fopen("\(folder)/\(name)", "w"))
      fputs(text, file)
      fclose(file)
    }
    defer {
      for name in files.keys { unlink("\(folder)/\(name)") }
      rmdir(folder)
    }
    try body(folder)
  }

  @Test("a module may suspend while it loads; it loads once, for both routines that want it")
  func suspends() throws {
    try Self.withModules(["slow.lua": "print('loading') host.sleep(5) return {answer = 42}"]) { folder in
      let harness = try ScriptHarness()
      harness.state.setModulePath(["\(folder)/?.lua"])
      _ = try harness.run(
        "host.later(function() print('second', require('slow').answer) end) print(require('slow').answer)")
      _ = harness.loop.run(until: { false })
      #expect(harness.lines == ["loading", "42", "second\t42"])
    }
  }

  @Test("a module that fails to load is reported with the reason, and can be tried again")
  func failures() throws {
    try Self.withModules([
      "bad.lua": "local = 1", "cycle.lua": "require 'cycle'",
      "off.lua": "print 'loads' return false",
      "once.lua": "if not ready then error('not yet') end return 'now'",
    ]) { folder in
      let harness = try ScriptHarness()
      harness.state.setModulePath(["\(folder)/?.lua"])
      let lines = try harness.printed(
        """
        print(select(2, pcall(require, "missing")).code, (select(2, pcall(require, "bad")).code))
        print(select(2, pcall(require, "cycle")).message)
        print(pcall(require, "once"))
        ready = true
        print(require "once", package.loaded.once)
        package.preload.given = function(name) return name .. "!" end
        print(require "given")
        print(require "off", require "off")
        """)
      #expect(lines[0] == "script.module\tscript.syntax")
      #expect(lines[1] == "module 'cycle' requires itself while it loads")
      #expect(lines[2].hasPrefix("false") && lines[2].hasSuffix("once.lua:1: not yet"))
      #expect(lines[3] == "now\tnow")
      #expect(lines[4] == "given!")
      #expect(lines[5...] == ["loads", "loads", "false\tfalse"])
    }
  }
}
