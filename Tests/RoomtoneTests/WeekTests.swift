import EventLoop
import Home
import JSONText
import LuaModules
import LuaRuntime
import Scheduling
import TestSupport
import TestTraits
import Testing

@testable import Roomtone

/// Entries and moments of a week that begins on Monday 2026-01-05 00:00 UTC.
enum WeekFixture {
  static let monday = 1_767_571_200
  static let zone: any LocalZone = FixedZone()

  struct FixedZone: LocalZone {
    let name = "UTC"
    func offset(at seconds: Int) -> Int { 0 }
  }

  static func entry(
    _ seconds: Int, _ room: String, _ kind: JournalEntry.Kind, name: String = "",
    to: JournalEntry.Value = .none, detail: String? = nil, facts: [JournalEntry.Fact] = []
  ) -> JournalEntry {
    var entry = JournalEntry(
      kind, of: .house, name, at: WallTime(seconds: Int64(monday + seconds)), to: to, detail: detail,
      facts: facts)
    entry.room = room
    return entry
  }

  static func sound(
    _ room: String, _ title: String, _ start: Int, _ end: Int, volumes: [(Int, Int)] = [],
    interruption: String? = nil
  ) -> WeekSound {
    WeekSound(
      room: room, title: title, interruption: interruption, end: monday + end,
      levels: [.init(monday + start, 20)] + volumes.map { .init(monday + $0.0, $0.1) })
  }

  static func week(
    days: Int = 2, title: String = "routine.lua", rooms: [String] = ["Kitchen", "Bedroom"],
    speakers: [String: String] = [
      "Bedroom Left": "Bedroom", "Bedroom Right": "Bedroom", "Kitchen": "Kitchen",
    ],
    sounds: [WeekSound] = [], _ entries: [JournalEntry] = []
  ) -> Week {
    Week(
      title: title, zone: zone, start: monday, end: monday + days * 86_400, isWhole: true, rooms: rooms,
      roomOfSpeaker: speakers, sounds: sounds, entries: entries)
  }
}

@Suite("simulate: days, lanes, bars and marks of a week", .tags(.weekPage)) struct WeekTests {
  // MARK: Days

  private static func day(_ date: String, _ zone: String) throws -> WeekDay {
    let date = try LocalDateTime(parsing: "\(date) 00:00").date
    return try #require(WeekDay(date, in: ZoneFile(named: zone)))
  }

  @Test("a day has the hours that its clocks show: 23, 24 or 25 of them, or half an hour more")
  func clockChanges() throws {
    let plain = try Self.day("2026-03-28", "Europe/Berlin")
    #expect(plain.length == 24 * 3600 && plain.hours.map(\.hour) == Array(0...23) && plain.change == nil)

    let spring = try Self.day("2026-03-29", "Europe/Berlin")
    #expect(spring.length == 23 * 3600 && spring.hours.map(\.hour) == [0, 1] + Array(3...23))
    #expect(spring.start == plain.end)
    #expect(spring.change == .init(moment: spring.start + 2 * 3600, seconds: 3600))
    #expect(spring.hours[2].moment == spring.start + 2 * 3600)

    let autumn = try Self.day("2026-10-25", "Europe/Berlin")
    #expect(autumn.length == 25 * 3600 && autumn.hours.map(\.hour) == [0, 1, 2, 2] + Array(3...23))
    #expect(autumn.change == .init(moment: autumn.start + 3 * 3600, seconds: -3600))

    let half = try Self.day("2026-10-04", "Australia/Lord_Howe")
    #expect(half.length == 23 * 3600 + 1800 && half.change?.seconds == 1800)
    #expect(half.hours.map(\.hour) == [0, 1] + Array(3...23))
  }

  @Test("a day that a zone has left out is none, and one whose midnight is left out begins behind it")
  func missingDays() throws {
    let zone = try ZoneFile(named: "Pacific/Apia")
    let date = try LocalDateTime(parsing: "2011-12-30 00:00").date
    #expect(WeekDay(date, in: zone) == nil)
    let beirut = try Self.day("2026-03-29", "Asia/Beirut")
    #expect(beirut.length == 23 * 3600 && beirut.hours.first?.hour == 1)
  }

  @Test("the days of a time are those with a moment in it")
  func days() throws {
    let monday = WeekFixture.monday
    func dates(_ start: Int, _ end: Int) -> [String] {
      WeekDay.days(from: monday + start, to: monday + end, in: WeekFixture.zone).map { "\($0.date)" }
    }
    #expect(dates(0, 86_400) == ["2026-01-05"])
    #expect(dates(3600, 86_401) == ["2026-01-05", "2026-01-06"])
    #expect(dates(0, 0) == ["2026-01-05"])
  }

  // MARK: Lanes

  @Test(
    "entries go to the lanes of their rooms and of the rooms of their speakers, the rest to the routine's")
  func places() {
    let week = WeekFixture.week(
      rooms: ["Kitchen", "Bed, left"], speakers: ["Bed, left": "Bed, left", "Oven": "Kitchen"],
      [
        WeekFixture.entry(0, "Oven", .away), WeekFixture.entry(1, "Bed, left, Kitchen", .away),
        WeekFixture.entry(2, "Oven, Kitchen", .away), WeekFixture.entry(3, "", .print, detail: "a"),
        WeekFixture.entry(4, "Recorder", .recording, name: "a.mp3"),
        WeekFixture.entry(5, "Attic, Oven, Cellar", .away), WeekFixture.entry(6, "Attic", .away),
      ])
    #expect(
      week.places == [
        [.room("Kitchen")], [.room("Bed, left"), .room("Kitchen")], [.room("Kitchen")], [.routine],
        [.recorder], [.room("Kitchen")], [.routine],
      ])
    #expect(week.lanes.map(\.name) == ["Kitchen", "Bed, left", "Recorder", "Routine"])
  }

  @Test("few lanes are on each day with an event, of many those with one; a day without has none")
  func lanes() throws {
    let rooms = (1...30).map { "Room \($0)" }
    let few = WeekFixture.week(
      days: 3, rooms: rooms, speakers: [:],
      sounds: [WeekFixture.sound("Room 3", "A", 10, 20), WeekFixture.sound("Room 2", "A", 86_500, 86_600)])
    #expect(few.rows(of: few.days[0]).map(\.lane.name) == ["Room 2", "Room 3"])
    #expect(few.rows(of: few.days[2]).isEmpty)
    let many = WeekFixture.week(
      rooms: rooms, speakers: [:],
      sounds: rooms.enumerated().map { WeekFixture.sound($1, "A", $0 * 5000, $0 * 5000 + 60) })
    #expect(many.rows(of: many.days[0]).count == 18)
    #expect(many.rows(of: many.days[1]).map(\.lane.name) == rooms[18...].map(\.self))
  }

  // MARK: Bars

  @Test("a sound across midnight is on both days; one that ends at midnight on the first alone")
  func midnight() throws {
    let week = WeekFixture.week(sounds: [
      WeekFixture.sound("Kitchen", "Night", 80_000, 90_000),
      WeekFixture.sound("Bedroom", "Evening", 80_000, 86_400),
    ])
    let bars = week.days.map { day in week.rows(of: day).map { $0.bars.map(\.title) } }
    #expect(bars == [[["Night"], ["Evening"]], [["Night"], []]])
    #expect(week.figures(of: week.days[1]).soundingSeconds == 3600)
    #expect(week.figures.soundingSeconds == 10_000)
  }

  @Test(
    "interruptions have the style of an alarm or an announcement by their names, other sounds that of music")
  func styles() {
    let week = WeekFixture.week(
      sounds: [
        WeekFixture.sound("Bedroom", "Morning", 3605, 7200, interruption: "wake up"),
        WeekFixture.sound("Kitchen", "Morning", 3605, 7200),
        WeekFixture.sound("Kitchen", "Chime", 9000, 9010, interruption: "gong"),
        WeekFixture.sound("Kitchen", "Dinner", 9999, 10_005, interruption: "announcement"),
        WeekFixture.sound("Kitchen", "Morning", 10_005, 20_000),
      ],
      [
        WeekFixture.entry(3600, "Bedroom", .alarm, detail: "wake up rings with Morning"),
        WeekFixture.entry(10_000, "Kitchen", .announcement, detail: "Dinner"),
      ])
    let rows = week.rows(of: week.days[0])
    #expect(rows.map { $0.bars.map(\.style) } == [[.music, .interruption, .announcement, .music], [.alarm]])
  }

  @Test("a recording is a bar from its first frame to its end, or to the end of the week")
  func recordings() throws {
    func entry(_ second: Int, _ kind: JournalEntry.Kind, _ path: String) -> JournalEntry {
      WeekFixture.entry(second, "Recorder", kind, name: path)
    }
    let week = WeekFixture.week([
      entry(100, .recording, "a.mp3"), entry(200, .recording, "b.mp3"), entry(300, .recorded, "a.mp3"),
      entry(400, .unrecorded, "c.mp3"), entry(500, .recording, "a.mp3"), entry(86_500, .recorded, "b.mp3"),
    ])
    let row = try #require(week.rows(of: week.days[0]).first)
    let ends = row.bars.map { "\($0.title) \($0.start - WeekFixture.monday) \($0.end - WeekFixture.monday)" }
    #expect(ends == ["a.mp3 100 300", "b.mp3 200 86500", "a.mp3 500 172800"])
    #expect(row.marks.map(\.kind) == [.failure])
    #expect(week.figures.recordings == 3 && week.figures.failures == 1)
  }

  // MARK: Marks

  @Test("marks that are too close are one, under the most urgent kind")
  func merged() {
    let marks = [(0, WeekMarkKind.note), (50, .failure), (100, .run), (149, .alarm), (260, .note)]
      .enumerated()
      .map { WeekMark(moment: $1.0, kind: $1.1, entries: [$0]) }
    #expect(
      WeekMark.merged(marks, distance: 100) == [
        WeekMark(moment: 0, kind: .failure, entries: [0, 1]),
        WeekMark(moment: 100, kind: .alarm, entries: [2, 3]),
        WeekMark(moment: 260, kind: .note, entries: [4]),
      ])
    #expect(WeekMark.merged(marks, distance: 0) == marks)
  }

  @Test("kinds of entries have the marks of what they mean")
  func kinds() {
    let marks: [(JournalEntry.Kind, WeekMarkKind?)] = [
      (.error, .failure), (.failed, .failure), (.unrecorded, .failure), (.skipped, .warning),
      (.omitted, .note), (.missed, .warning), (.run, .run), (.volume, nil), (.recording, nil),
      (.fallback, .fallback), (.trigger, .trigger), (.headset, .setting),
    ]
    for (kind, mark) in marks { #expect(WeekFixture.entry(0, "", kind).mark == mark, "\(kind)") }
    func mark(_ kind: JournalEntry.Kind, _ name: String, _ value: JSON) -> WeekMarkKind? {
      WeekFixture.entry(0, "", kind, facts: [.init(name, value)]).mark
    }
    #expect(mark(.log, "level", "error") == .failure && mark(.log, "level", "warn") == .warning)
    #expect(mark(.log, "level", "info") == .note && mark(.headset, "change", "error") == .failure)
  }
}

@Suite("simulate: sounds of rooms for a picture", .waiting, .tags(.weekPage)) struct WeekRecorderTests {
  private func sounds(_ code: String) throws -> [String] {
    let harness = try EngineHarness()
    let engine = try harness.engine()
    let recorder = WeekRecorder(engine)
    var failures: [LuaError] = []
    engine.onFailure = { failures.append($0) }
    let script = try engine.makeScript(harness.folder.file("test.lua"), isFile: true)
    let modules = "local speaker, task = require 'speaker', require 'task' speaker.open { add_all = false } "
    let main = try script.state.load(Array((modules + code).utf8), chunkName: "@test.lua")
    _ = engine.run(script, main, limit: .seconds(600))
    if let failure = failures.first { throw failure }
    let week = recorder.week(title: "test.lua", until: harness.start.advanced(by: .seconds(600)))
    return week.sounds.map { sound in
      let levels = sound.levels.map { "\($0.moment - week.start):\($0.volume)" }.joined(separator: " ")
      return
        "\(sound.room): \(sound.title)\(sound.interruption == nil ? "" : "!") \(levels) to \(sound.end - week.start)"
    }
  }

  @Test("a room sounds from play to pause, and again, at the volume of its loudest speaker")
  func levels() throws {
    let sounds = try sounds(
      """
      local left, right = speaker.device "Bedroom Left", speaker.device "Bedroom Right"
      speaker.group "Bedroom":set_volume(10)
      left:join() right:join()
      speaker.play("long.wav", { loop = true })
      task.sleep "5s"
      left:set_volume(30)
      task.sleep "5s"
      speaker.pause()
      task.sleep "5s"
      speaker.resume()
      task.sleep "5s"
      speaker.mute()
      task.sleep "5s"
      speaker.stop()
      """)
    #expect(
      sounds == ["Bedroom: long.wav 0:10 5:30 to 10", "Bedroom: long.wav 15:30 20:0 to 25"], "\(sounds)")
  }

  @Test(
    "an interruption is a sound of its own between two of the music, and a speaker that joins begins its own")
  func interruption() throws {
    let sounds = try sounds(
      """
      speaker.device "Kitchen":set_volume(20)
      speaker.device "Kitchen":join()
      speaker.play("long.wav", { title = "music" })
      task.sleep "2s"
      speaker.interrupt { play = "tone.wav", volume = 35 }
      task.sleep "2s"
      speaker.device "Bathroom":join()
      speaker.finish()
      """)
    #expect(
      sounds.filter { $0.hasPrefix("Kitchen") } == [
        "Kitchen: music 0:20 to 2", "Kitchen: tone.wav! 2:35 to 5", "Kitchen: music 5:20 to 13",
      ], "\(sounds)")
    #expect(sounds.count { $0.hasPrefix("Bathroom: music 7:") && $0.hasSuffix("to 13") } == 1, "\(sounds)")
  }
}
