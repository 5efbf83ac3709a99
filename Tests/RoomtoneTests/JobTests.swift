import EventLoop
import LuaRuntime
import TestSupport
import TestTraits
import Testing

/// The clock begins at midnight before Monday 2026-01-05, unless a test says another time.
@Suite("a job", .waiting, .tags(.schedule))
struct JobTests {
  @Test("runs by the sun of the location in the configuration")
  func sun() throws {
    var harness = try EngineHarness()
    harness.configuration = "house { output = 'null' } location { latitude = 52.52, longitude = 13.405 }"
    harness.limit = .seconds(3 * 86_400)
    let lines = try harness.printed(
      """
      local job = schedule.at("sunset-20m", { days = "tue" }, function() print(os.date "!%d %H:%M") end)
      schedule.at("sunrise", function() print(os.date "!%d %H:%M") end)
      print(job.name)
      """)
    #expect(lines == ["at sunset-20m tue", "05 07:16", "06 14:48"])
  }

  @Test("by the sun needs a location, which is checked")
  func location() throws {
    let lines = try EngineHarness.printed(
      """
      print(code(schedule.at, "dusk", print), code(schedule.at, "dsk", print))
      print(message(schedule.at, "dsk", print))
      """)
    #expect(lines.first == "schedule.location\tschedule.syntax")
    #expect(lines.last?.contains("no event of the sun is called \"dsk\"") == true, "\(lines)")
    for (text, reason) in [
      ("latitude = 91, longitude = 0", "latitude"), ("latitude = 1", "longitude"),
      ("latitude = 1, longitude = 1, height = 3", "height"),
    ] {
      var harness = try EngineHarness()
      harness.configuration = "location { \(text) }"
      let error = #expect(throws: LuaError.self) { try harness.run("") }
      #expect(error?.message.contains(reason) == true)
    }
  }

  /// Runs a script at two times with one store between.
  private func restarted(_ restart: Duration, _ code: String) throws -> [String] {
    var harness = try EngineHarness()
    harness.store = harness.folder.file("state.sqlite")
    harness.limit = .seconds(3600)
    _ = try harness.printed(code)
    harness.start = EngineHarness.monday.advanced(by: restart)
    return try harness.printed(code)
  }

  @Test("of a script that was not running when it was due runs late, once, or is missed")
  func lateRun() throws {
    let job = """
      local function ran() print("ran", os.date "%H:%M") end
      local function missed(event) print("missed", os.date("%a %H:%M", event.due // 1 | 0)) end
      """
    func lines(_ options: String, _ restart: Duration) throws -> [String] {
      try restarted(
        restart,
        "\(job) schedule.at('06:45', { days = 'daily', name = 'a', \(options) }, ran):on('missed', missed)")
    }
    #expect(try lines("", .seconds(6 * 3600 + 50 * 60)) == ["ran\t06:50"])
    #expect(try lines("", .seconds(9 * 3600)) == ["missed\tMon 06:45"])
    #expect(try lines("grace = '3h'", .seconds(9 * 3600)) == ["ran\t09:00"])
    #expect(try lines("catch_up = 'run_once'", .seconds(4 * 86_400)) == ["ran\t00:00"])
    #expect(try lines("catch_up = 'run_once', grace = '1h'", .seconds(4 * 86_400)) == ["missed\tThu 06:45"])
    #expect(try lines("catch_up = 'skip'", .seconds(86_400 + 9 * 3600)) == ["missed\tTue 06:45"])
  }

  @Test("for a date runs late after a restart, and can't be set once it is over")
  func date() throws {
    let code = "schedule.at('2026-01-05 06:45', function() print(os.date '%H:%M') end)"
    #expect(try restarted(.seconds(6 * 3600 + 50 * 60), code) == ["06:50"])
    #expect(throws: LuaError.self) { try EngineHarness().printed("task.sleep '7h' \(code)") }
  }

  @Test("reports its events, and skips its next run on request")
  func events() throws {
    let lines = try EngineHarness().run(
      """
      local job = schedule.at("06:45", { days = "daily", overlap = "skip" }, function()
        if os.date "%a" ~= "Wed" then error "no sound" end
        task.sleep "2h"
      end)
      for _, name in ipairs { "started", "finished", "failed", "failing", "missed", "skipped", "ended" } do
        job:on(name, function(event) print(event.name, os.date "%a", event.failures or "-") end)
      end
      print(os.date("%a %H:%M", job:skip() // 1 | 0), os.date("%a %H:%M", job.next // 1 | 0))
      print(job:wait("started", "1h"))
      print(job:wait("started").name)
      task.sleep "24h"
      task.sleep "1h" job:run_now() task.sleep "4d"
      job:cancel()
      print(job:skip())
      """
    ).lines
    #expect(
      lines == [
        "Mon 06:45\tTue 06:45", "skipped\tMon\t-", "nil\ttimeout", "started\tTue\t-", "started",
        "failed\tTue\t-",
        "started\tWed\t-", "skipped\tWed\t-", "finished\tWed\t-", "started\tThu\t-", "failed\tThu\t-",
        "started\tFri\t-", "failed\tFri\t-", "started\tSat\t-", "failed\tSat\t-", "failing\tSat\t3",
        "started\tSun\t-", "failed\tSun\t-", "nil", "ended\tSun\t-",
      ])
  }

  @Test("that runs once reports the end of its run, then its own; a cancelled one its own")
  func ends() throws {
    let lines = try EngineHarness().run(
      """
      local once = schedule.at("06:45", { name = "once" }, function() task.sleep(5) end)
      local daily = schedule.at("07:00", { days = "daily", name = "daily" }, tostring)
      for _, job in ipairs { once, daily } do
        for _, name in ipairs { "started", "finished", "ended" } do
          job:on(name, function(event) print(job.name, event.name) end)
        end
      end
      task.spawn(function() print(daily:wait "missed") end)
      print(once:wait "ended" ~= nil, once:wait "started")
      daily:cancel()
      """
    ).lines
    #expect(
      lines == [
        "once\tstarted", "once\tfinished", "once\tended", "true\tnil\tclosed", "daily\tended", "nil\tclosed",
      ])
  }

  @Test(
    "whose options are wrong is refused at the script's line",
    arguments: [
      ("catch_up = 'always'", "\"skip\" or \"run_once\" expected"), ("grace = 'long'", "grace"),
      ("catchup = 'skip'", "did you mean 'catch_up'"),
    ])
  func refused(_ option: String, _ reason: String) throws {
    let lines = try EngineHarness.printed("print(message(schedule.cron, '@daily', { \(option) }, print))")
    #expect(lines.first?.contains(reason) == true, "\(lines)")
  }
}
