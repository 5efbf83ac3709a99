import EventLoop
import LuaRuntime
import TestSupport
import TestTraits
import Testing

/// Under simulation: the clock begins at midnight before Monday 2026-01-05.
@Suite("recorder", .waiting, .tags(.recorder, .recording))
struct RecorderTests {
  private static let url = "http://radio.example/show.mp3"
  private static let other = "http://other.example/show.mp3"
  private static let prelude =
    """
    local recorder, recordings = require 'recorder', require 'recordings' \
    local url, other = '\(url)', '\(other)' \
    local function minutes(s) return math.floor(s / 60 + 0.5) end \
    local function clock(t) return os.date('%a %H:%M', math.floor(t or os.time())) end \
    local function follow(show) \
      show:on('started', function(e) print(clock(), 'started', e.url == url and 'first' or 'other', clock(e.due)) end) \
      show:on('fallback', function(e) print(clock(), 'fallback', e.url == url and 'first' or 'other', tostring(e.error):find '%.lua:' or e.error.code) end) \
      show:on('finished', function(e) print(clock(), 'finished', minutes(e.seconds), #e.parts) end) \
      show:on('failed', function(e) print(clock(), 'failed', e.error.code, e.path) end) end\u{20}
    """

  /// A harness with two stations, that play 20 s over and over unless set otherwise.
  private func harness(_ first: String = "", other: String = "", days: Int = 7) throws -> EngineHarness {
    var harness = try EngineHarness()
    let file = Fixtures.path("mp3-cbr128-44k.mp3")
    harness.stations =
      """
      station('\(Self.url)', { file = '\(file)', name = 'Show', burst = '4s', \(first) })
      station('\(Self.other)', { file = '\(file)', name = 'Other', burst = '4s', \(other) })
      """
    harness.limit = .seconds(days * 86_400)
    return harness
  }

  private func run(_ harness: EngineHarness, _ code: String) throws -> EngineHarness.Outcome {
    try harness.run(Self.prelude + code)
  }

  @Test("a week of shows is recorded, each with its padding, under its name and its job")
  func week() throws {
    let outcome = try run(
      try harness(),
      """
      local show = recorder.schedule {
        url = url, template = "{station}/{start:%a %H.%M}.{ext}", cron = "0 20 * * *", duration = "10m",
        pad_before = "2m", pad_after = "3m", name = "evening",
      }
      print(show.name, clock(show.next), show.active, show)
      show:on("finished", function(event)
        local rows = recordings.list { job = "evening" }
        print(clock(), minutes(event.seconds), event.path:match "[^/]+/[^/]+$", #rows, rows[1].station)
      end)
      """)
    #expect(outcome.failures.isEmpty, "\(outcome.failures)")
    #expect(
      outcome.lines.first
        == "evening\tMon 19:58\ttrue\trecorder of job \"evening\" (next 2026-01-05 19:58, runs 0, failures 0)"
    )
    let days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    #expect(
      Array(outcome.lines.dropFirst())
        == days.enumerated().map { "\($1) 20:13\t15\tShow/\($1) 19.58.mp3\t\($0 + 1)\tShow" })
  }

  @Test("an unreachable station is replaced by the next, and a run is counted once")
  func fallback() throws {
    let outcome = try run(
      try harness("status = 404", days: 2),
      """
      local show = recorder.schedule {
        url = url, template = "a.mp3", cron = "0 20 * * *", duration = "10m", fallbacks = { other },
      }
      follow(show)
      task.sleep "30h"
      print(show.runs, show.failures, recordings.list()[1].station)
      """)
    #expect(
      outcome.lines.prefix(4) == [
        "Mon 20:00\tfallback\tother\tstream.not_found", "Mon 20:00\tstarted\tother\tMon 20:00",
        "Mon 20:10\tfinished\t10\t1", "1\t0\tOther",
      ], "\(outcome.lines) \(outcome.failures)")
  }

  @Test("a station that is lost for good in the middle is replaced too, and the sound of both is kept")
  func goes() throws {
    let outcome = try run(
      try harness("drops = { { at = '4m', outage = '1h', status = 503 } }", days: 1),
      """
      local show = recorder.schedule {
        url = url, template = "{station}.mp3", at = "20:00", duration = "30m", fallbacks = { other },
      }
      follow(show)
      show:on("finished", function(event)
        for _, part in ipairs(event.parts) do print(part.path:match "[^/]+$", minutes(part.seconds), part.url == url) end
        print(event.path == event.parts[2].path, #recordings.list())
      end)
      show:on("fallback", function(event)
        local text = tostring(event.error)
        print("an object", text:find("(" .. event.error.code .. ")", 1, true) ~= nil and not text:find "%.lua:")
      end)
      """)
    #expect(outcome.failures.isEmpty, "\(outcome.failures)")
    #expect(
      outcome.lines.filter { !$0.hasPrefix("Mon 20:05\tfallback") } == [
        "Mon 20:00\tstarted\tfirst\tMon 20:00", "an object\ttrue", "Mon 20:05\tstarted\tother\tMon 20:00",
        "Mon 20:30\tfinished\t25\t2", "Show.mp3\t4\ttrue", "Other.mp3\t25\tfalse", "true\t2",
      ], "\(outcome.lines)")
    #expect(outcome.lines.contains { $0.hasPrefix("Mon 20:05\tfallback\tother\t") })
  }

  @Test("without another station a short outage is a gap, not an end")
  func gap() throws {
    let outcome = try run(
      try harness("drops = { { at = '4m', outage = '5m' } }", days: 1),
      """
      follow(recorder.schedule { url = url, template = "a.mp3", at = "20:00", duration = "30m" })
      """)
    #expect(
      outcome.lines.first == "Mon 20:00\tstarted\tfirst\tMon 20:00"
        && outcome.lines.last?.hasPrefix("Mon 20:30\tfinished\t") == true, "\(outcome.lines)")
    #expect(outcome.lines.last?.hasSuffix("\t1") == true && outcome.lines.count == 2, "\(outcome.lines)")
  }

  @Test(
    "where nothing can be reached all is tried until the end; then the run has failed, and the next one comes"
  )
  func failure() throws {
    let outcome = try run(
      try harness("refuses = true", other: "status = 503", days: 2),
      """
      local show = recorder.schedule {
        url = url, template = "a.mp3", cron = "0 20 * * *", duration = "10m", fallbacks = { other },
      }
      local tries = 0
      show:on("fallback", function() tries = tries + 1 end)
      show:on("failed", function(event) print(clock(), event.error.code, event.path, tries > 10, tries < 100) end)
      task.sleep "47h"
      print(show.runs, show.failures, #recordings.list())
      """)
    #expect(outcome.lines.count == 3 && outcome.lines.last == "2\t2\t0", "\(outcome.lines)")
    for (day, line) in zip(["Mon", "Tue"], outcome.lines) {
      #expect(line.hasPrefix("\(day) 20:10\tstream."), "\(line)")
    }
    #expect(outcome.failures.count == 2 && outcome.status == 1)
  }

  @Test("a recording that can't be written fails at once, with the error of the disk")
  func disk() throws {
    let harness = try harness(days: 1)
    _ = try harness.folder.write([], to: "file")
    let outcome = try run(
      harness,
      """
      local show = recorder.schedule {
        url = url, template = "a/b.mp3", at = "20:00", duration = "10m", fallbacks = { other }, min_free = "900TB",
      }
      follow(show)
      """)
    #expect(outcome.lines == ["Mon 20:00\tfailed\trecord.disk_full\tnil"], "\(outcome.lines)")
    #expect(outcome.failures.map(\.code) == ["record.disk_full"])
  }

  @Test("the padding of one show continues beside the beginning of the next")
  func overlap() throws {
    let outcome = try run(
      try harness(days: 1),
      """
      local show = recorder.schedule {
        url = url, template = "{start:%H.%M}.mp3", cron = "0 20-21 * * *", duration = "1h", pad_before = "2m",
        pad_after = "5m",
      }
      follow(show)
      task.sleep "23h"
      print(show.runs, show.failures)
      """)
    #expect(outcome.failures.isEmpty, "\(outcome.failures)")
    #expect(
      outcome.lines == [
        "Mon 19:58\tstarted\tfirst\tMon 20:00", "Mon 20:58\tstarted\tfirst\tMon 21:00",
        "Mon 21:05\tfinished\t67\t1", "Mon 22:05\tfinished\t67\t1", "2\t0",
      ], "\(outcome.lines)")
  }

  @Test("cancel ends the plan and the current recording, which is kept and reported")
  func cancel() throws {
    let outcome = try run(
      try harness(days: 2),
      """
      local show = recorder.schedule { url = url, template = "a.mp3", cron = "0 20 * * *", duration = "1h" }
      follow(show)
      task.sleep "20h10m"
      show:cancel()
      show:cancel()
      print(show.active, show.next, #schedule.jobs())
      """)
    #expect(outcome.failures.isEmpty, "\(outcome.failures)")
    #expect(
      outcome.lines == [
        "Mon 20:00\tstarted\tfirst\tMon 20:00", "false\tnil\t0", "Mon 20:10\tfinished\t10\t1",
      ], "\(outcome.lines)")
  }

  @Test("cancelled while it connects it records no more than what has come by then")
  func cancelWhileConnecting() throws {
    let outcome = try run(
      try harness(days: 2),
      """
      local show = recorder.schedule { url = url, template = "a.mp3", cron = "0 20 * * *", duration = "1h" }
      follow(show)
      task.sleep "20h"
      task.sleep "100ms"
      show:cancel()
      """)
    #expect(outcome.failures.isEmpty, "\(outcome.failures)")
    #expect(
      outcome.lines == ["Mon 20:00\tstarted\tfirst\tMon 20:00", "Mon 20:00\tfinished\t0\t1"],
      "\(outcome.lines)")
  }

  @Test("once is called once, a subscription ends, and a listener that fails harms nothing")
  func listeners() throws {
    let outcome = try run(
      try harness(days: 3),
      """
      local show = recorder.schedule { url = url, template = "a.mp3", cron = "0 20 * * *", duration = "1m" }
      show:once("started", function() print "once" end)
      local failing = show:on("started", function() error "no milk" end)
      local count = 0
      local subscription subscription = show:on("started", function()
        count = count + 1
        if count == 2 then subscription:cancel() end
      end)
      show:on("finished", function() print(clock(), count, failing.failures) end)
      print(failing, failing.event)
      """)
    #expect(
      outcome.lines == [
        "subscription to \"started\" (active)\tstarted", "once", "Mon 20:01\t1\t1", "Tue 20:01\t2\t2",
        "Wed 20:01\t2\t3",
      ], "\(outcome.lines)")
    #expect(outcome.failures.count == 3 && outcome.failures.first?.message.contains("no milk") == true)
  }

  @Test("recordings older than keep are deleted, of this job alone")
  func keep() throws {
    let outcome = try run(
      try harness(days: 6),
      """
      local function plan(name, keep)
        return recorder.schedule {
          url = url, template = name .. "/{start:%a}.mp3", cron = "0 20 * * *", duration = "1m", name = name, keep = keep,
        }
      end
      plan("short", "36h")
      plan("long")
      task.sleep "119h"
      for _, name in ipairs { "short", "long" } do
        local list = {}
        for _, row in ipairs(recordings.list { job = name }) do
          table.insert(list, row.path:match "(%a+).mp3$")
          assert(io.open(row.path)):close()
        end
        table.sort(list)
        print(name, table.concat(list, " "))
      end
      """)
    #expect(outcome.failures.isEmpty, "\(outcome.failures)")
    #expect(outcome.lines == ["short\tFri Thu", "long\tFri Mon Thu Tue Wed"], "\(outcome.lines)")
  }

  @Test("a show whose padding has begun already is recorded at once")
  func late() throws {
    let outcome = try run(
      try harness(days: 1),
      """
      task.sleep "19h59m"
      follow(recorder.schedule { url = url, template = "a.mp3", at = "20:00", duration = "10m", pad_before = "5m" })
      """)
    #expect(
      outcome.lines == ["Mon 19:59\tstarted\tfirst\tMon 20:00", "Mon 20:10\tfinished\t11\t1"],
      "\(outcome.lines)")
  }

  /// Each with words of the message.
  @Test(
    "a wrong option raises at the caller's line, is named, and plans nothing",
    arguments: [
      ("nil", "table expected, got nil", "argument"), ("{}", "'url'", "argument"),
      ("{ url = url, duration = 60 }", "'cron' or option 'at'", "argument"),
      ("{ url = url, cron = '@daily', at = '20:00', duration = 60 }", "'cron' or option 'at'", "argument"),
      ("{ url = url, cron = '@daily' }", "'duration'", "argument"),
      ("{ url = url, cron = '@daily', duration = 0 }", "'duration'", "argument"),
      ("{ url = url, cron = '@daily', duration = '1x' }", "'duration' of 'schedule': 1x", "argument"),
      ("{ url = url, cron = '@daily', duration = '30m1h' }", "30m1h", "argument"),
      ("{ url = url, cron = '@daily', duration = -1 }", "'duration'", "argument"),
      ("{ url = 5, cron = '@daily', duration = 60 }", "'url' of 'schedule': string expected", "argument"),
      ("{ url = url, crom = '@daily', duration = 60 }", "did you mean 'cron'?", "argument"),
      ("{ url = url, cron = '30 6 * *', duration = 60 }", "'cron' of 'schedule': \"30 6", "schedule.syntax"),
      ("{ url = url, at = '25:00', duration = 60 }", "'at' of 'schedule': \"25:00\"", "schedule.syntax"),
      ("{ url = url, at = '2026-01-01 20:00', duration = 60 }", "has passed", "schedule.past"),
      ("{ url = url, cron = '@daily', days = 'mon', duration = 60 }", "'days'", "argument"),
      ("{ url = url, at = '20:00', timezone = 'UTC', duration = 60 }", "'timezone'", "argument"),
      ("{ url = url, cron = '@daily', timezone = 'Mars', duration = 60 }", "Mars", "schedule.zone"),
      ("{ url = 'mms://x', cron = '@daily', duration = 60 }", "mms", "stream.unsupported"),
      ("{ url = url, cron = '@daily', duration = 60, fallbacks = { 5 } }", "entry 1", "argument"),
      ("{ url = url, cron = '@daily', duration = 60, fallbacks = { 'x' } }", "", "stream.url"),
      ("{ url = url, cron = '@daily', duration = 60, pad_before = '25h' }", "24h", "argument"),
      (
        "{ url = url, cron = '@daily', duration = 60, template = '{sation}/x' }",
        "option 'template' of 'schedule': ", "argument"
      ),
      (
        "{ url = url, cron = '@daily', duration = 60, min_free = 'lots' }",
        "option 'min_free' of 'schedule': \"lots\"", "argument"
      ),
    ])
  func misuse(_ options: String, _ part: String, _ code: String) throws {
    let outcome = try run(
      try harness(),
      """

      local err = failure(function()
        local show = recorder.schedule(\(options))
        return show
      end)
      print(err.code) print(tostring(err)) print(#schedule.jobs())
      """)
    try #require(outcome.lines.count == 3, "\(outcome)")
    #expect(outcome.lines[0] == code)
    #expect(
      outcome.lines[1].hasPrefix("test.lua:3: ") && outcome.lines[1].contains(part), "\(outcome.lines[1])")
    #expect(outcome.lines[2] == "0")
  }

  @Test("an unknown field of the object is named at the caller's line")
  func object() throws {
    let outcome = try run(
      try harness(),
      """
      local show = recorder.schedule { url = url, template = "a.mp3", cron = "@daily", duration = 60 }
      print(message(function() return show.nxt end))
      print(message(function() show.name = "x" end))
      print(message(show.on, show, "begun", print))
      print(message(show.once, show, "started"))
      os.exit()
      """)
    #expect(
      outcome.lines == [
        "no field or method of a scheduled recording is called 'nxt'; did you mean 'next'?",
        "'name' of a scheduled recording can't be set",
        "bad argument #1 to 'on' (no event is called 'begun'; events here: failed, fallback, finished, started)",
        "bad argument #2 to 'once' (function expected, got nil)",
      ], "\(outcome.lines)")
  }

  @Test(
    "a show whose script starts again before its end continues in its file, with the time between as a gap")
  func continued() throws {
    var harness = try harness()
    harness.store = harness.folder.file("store.db")
    let code = """
      local show = recorder.schedule { url = url, template = "a.mp3", at = "20:00", duration = "30m", name = "show" }
      follow(show)
      show:on('started', function(e) print(e.continued) end)
      show:on('finished', function()
        for _, r in ipairs(recordings.list()) do print(minutes(r.seconds), #r.gaps, r.gaps[1] and minutes(r.gaps[1].seconds)) end
      end)
      """
    harness.limit = .seconds(20 * 3600 + 600)
    let first = try run(harness, code)
    #expect(first.lines == ["Mon 20:00\tstarted\tfirst\tMon 20:00", "false"], "\(first)")
    harness.start = EngineHarness.monday.advanced(by: .seconds(20 * 3600 + 900))
    harness.limit = .seconds(3600)
    let second = try run(harness, code)
    #expect(
      second.lines == [
        "Mon 20:15\tstarted\tfirst\tMon 20:00", "true", "Mon 20:30\tfinished\t15\t1",
        "25\t1\t5",
      ], "\(second)")
    harness.start = EngineHarness.monday.advanced(by: .seconds(21 * 3600))
    #expect(try run(harness, code).lines == [], "the show is over")
  }
}
