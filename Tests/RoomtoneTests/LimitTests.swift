import EventLoop
import LuaRuntime
import Roomtone
import SpeakerKit
import TestSupport
import TestTraits
import Testing

/// The clock begins at midnight before Monday 2026-01-05, in quiet hours.
@Suite("limits of speakers, for scripts", .waiting, .tags(.volume, .configuration))
struct LimitTests {
  private static let configuration = """
    house { output = 'null', speakers = {
      { name = 'Bedroom', volume = 20, max_volume = 35, quiet = { from = '22:00', to = '06:30', max = 12 } },
      { name = 'Kitchen' } } }
    """

  private func outcome(_ code: String) throws -> EngineHarness.Outcome {
    var harness = try EngineHarness()
    harness.configuration = Self.configuration
    return try harness.run("local bedroom = speaker.device 'Bedroom' \(code)")
  }

  private func printed(_ code: String) throws -> [String] {
    let outcome = try outcome(code)
    if let failure = outcome.failures.first { throw failure }
    return outcome.lines
  }

  @Test("events name the limit, and what was asked for comes back when the quiet hours end")
  func events() throws {
    let lines = try printed(
      """
      print(bedroom.volume, bedroom.asked_volume, bedroom.max_volume, speaker.device 'Kitchen'.max_volume)
      speaker.on('volume', function(e) print(os.date '%H:%M', e.volume, e.asked, e.limit, e.cause) end)
      bedroom:set_volume(5) task.sleep(1)
      bedroom:set_volume(40) task.sleep '8h'
      os.exit()
      """)
    #expect(
      lines == [
        "12\t20\t12\tnil", "00:00\t5\tnil\tnil\tnil",
        "00:00\t12\t40\tlimited to 12 by quiet hours from 22:00 to 06:30; 40 was asked for\tnil",
        "06:30\t35\t40\tlimited to 35 by its max_volume; 40 was asked for\tlimit",
      ])
  }

  @Test("why names the limit and the volume that was asked for")
  func why() throws {
    let lines = try printed("bedroom:set_volume(30) task.sleep(1) why 'Bedroom' os.exit()")
    #expect(
      lines.first == "Bedroom is at 12, limited to 12 by quiet hours from 22:00 to 06:30; 30 was asked for")
  }

  @Test("the beginning of quiet hours is the cause of the lower volume, their end that of the higher one")
  func hours() throws {
    let lines = try printed(
      """
      task.sleep '9h' bedroom:set_volume(30) task.sleep '13h' why 'Bedroom'
      task.sleep '8h30m1s' why 'Bedroom'
      os.exit()
      """)
    let latest = lines.indices.filter { lines[$0].hasPrefix("Bedroom is at ") }.map { lines[$0 + 1] }
    #expect(
      latest.map { $0.drop { $0.isNumber || ":- ".contains($0) } }
        == ["quiet hours from 22:00 to 06:30, by itself", "the end of its quiet hours, by itself"], "\(lines)"
    )
  }

  @Test("the volume that was asked for outlives any number of restarts", arguments: [false, true])
  func restarts(isMuted: Bool) throws {
    var harness = try EngineHarness()
    harness.configuration = Self.configuration
    harness.stateFolder = harness.folder.file("state")
    harness.store = harness.folder.file("store")
    func lines(_ code: String) throws -> [String] {
      let outcome = try harness.run("local bedroom = speaker.device 'Bedroom' \(code)")
      if let failure = outcome.failures.first { throw failure }
      return outcome.lines
    }
    let mute = isMuted ? "bedroom:mute()" : ""
    _ = try lines("bedroom:set_volume(30) task.sleep(1) \(mute) task.sleep(5) os.exit()")
    for _ in 0..<3 {
      #expect(
        try lines("print(bedroom.volume, bedroom.asked_volume, bedroom.muted) task.sleep(5) os.exit()")
          == ["12\t30\t\(isMuted)"])
    }
    #expect(
      try lines("bedroom:unmute() task.sleep '7h' print(bedroom.volume, bedroom.muted) os.exit()") == [
        "30\tfalse"
      ])
  }

  @Test("a volume that unmutes a speaker is not muted by a restart")
  func unmuted() throws {
    var harness = try EngineHarness()
    harness.configuration = Self.configuration
    harness.stateFolder = harness.folder.file("state")
    harness.store = harness.folder.file("store")
    _ = try harness.run(
      """
      local bedroom = speaker.device 'Bedroom'
      bedroom:mute() task.sleep(1) bedroom:set_volume(30) task.sleep(5) os.exit()
      """)
    let outcome = try harness.run(
      """
      local bedroom = speaker.device 'Bedroom'
      task.sleep(1) print(bedroom.volume, bedroom.asked_volume, bedroom.muted) os.exit()
      """)
    #expect(outcome.lines == ["12\t30\tfalse"])
  }

  @Test("a party that a limit keeps lower restores the volume from before")
  func party() throws {
    let lines = try printed(
      """
      bedroom:set_volume(8) task.sleep(1)
      local party = require 'party'.start { volume = 35 }
      task.sleep(1) print(bedroom.volume, bedroom.asked_volume)
      party:stop() task.sleep(1) print(bedroom.volume, bedroom.asked_volume) os.exit()
      """)
    #expect(lines == ["12\t35", "8\t8"])
  }

  @Test("an alarm keeps to the limit, unless it is to exceed it", arguments: [false, true])
  func alarm(overLimit: Bool) throws {
    let lines = try printed(
      """
      local alarm = require 'alarm'
      alarm.set { at = '05:00', rooms = 'Bedroom', sources = { 'long.wav' }, volume = 25, fade = 0, duration = '1m',
                  over_limit = \(overLimit) }
      task.sleep '5h10s' print(bedroom.volume, bedroom.asked_volume)
      task.sleep '2m' print(bedroom.volume, bedroom.asked_volume)
      task.sleep '2h' print(bedroom.volume, bedroom.asked_volume)
      os.exit()
      """)
    #expect(lines == [overLimit ? "25\t25" : "12\t25", "12\t20", "20\t20"])
  }

  @Test("a volume that somebody sets while an alarm exceeds the limit keeps to the limit")
  func othersDuringAlarm() throws {
    let lines = try printed(
      """
      local alarm = require 'alarm'
      alarm.set { at = '05:00', rooms = 'Bedroom', sources = { 'long.wav' }, volume = 25, fade = '1m', duration = '3m',
                  over_limit = true }
      task.sleep '5h1m10s' print(bedroom.volume, bedroom.asked_volume)
      bedroom:set_volume(40) task.sleep(1) print(bedroom.volume, bedroom.asked_volume)
      task.sleep '3m' print(bedroom.volume, bedroom.asked_volume)
      os.exit()
      """)
    #expect(lines == ["25\t25", "12\t40", "12\t40"])
  }

  @Test("a script can't exceed a limit by an option of an interruption")
  func noOption() throws {
    let outcome = try outcome("speaker.interrupt { devices = bedroom, over_limit = true, play = 'tone.wav' }")
    #expect(outcome.failures.first?.message.contains("over_limit") == true)
  }

  @Test(
    "limits that contradict each other are refused in words, with their line",
    arguments: [
      ("max_volume = 51", "option 'max_volume' of speakers[1]: 0 to 50 expected, got 51"),
      (
        "max_volume = 10, quiet = { from = '22:00', to = '06:30', max = 12 }",
        "option 'max' of quiet: 12 is above the speaker's max_volume, 10"
      ),
      (
        "quiet = { from = '22:00', to = '22:00', max = 12 }",
        "option 'to' of quiet: the quiet hours end when they begin, at 22:00"
      ),
      (
        "quiet = { from = '25:00', to = '22:00', max = 12 }",
        "option 'from' of quiet: \"25:00\" is not a time of day"
      ),
      (
        "quiet = { from = '22:00', to = '06:00' }",
        "option 'max' of quiet: the highest volume of the quiet hours is missing"
      ),
      ("quiet = { from = '22:00', untl = '06:00', max = 3 }", "no key is called 'untl'"),
      ("quiet = 3", "option 'quiet' of speakers[1]: table expected"),
    ])
  func contradictions(options: String, message: String) throws {
    for driver in [
      "driver = 'house'", "driver = 'snapcast'", "driver = 'hkwhub', url = 'http://127.0.0.1:1'",
    ] {
      let text = "\nhouse { \(driver), speakers = { { name = 'Bedroom', \(options) } } }"
      let error = #expect(throws: LuaError.self) {
        try Configuration(text: Array(text.utf8), path: "config.lua")
      }
      let shown = try #require(error).description
      #expect(shown.contains("config.lua:2:") && shown.contains(message), "\(shown)")
    }
  }

  @Test(
    "a second entry for a speaker is refused with its line, and with what to do",
    arguments: [
      ("driver = 'house'", "two speakers are called \"Bedroom\"", "give each speaker a name of its own"),
      (
        "driver = 'snapcast'", "two limits are for \"Bedroom\"", "write max_volume and quiet into one of them"
      ),
      (
        "driver = 'hkwhub', url = 'http://127.0.0.1:1'", "two limits are for \"Bedroom\"",
        "write max_volume and quiet into one of them"
      ),
    ])
  func twice(driver: String, message: String, hint: String) throws {
    let speakers = "{ { name = 'Bedroom', max_volume = 35 }, { name = 'Bedroom', max_volume = 12 } }"
    let text = "\nhouse { \(driver), speakers = \(speakers) }"
    let error = #expect(throws: LuaError.self) {
      try Configuration(text: Array(text.utf8), path: "config.lua")
    }
    let shown = try #require(error)
    #expect(
      shown.description.contains("config.lua:2:")
        && shown.description.contains("option 'name' of speakers[2]"))
    #expect(shown.description.contains(message) && shown.hint == hint, "\(shown)")
  }

  @Test("the speakers of a server have limits alone in the configuration")
  func servers() throws {
    let good = try Configuration(
      text: Array("house { driver = 'snapcast', speakers = { { name = 'Bedroom', max_volume = 35 } } }".utf8),
      path: "config.lua")
    #expect(good.driver.limits["Bedroom"]?.maximum == 35)
    for (options, message) in [("", "neither max_volume nor quiet"), (", role = 'left'", "'role'")] {
      let text = "house { driver = 'snapcast', speakers = { { name = 'Bedroom'\(options) } } }"
      let error = #expect(throws: LuaError.self) {
        try Configuration(text: Array(text.utf8), path: "config.lua")
      }
      #expect(try #require(error).description.contains(message))
    }
  }
}
