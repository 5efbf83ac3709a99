import EventLoop
import LuaRuntime
import TestSupport
import TestTraits
import Testing

/// The clock begins at midnight before Monday 2026-01-05.
@Suite("an alarm", .waiting, .tags(.alarm))
struct AlarmTests {
  /// The time of the alarm in the script.
  private static let time = "at = \"06:45\", days = \"daily\""
  /// A script whose alarm rings from 06:45 for 30 minutes. Prints when a speaker begins and ends to play, with its volume.
  private static let script = """
    local alarm = require "alarm"
    local left = speaker.device "Bedroom Left"
    local wake = alarm.set {
      \(time), rooms = "Bedroom", sources = { "long.wav" }, name = "wake", volume = 20,
      fade = "5m", duration = "30m",
    }
    left:on("device", function(event)
      if event.reason == "playing" then print(os.time(), left.is_playing and "plays" or "rests") end
    end)
    for _, name in ipairs { "dismissed", "missed", "fallback" } do
      wake:on(name, function(event) print(os.time(), name .. " " .. (event.by or event.reason)) end)
    end
    task.spawn(function()
      while true do
        if left.is_playing then print(os.time(), "volume " .. left.volume) end
        task.sleep "10s"
      end
    end)
    """

  /// Runs a script from one time of the day to another with what earlier runs have kept, and returns its lines.
  private func lines(
    _ harness: inout EngineHarness, _ code: String, from start: Duration, to end: Duration
  ) throws -> [(second: Int, text: String)] {
    harness.start = EngineHarness.monday.advanced(by: start)
    harness.limit = end - start
    let outcome = try harness.run(code)
    if let failure = outcome.failures.first { throw failure }
    let midnight = EngineHarness.monday.seconds
    return try outcome.lines.map { line in
      let parts = line.split(separator: "\t")
      let second = try #require(parts.first.flatMap { Int64($0) })
      return (Int(second - midnight), parts.dropFirst().joined(separator: " "))
    }
  }

  @Test("that is interrupted by a restart at any moment rings until its end, and not again")
  func restarts() throws {
    var random = SeededRandom(seed: 14)
    let (due, end) = (6 * 3600 + 45 * 60, 7 * 3600 + 15 * 60)
    for _ in 0..<50 {
      let moment = Int.random(in: due - 600..<end + 600, using: &random)
      var harness = try EngineHarness()
      harness.store = harness.folder.file("state.sqlite")
      let restart = Duration.milliseconds(1000 * moment + Int.random(in: 1..<999, using: &random))
      let evening = Duration.seconds(20 * 3600)
      let first = try lines(&harness, Self.script, from: .seconds(6 * 3600), to: restart)
      let second = try lines(&harness, Self.script, from: restart, to: evening)
      let comment = Comment(rawValue: "restarted at \(moment): \(first) \(second)")
      let begins = (first + second).filter { $0.text == "plays" }.map(\.second)
      let isInside = (due..<end).contains(moment)
      #expect(begins.first == due && begins.count == (isInside ? 2 : 1), comment)
      if isInside { #expect((moment...moment + 1).contains(begins[begins.count - 1]), comment) }
      let last = moment < end ? second : first
      #expect(last.filter { $0.text == "rests" }.map(\.second) == [end], comment)
      #expect(last.filter { $0.text == "dismissed duration" }.map(\.second) == [end], comment)
      for line in first + second where line.text.hasPrefix("volume") {
        let risen = min(1, Double(line.second - due) / 300)
        let volume = try #require(line.text.split(separator: " ").last.flatMap { Double($0) })
        #expect(abs(volume - max(1, 20 * risen)) <= 1.5, comment)
      }
      #expect(
        !(first + second).contains { $0.text.hasPrefix("missed") || $0.text.hasPrefix("fallback") }, comment)
    }
  }

  @Test(
    "for one time of day, or for a date, rings on after a restart, too, and for a date not again",
    arguments: ["at = '06:45'", "at = '2026-01-05 06:45'"])
  func onceRestarted(_ time: String) throws {
    var harness = try EngineHarness()
    harness.store = harness.folder.file("state.sqlite")
    let parts = Self.script.split(separator: Self.time, omittingEmptySubsequences: false)
    #expect(parts.count == 2)
    let script = parts.joined(separator: time)
    let restart = Duration.seconds(6 * 3600 + 52 * 60)
    _ = try lines(&harness, script, from: .seconds(6 * 3600), to: restart)
    let second = try lines(&harness, script, from: restart, to: .seconds(20 * 3600))
    #expect(second.first { $0.text == "plays" }.map { $0.second <= 6 * 3600 + 52 * 60 + 1 } == true)
    #expect(second.first { $0.text == "dismissed duration" }?.second == 7 * 3600 + 15 * 60)
    if time.contains("2026") {
      let error = #expect(throws: LuaError.self) {
        try lines(&harness, script, from: .seconds(8 * 3600), to: .seconds(20 * 3600))
      }
      #expect(error?.code == "schedule.past")
    }
  }

  @Test("that snoozes during a restart rings again at its time")
  func snoozedRestart() throws {
    var harness = try EngineHarness()
    harness.store = harness.folder.file("state.sqlite")
    let snooze = Self.script + " task.sleep '50m' wake:snooze()"
    let restart = Duration.seconds(6 * 3600 + 52 * 60)
    let first = try lines(&harness, snooze, from: .seconds(6 * 3600), to: restart)
    #expect(first.last { $0.text == "rests" }?.second == 6 * 3600 + 50 * 60)
    let second = try lines(&harness, Self.script, from: restart, to: .seconds(20 * 3600))
    #expect(second.first { $0.text == "plays" }?.second == 6 * 3600 + 59 * 60)
    #expect(second.first { $0.text == "dismissed duration" }?.second == 7 * 3600 + 24 * 60)
  }

  @Test("that was due while the script was not running rings up to ten minutes late, or is missed")
  func missed() throws {
    func texts(after minutes: Int) throws -> [String] {
      var harness = try EngineHarness()
      harness.store = harness.folder.file("state.sqlite")
      _ = try lines(&harness, Self.script, from: .zero, to: .seconds(3600))
      let start = Duration.seconds(6 * 3600 + 45 * 60 + 60 * minutes)
      return try lines(&harness, Self.script, from: start, to: .seconds(20 * 3600)).map(\.text)
        .filter { !$0.hasPrefix("volume") }.sorted()
    }
    #expect(try texts(after: 9) == ["dismissed duration", "plays", "rests"])
    #expect(try texts(after: 11) == ["missed the script was not running"])
  }

  @Test("restores the volumes of before, though the house was restarted at those of the alarm")
  func levels() throws {
    var harness = try EngineHarness()
    harness.store = harness.folder.file("state.sqlite")
    harness.stateFolder = harness.folder.file("house")
    let quiet = "speaker.device 'Bedroom Left':set_volume(7) task.sleep(1) "
    // A process that is killed leaves the volumes of the alarm.
    let loud = "speaker.device 'Bedroom Left':set_volume(13) task.sleep(1) "
    let restart = Duration.seconds(6 * 3600 + 50 * 60)
    _ = try lines(&harness, quiet + Self.script, from: .seconds(6 * 3600), to: restart)
    let second = try lines(
      &harness, loud + Self.script + " task.sleep '2h' print(os.time(), left.volume)", from: restart,
      to: .seconds(20 * 3600))
    #expect(second.contains { $0.text == "volume 20" } && second.last?.text == "7", "\(second)")
  }

  @Test("says what is wrong with its options when it is set, at the script's line")
  func refused() throws {
    let lines = try EngineHarness.printed(
      """
      local alarm = require "alarm"
      for _, change in ipairs {
        { rooms = "Attic" }, { sources = {} }, { at = "2025-01-30 07:00" }, { at = "2026-02-30 07:00" },
        { at = "25:00" }, { days = "someday" }, { source = "x" }, { sources = { "nowhere.mp3" } },
        { sources = { "mms://radio" } }, { volume = 0 }, { duration = 0 }, { sustain = "x" }, { rooms = {} },
        { priority = 2000 },
      } do
        local options = { at = "06:45", rooms = "Kitchen", sources = { "tone.wav" } }
        for key, value in pairs(change) do options[key] = value end
        local err = failure(alarm.set, options)
        print(err.code, err.where, err.message)
      end
      """)
    let expected = [
      ("speaker.unknown", "Attic"), ("argument", "at least one URL"), ("schedule.past", "has passed"),
      ("schedule.syntax", "option 'at' of 'set': "), ("schedule.syntax", "option 'at' of 'set': "),
      ("schedule.syntax", "option 'days' of 'set': "), ("argument", "did you mean 'sources'"),
      ("audio.not_found", "nowhere.mp3"), ("stream.unsupported", "mms"), ("argument", "option 'volume'"),
      ("argument", "option 'duration'"), ("argument", "option 'sustain'"), ("argument", "option 'rooms'"),
      ("argument", "option 'priority'"),
    ]
    #expect(lines.count == expected.count)
    for (line, expected) in zip(lines, expected) {
      #expect(line.hasPrefix("\(expected.0)\ttest.lua:"), "\(line)")
      #expect(line.contains(expected.1), "\(line)")
    }
  }
}
