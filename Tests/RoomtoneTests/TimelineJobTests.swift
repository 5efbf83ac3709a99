import Home
import JSONText
import Roomtone
import TestSupport
import TestTraits
import Testing

@Suite("simulate: jobs and warnings on the time line", .waiting, .tags(.simulation, .schedule))
struct TimelineJobTests {
  @Test(
    "a volume that rises is one line, whoever makes its steps",
    arguments: [
      (
        "speaker.group('Bedroom'):fade { to = 20, over = '5m' }", "05 00:10 Bedroom: volume 5 → 20 over 5 min"
      ),
      (
        "fade.volume { 'Bedroom', to = 20, over = '5m' } task.sleep '6m'",
        "05 00:10 Bedroom: volume 5 → 20 over 5 min"
      ),
      (
        "for volume = 6, 20 do task.sleep '20s' speaker.group('Bedroom'):set_volume(volume) end",
        "05 00:10:20 Bedroom: volume 5 → 20 in 15 steps over 4 min 40 s"
      ),
    ])
  func rise(_ code: String, _ line: String) throws {
    let harness = try TimelineHarness(
      "speaker.open { add_all = true } speaker.group('Bedroom'):set_volume(5) task.sleep '10m' \(code)")
    #expect(try harness.linesWithoutFailures() == ["05 00:00 Bedroom: volume 18 → 5", line])
  }

  @Test("jobs that fail, are skipped or never run are told, each time, and counted at the end")
  func jobs() throws {
    let harness = try TimelineHarness(
      """
      schedule.at("06:00", { days = "daily", name = "broken" }, function() error "no milk" end)
      schedule.every("1h", { name = "slow", align = true }, function()
        log.warn("I am slow", { hours = 50 })
        task.sleep "50h"
      end)
      local left_out = schedule.at("07:00", { days = "daily", name = "left out" }, function() end)
      left_out:skip()
      schedule.at("2026-06-01 08:00", { name = "summer" }, function() end)
      task.sleep "32h"
      os.exit(0)
      """)
    let lines = harness.lines
    #expect(
      lines.filter { !$0.contains("\"slow\" skips") } == [
        "05 00:00 : job \"left out\" leaves out its run of 2026-01-05 07:00, as requested",
        "05 01:00 : job \"slow\" runs", "05 01:00 : warn: I am slow hours=50",
        "05 06:00 : job \"broken\" runs", "05 06:00 : ! job \"broken\" failed: test.lua:1: no milk",
        "06 06:00 : job \"broken\" runs",
        "06 06:00 : ! job \"broken\" failed: test.lua:1: no milk (2 times in a row)",
        "06 07:00 : job \"left out\" runs",
        "06 08:00 : job \"left out\": 1 run, 1 skipped", "06 08:00 : job \"slow\": 1 run, 31 skipped",
        "06 08:00 : job \"broken\": 2 runs, 2 failed",
        "06 08:00 : job \"summer\": no run, the next at 2026-06-01 08:00",
        "06 08:00 : 4 runs, 2 failures, 0 warnings",
      ])
    #expect(
      lines.contains(
        "05 02:00 : ! job \"slow\" skips its run of 2026-01-05 02:00: the one before has not ended"))
    #expect(harness.entries.first { $0.kind == .log }?.job == "slow")
  }

  @Test("an error of no job is a line with its place, and counts as a failure")
  func failure() throws {
    let harness = try TimelineHarness("task.spawn(function() error 'oh' end) task.sleep '1s'")
    #expect(
      harness.lines == ["05 00:00 : ! test.lua:1: oh", "05 00:00:01 : 0 runs, 1 failure, 0 warnings"])
    #expect(harness.entries.map(\.kind) == [.failure, .summary])
  }

  @Test("changes are of the job that makes them, also in its tasks and after waiting; others of none")
  func origins() throws {
    let harness = try TimelineHarness(
      """
      speaker.open { add_all = false }
      local kitchen, bathroom = speaker.device "Kitchen", speaker.device "Bathroom"
      schedule.at("06:00", { name = "alarm" }, function()
        kitchen:join()
        task.sleep "1s"
        task.spawn(function() task.sleep "1s" speaker.play "long.wav" end)
        kitchen:fade { to = 30, over = "5s" }
        speaker.set_eq "rock"
      end)
      bathroom:set_volume(10)
      task.sleep "6h5s"
      bathroom:set_volume(20)
      task.sleep "1m"
      """)
    #expect(harness.failures.isEmpty)
    let jobs = harness.entries.filter { $0.kind != .summary }.map { "\($0.room) \($0.kind) \($0.job ?? "-")" }
    #expect(
      jobs == [
        "Bathroom volume -", " run alarm", "Kitchen volume alarm", "Kitchen play alarm", "Bathroom volume -",
        "Kitchen equalizer alarm", "Kitchen stop -",
      ])
  }

  @Test("two jobs that change a room within a minute are warned of, with both names")
  func rivals() throws {
    let harness = try TimelineHarness(
      """
      speaker.open { add_all = false }
      local kitchen, bathroom = speaker.device "Kitchen", speaker.device "Bathroom"
      kitchen:join()
      schedule.at("22:00", { days = "daily", name = "bedtime" }, function()
        kitchen:set_volume(5)
        speaker.play "long.wav"
      end)
      schedule.at("22:00:40", { days = "daily", name = "party" }, function()
        bathroom:set_volume(40)
        kitchen:set_volume(40)
        speaker.play "tone.wav"
      end)
      schedule.at("22:02", { days = "daily", name = "late" }, function() kitchen:set_volume(20) end)
      schedule.at("23:00", { days = "daily", name = "announcement" }, function()
        kitchen:set_volume(10)
        speaker.interrupt { devices = { kitchen }, play = "tone.wav", volume = 20 }
        speaker.stop()
      end)
      schedule.at("23:00:30", { days = "daily", name = "night" }, function()
        speaker.interrupt { devices = { kitchen }, play = "tone.wav", volume = 20 }
        speaker.play "tone.wav"
      end)
      task.sleep "47h"
      os.exit(0)
      """)
    #expect(harness.failures.isEmpty)
    let warnings = ["05", "06"].map { day in
      "\(day) 22:00:40 Kitchen: ? job \"bedtime\" and job \"party\" both change the volume of Kitchen "
        + "and what plays there, within 40 s"
    }
    #expect(harness.lines.filter { $0.contains(": ? ") } == warnings, "\(harness.lines)")
    let jobs = harness.entries.first { $0.kind == .warning }?.fact("jobs")
    #expect(jobs?.line == #"["bedtime", "party"]"#)
    #expect(harness.lines.last == "06 23:00 : 9 runs, 0 failures, 2 warnings", "\(harness.lines)")
  }

  @Test("two jobs that change many rooms at one moment are warned of once")
  func rivalsInRooms() throws {
    let together = try TimelineHarness(
      """
      speaker.open { add_all = true }
      schedule.at("22:00", { name = "bedtime" }, function() speaker.device("Kitchen"):set_volume(5) end)
      schedule.at("22:00", { name = "party" }, function() speaker.device("Kitchen"):set_volume(30) end)
      """
    ).linesWithoutFailures()
    let text = "both change the volume of Kitchen, at the same moment"
    #expect(together.contains { $0.hasSuffix(text) }, "\(together)")
    let lines = try TimelineHarness(
      """
      speaker.open { add_all = true }
      schedule.at("22:00", { name = "bedtime" }, function() speaker.set_volume(5) end)
      schedule.at("22:00:05", { name = "party" }, function() speaker.set_volume(30) end)
      """
    ).linesWithoutFailures()
    #expect(
      lines.filter { $0.contains(": ? ") } == [
        "05 22:00:05 Living Room, Kitchen, Bedroom, Bathroom: ? job \"bedtime\" and job \"party\" both change the "
          + "volume of Living Room, Kitchen, Bedroom and Bathroom, within 5 s"
      ], "\(lines)")
  }

  @Test(
    "a job that sets the volume of a room in which an alarm rings is warned of, and logged as it makes it quiet"
  )
  func alarm() throws {
    let sound = Fixtures.path("mp3-cbr128-44k.mp3")
    let lines = try TimelineHarness(
      """
      require "alarm".set {
        at = "06:45", rooms = "Bedroom", sources = { "http://there.test/b.mp3" }, volume = 20, fade = "5m",
        duration = "75m", name = "wake",
      }
      schedule.at("06:48", { name = "quiet" }, function() speaker.group "Bedroom":set_volume(2) end)
      schedule.at("07:15", { name = "louder" }, function() speaker.group "Bedroom":set_volume(30) end)
      schedule.at("08:30", { name = "later" }, function() speaker.group "Bedroom":set_volume(3) end)
      """, stations: "station('http://there.test/b.mp3', { file = '\(sound)' })"
    ).linesWithoutFailures()
    let words = "changes the volume of Bedroom, where job \"wake\" plays: it stays so until that ends"
    #expect(
      lines.filter { $0.contains(": ? ") } == [
        "05 06:48 Bedroom: ? job \"quiet\" \(words)", "05 07:15 Bedroom: ? job \"louder\" \(words)",
      ], "\(lines)")
    let logged = lines.filter { $0.contains("warn: ") }
    #expect(
      logged.count == 1
        && logged.first?.hasPrefix("05 06:48 : warn: an alarm is quieter than it would be") == true,
      "\(lines)")
    #expect(logged.first?.contains("volume=2") == true && logged.first?.contains("room=Bedroom") == true)
  }

  @Test("an alarm that nobody touches has no warning, also beside an announcement and through a snooze")
  func untouchedAlarm() throws {
    let sound = Fixtures.path("mp3-cbr128-44k.mp3")
    let lines = try TimelineHarness(
      """
      local wake = require "alarm".set {
        at = "06:45", rooms = "Bedroom", sources = { "http://there.test/b.mp3" }, volume = 50, fade = "20s",
        duration = "20m", name = "wake", snooze = "1m",
      }
      schedule.at("06:50", { name = "news" }, function()
        require "announce".play { "long.wav", rooms = "Bedroom", volume = 20 }
        wake:snooze()
      end)
      """, stations: "station('http://there.test/b.mp3', { file = '\(sound)' })"
    ).linesWithoutFailures()
    #expect(lines.filter { $0.contains(": ? ") || $0.contains("warn: ") } == [], "\(lines)")
  }

  @Test("an interruption begins and ends, and speakers of a room that return to their volume are one line")
  func interruption() throws {
    let lines = try TimelineHarness(
      """
      speaker.open { add_all = true }
      speaker.interrupt { devices = { "Bedroom" }, play = "tone.wav", volume = 30 }
      task.sleep "1s"
      """
    ).linesWithoutFailures()
    for line in [
      "05 00:00 Bedroom: interruption begins", "05 00:00 Bedroom: volume 18 → 30",
      "05 00:00 Bedroom: ▶ tone.wav at volume 30", "05 00:00:03 Bedroom: interruption ends",
      "05 00:00:03 Bedroom: volume 30 → 18",
    ] { #expect(lines.contains(line), "\(lines)") }
  }

  @Test("a speaker that changes its group or its name is told")
  func groups() throws {
    let lines = try TimelineHarness(
      """
      local kitchen = speaker.device "Kitchen"
      kitchen:set_group "Bedroom"
      kitchen:leave_group()
      kitchen:set_name "Pantry"
      """
    ).linesWithoutFailures()
    #expect(
      lines == [
        #"05 00:00 Kitchen: is in group "Bedroom""#, #"05 00:00 Kitchen: leaves group "Bedroom""#,
        #"05 00:00 Pantry: is called "Pantry", before "Kitchen""#,
      ])
  }

  @Test("another station in place of one that is not there is marked, and what the library marks besides")
  func marks() throws {
    let sound = Fixtures.path("mp3-cbr128-44k.mp3")
    let harness = try TimelineHarness(
      """
      require "recorder".schedule {
        name = "news", url = "http://gone.test/a.mp3", fallbacks = { "http://there.test/b.mp3" }, at = "12:00",
        duration = "10s", template = "news.{ext}",
      }
      task.sleep "13h"
      require "roomtone.host".mark { kind = "alarm", message = "rings", room = "Kitchen" }
      os.exit(0)
      """,
      stations: """
        station('http://gone.test/a.mp3', { file = '\(sound)', status = 404 })
        station('http://there.test/b.mp3', { file = '\(sound)' })
        """)
    let marks = harness.entries.filter { $0.kind == .fallback || $0.kind == .alarm }
    #expect(marks.map(\.detail) == ["http://there.test/b.mp3 instead of http://gone.test/a.mp3", "rings"])
    #expect(marks.map(\.room) == ["Recorder", "Kitchen"] && marks.map(\.job) == ["news", nil])
    #expect(marks.first?.kind == .fallback && marks.first?.fact("source")?.text == "http://there.test/b.mp3")
  }

  @Test("sources that are never heard are named in one line at the end: those of no use, and those that fail")
  func unheard() throws {
    let sound = Fixtures.path("mp3-cbr128-44k.mp3")
    let lines = try TimelineHarness(
      """
      speaker.open { add_all = true }
      local unused = stream.new "http://unused.test/a.mp3"
      task.try(speaker.play_stream, "http://gone.test/b.mp3")
      speaker.play_stream "http://heard.test/c.mp3"
      local radio = stream.new "http://recorded.test/d.mp3"
      radio:record("d.mp3", { duration = "5s" }):wait "recording_finished"
      speaker.stop()
      os.exit(0)
      """,
      stations: ["gone.test/b.mp3", "heard.test/c.mp3", "recorded.test/d.mp3", "listed.test/e.mp3"].map {
        "station('http://\($0)', { \($0.hasPrefix("gone") ? "status = 404" : "file = '\(sound)'") })"
      }.joined(separator: "\n")
    ).linesWithoutFailures().filter { $0.contains("never heard") }
    #expect(lines.count == 1)
    #expect(
      lines.first?.split(separator: "never heard: ").last
        == "http://gone.test/b.mp3, http://listed.test/e.mp3, http://unused.test/a.mp3", "\(lines)")
  }
}
