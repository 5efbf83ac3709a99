import Home
import LuaRuntime
import TestTraits
import Testing

/// The clock begins at midnight before Monday 2026-01-05.
@Suite("schedule", .waiting, .tags(.schedule))
struct ScheduleTests {
  @Test("a time of day runs once, today or tomorrow; a script with a job lives until then")
  func at() throws {
    let outcome = try EngineHarness().run(
      """
      task.sleep "7h"
      schedule.at("06:45", function() print(os.date "%a %H:%M:%S") end)
      schedule.at("21:30:15", function() print(os.date "%a %H:%M:%S") end)
      """)
    #expect(outcome.lines == ["Mon 21:30:15", "Tue 06:45:00"] && outcome.status == 0)
    #expect(outcome.seconds >= 30.75 * 3600 && outcome.seconds < 30.75 * 3600 + 1)
  }

  @Test("jobs have name, next, last, runs and failures, and are listed in order until they end")
  func fields() throws {
    let lines = try EngineHarness.printed(
      """
      local job = schedule.at("06:45", { days = "daily", name = "alarm" }, function() task.sleep "1m" end)
      local other = schedule.every(3600, os.time)
      print(job, os.date("%a %H:%M", job.next // 1 | 0), job.last, job.runs, job.failures, job.active)
      print(names(schedule.jobs()), schedule.jobs()[1] == job)
      task.sleep "6h50m"
      print(os.date("%a %H:%M", job.next // 1 | 0), os.date("%a %H:%M", job.last // 1 | 0), job.runs, other.runs)
      other:cancel()
      job:cancel()
      job:cancel()
      print(job.active, job.next, #schedule.jobs(), job)
      """)
    #expect(
      lines == [
        "job \"alarm\" (next 2026-01-05 06:45, runs 0, failures 0)\tMon 06:45\tnil\t0\t0\ttrue",
        "alarm, every 1h\ttrue", "Tue 06:45\tMon 06:45\t1\t6", "false\tnil\t0\tjob \"alarm\" (ended)",
      ])
  }

  @Test("next equals os.time at the run")
  func next() throws {
    let lines = try EngineHarness.printed(
      """
      local job job = schedule.at("06:45", { days = "daily" }, function()
        print(os.time() == due, job.last == due)
        job:cancel()
      end)
      due = job.next
      """)
    #expect(lines == ["true\ttrue"])
  }

  @Test("a line of cron runs by the clocks of its zone, and knows the moment that a run is for")
  func cron() throws {
    var harness = try EngineHarness()
    harness.limit = .seconds(4 * 86_400)
    let lines = try harness.printed(
      """
      local job job = schedule.cron("30 20 * * tue,thu", function()
        print(os.date "%a %H:%M", job.due == os.time())
      end)
      print(job.name)
      local noon noon = schedule.cron("0 12 * * 2", { timezone = "UTC" }, function()
        print(noon.due % 86400, noon.due == os.time())
      end)
      """)
    #expect(
      lines.sorted() == ["43200.0\ttrue", "Thu 20:30\ttrue", "Tue 20:30\ttrue", "cron 30 20 * * tue,thu"])
  }

  @Test(
    "early runs begin before their moment, at once where that has passed, and none is left out or comes twice"
  )
  func early() throws {
    var harness = try EngineHarness()
    harness.limit = .seconds(3 * 3600)
    let lines = try harness.printed(
      """
      task.sleep "57m"
      local hour hour = schedule.cron("0 * * * *", { early = "5m", overlap = "parallel" }, function()
        print(os.date "%H:%M", os.date("%H:%M", hour.due // 1 | 0))
        task.sleep "70m"
      end)
      local job = schedule.at("01:30", { early = "10m" }, function() print("at", os.date "%H:%M") end)
      print(os.date("%H:%M", job.next // 1 | 0))
      """)
    #expect(lines == ["01:20", "00:57\t01:00", "at\t01:20", "01:55\t02:00", "02:55\t03:00"])
  }

  @Test("a failing run is reported and counted, and the job continues")
  func failing() throws {
    let outcome = try EngineHarness().run(
      """
      local job job = schedule.every("1h", { name = "bad" }, function()
        if job.runs == 4 then print(job.runs, job.failures) job:cancel() end
        error "no milk"
      end)
      """)
    #expect(outcome.lines == ["4\t3"] && outcome.status == 1)
    #expect(
      outcome.failures.map(\.description) == Array(repeating: "job \"bad\": test.lua:3: no milk", count: 4))
  }

  @Test("a run that is due while the one before lasts is skipped and logged")
  func overlap() throws {
    var harness = try EngineHarness()
    harness.limit = .seconds(3600)
    let outcome = try harness.run(
      "schedule.every('10m', { name = 'slow' }, function() print(os.date '%M') task.sleep '15m' end)")
    #expect(outcome.lines == ["10", "30", "50"])
    #expect(outcome.log.first?.level == .warn && outcome.log.first?.message.contains("\"slow\"") == true)
  }

  @Test("a job lives without a reference; cancelled from its own run it runs no more")
  func rooted() throws {
    let lines = try EngineHarness.printed(
      """
      schedule.every("1h", { name = "tick" }, function()
        collectgarbage()
        print(#schedule.jobs())
        if os.date "%H" == "03" then schedule.jobs()[1]:cancel() end
      end)
      collectgarbage()
      """)
    #expect(lines == ["1", "1", "1"])
  }

  @Test(
    "a name that is empty or has control characters is refused", arguments: ["", "a\\n", "\\27[2J", "\\0"])
  func oddName(_ name: String) throws {
    let lines = try EngineHarness.printed(
      "print(code(schedule.every, 1, { name = '\(name)' }, print), #schedule.jobs())")
    #expect(lines == ["argument\t0"])
  }

  @Test("a date that has passed raises schedule.past with the current time")
  func past() throws {
    let lines = try EngineHarness.printed(
      "local err = failure(schedule.at, '2026-01-04 18:00', print) print(err.code, err)")
    #expect(lines.first?.hasPrefix("schedule.past\ttest.lua:1: 2026-01-04 18:00 has passed") == true)
    #expect(lines.first?.contains("2026-01-05 00:00") == true)
  }

  /// Each with words of the message: the text itself, and its option.
  @Test(
    "a time that can't be parsed raises at the caller's line and names the argument",
    arguments: [
      ("schedule.at, '25:00', print", ["\"25:00\""], "schedule.syntax"),
      ("schedule.at, '6:45', print", ["\"6:45\""], "schedule.syntax"),
      ("schedule.at, '2026-13-01 10:00', print", ["2026-13-01"], "schedule.syntax"),
      ("schedule.at, '06:45', { days = 'mox' }, print", ["\"mox\"", "'days'"], "schedule.syntax"),
      ("schedule.at, '2027-01-01 10:00', { days = 'mon' }, print", ["days of the week"], "schedule.syntax"),
      ("schedule.every, '5x', print", ["\"5x\"", "#1 to 'every'"], "schedule.syntax"),
      ("schedule.every, 0, print", ["interval"], "schedule.syntax"),
      ("schedule.every, '25h', { align = true }, print", ["align"], "schedule.syntax"),
      ("schedule.every, -1, print", ["#1 to 'every'"], "argument"),
      ("schedule.at, 645, print", ["#1 to 'at'", "string expected"], "argument"),
      ("schedule.at, '06:45'", ["#2 to 'at'", "function expected"], "argument"),
      ("schedule.at, '06:45', {}", ["function expected"], "argument"),
      ("schedule.at, '06:45', {}, 'x'", ["#3 to 'at'", "function expected"], "argument"),
      ("schedule.at, '06:45', { day = 'mon' }, print", ["'day'", "did you mean 'days'?"], "argument"),
      ("schedule.at, '06:45', { days = 5 }, print", ["'days'", "string expected"], "argument"),
      ("schedule.every, '1h', { align = 'yes' }, print", ["'align'", "boolean expected"], "argument"),
      ("schedule.every, '1h', { name = 5 }, print", ["'name'", "string expected"], "argument"),
      ("schedule.cron, '30 6 * *', print", ["4 fields", "#1 to 'cron'"], "schedule.syntax"),
      ("schedule.cron, '@reboot', print", ["@reboot is not a time", "#1 to 'cron'"], "schedule.syntax"),
      ("schedule.cron, '@daily', { timezone = 'Mars' }, print", ["Mars", "'timezone'"], "schedule.zone"),
      ("schedule.cron, '@daily', { early = '25h' }, print", ["'early'", "24h"], "argument"),
      ("schedule.at, '06:45', { overlap = 'both' }, print", ["'overlap'", "\"both\""], "argument"),
    ])
  func syntax(_ call: String, _ parts: [String], _ code: String) throws {
    let lines = try EngineHarness.printed(
      "local err = failure(\(call)) print(err.code) print(err) print(#schedule.jobs())")
    try #require(lines.count == 3)
    #expect(lines[0] == code)
    #expect(lines[1].hasPrefix("test.lua:1: "))
    for part in parts { #expect(lines[1].contains(part), "\(lines[1])") }
    #expect(lines[2] == "0")
  }
}
