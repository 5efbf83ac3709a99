import EventLoop
import LuaRuntime
import TestTraits
import Testing

@Suite("os.time and os.date", .tags(.time, .simulation))
struct ClockTests {
  @Test("at the timer of a whole second both have reached it")
  func wholeSecond() throws {
    let harness = try ScriptHarness(virtual: false)
    let code = Array("print(os.time(), os.time(os.date '*t'))".utf8)
    // A clock of the kernel's tick is behind for some milliseconds of each second: several are tried.
    for _ in 0..<5 {
      let second = harness.loop.wallNow.seconds + 1
      let chunk = try harness.state.load(code, chunkName: "@test.lua")
      var routine: LuaRoutine?
      harness.loop.at(WallTime(seconds: second)) {
        routine = harness.state.start(chunk, name: "test.lua")
      }
      _ = harness.loop.run(until: { routine?.outcome != nil })
      let shown = try #require(harness.lines.last).split(separator: "\t").compactMap { Int64($0) }
      #expect(shown.count == 2 && shown.allSatisfy { $0 >= second }, "\(shown) at \(second)")
    }
  }

  @Test("a time that is given, and errors, are as Lua's own")
  func given() throws {
    let harness = try ScriptHarness(virtual: false)
    let lines = try harness.printed(
      """
      print(os.date("!%Y-%m-%d %H:%M:%S", 0), os.date("!%H:%M", 3600), #os.date(), os.date "!%%")
      print(os.time { year = 2026, month = 7, day = 2, hour = 12 } - os.time { year = 2026, month = 7, day = 1 })
      print(select(2, pcall(os.date, "%Ez")).message or select(2, pcall(os.date, "%Ez")))
      print(select(2, pcall(os.time, 7)).message or select(2, pcall(os.time, 7)))
      """)
    #expect(lines[0] == "1970-01-01 00:00:00\t01:00\t24\t%")
    #expect(lines[1] == "86400")
    #expect(lines[2].contains("invalid conversion specifier '%Ez'"))
    #expect(lines[3].contains("table expected, got number"))
  }
}
