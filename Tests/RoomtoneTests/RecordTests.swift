import Glibc
import LuaRuntime
import Roomtone
import TestSupport
import TestTraits
import Testing

@Suite("radio:record", .waiting, .tags(.stream, .recording))
struct RecordTests {
  private static let url = "http://radio.example/show.mp3"

  /// A harness whose station plays 20 s at 128 kbit/s over and over, with further `fields`.
  private func harness(_ fields: String = "") throws -> EngineHarness {
    var harness = try EngineHarness()
    harness.stations =
      "station('\(Self.url)', { file = '\(Fixtures.path("mp3-cbr128-44k.mp3"))', name = 'Show FM', \(fields) })"
    return harness
  }

  private func printed(_ fields: String, _ code: String) throws -> [String] {
    try harness(fields).printed(
      "local stream, recordings = require 'stream', require 'recordings' local radio = stream.new '\(Self.url)' "
        + code)
  }

  @Test("an hour at night is one file with its station, time, length and row")
  func hour() throws {
    let lines = try printed(
      "titles = { { at = 0, title = 'Miles - Blue' }, { at = 1200, title = 'Bill - Green' } }",
      """
      schedule.at("22:00", function()
        local recording = radio:record("{station}/{start:%Y-%m-%d %H.%M} {artist} - {title}.{ext}", { duration = "1h", job = "night" })
        print(radio.status, radio.is_playing, recording.state, recording.seconds > 0)
        local event = recording:wait "recording_finished"
        print(event.recording == recording, event.path == recording.path, event.seconds >= 3600, event.seconds < 3600.1)
        print(recording.path:match "recordings/(.*)", recording.title, recording.state)
        local list = recordings.list { job = "night" }
        print(#list, list[1].path == event.path, list[1].bytes == event.bytes, list[1].station, os.date("%H:%M", list[1].start // 1))
        for _, title in ipairs(list[1].titles) do print(title.title, math.abs(title.at - 1200) < 15) end
        local verdict = recordings.verify(event.path)
        print(verdict.good, verdict.whole, verdict.known, #verdict.differences)
        print(recordings.forget(event.path), recordings.forget(event.path), #recordings.list(), io.open(event.path) ~= nil)
      end)
      """)
    #expect(
      lines == [
        "stopped\tfalse\trecording\ttrue", "true\ttrue\ttrue\ttrue",
        "Show FM/2026-01-05 22.00 Miles - Blue.mp3\tBill - Green\tfinished", "1\ttrue\ttrue\tShow FM\t22:00",
        "Miles - Blue\tfalse", "Bill - Green\ttrue", "true\ttrue\ttrue\t0", "true\tfalse\t0\ttrue",
      ])
  }

  @Test("split makes a file of each title, reported by track, and a cue sheet")
  func split() throws {
    let lines = try printed(
      "titles = { { at = 0, title = 'One' }, { at = 60, title = 'Two' }, { at = 120, title = 'Three' } }",
      """
      radio:on("track", function(e) print("track", e.path:match "[^/]*$", e.title) end)
      local recording = radio:record("{title}.{ext}", { split = true, duration = "3m" })
      recording:wait "recording_finished"
      for _, name in ipairs { "One (incomplete)", "Two", "Three (incomplete)" } do
        local verdict = recordings.verify((recording.path:gsub("[^/]*$", name .. ".mp3")))
        print(name, verdict.good, verdict.seconds > 45)
      end
      print(io.open((recording.path:gsub("[^/]*$", "One.cue"))):read "a":match 'TRACK 03 AUDIO%s+TITLE "(.-)"')
      """)
    #expect(
      lines == [
        "track\tOne (incomplete).mp3\tOne", "track\tTwo.mp3\tTwo", "track\tThree.mp3\tThree",
        "One (incomplete)\ttrue\ttrue", "Two\ttrue\ttrue", "Three (incomplete)\ttrue\ttrue", "Three",
      ])
  }

  @Test("it ends at a moment, with the script, with stop, and when the URL changes")
  func ends() throws {
    let lines = try printed(
      "",
      """
      local first = radio:record("until.mp3", { ["until"] = "00:10", pad_after = "1m" })
      first:wait "recording_finished"
      print(os.date "%H:%M", first.state)
      local second = radio:record "stop.mp3"
      task.sleep "1m"
      second:stop()
      print(second.state, second.seconds > 60)
      second:stop()
      radio:start()
      local third = radio:record "url.mp3"
      task.spawn(function() task.sleep(5) radio:set_url "http://other.example/" end)
      print(third:wait "recording_finished" ~= nil, third.state, radio.status)
      local fourth = radio:record "script.mp3"
      task.sleep "1m"
      radio:stop()
      os.exit(0)
      """)
    #expect(lines == ["00:11\tfinished", "finished\ttrue", "true\tfinished\tplaying"])
  }

  @Test("a recording that is refused raises at the caller's line with the reason")
  func refusals() throws {
    let lines = try printed(
      "status = 404",
      """
      print(code(radio.record, radio, "a.mp3"))
      print(message(radio.record, radio, "{titel}.mp3"))
      print(message(radio.record, radio, "a", { duration = 1, ["until"] = "20:00" }))
      print(message(radio.record, radio, "a", { duration = 0 }))
      print(message(radio.record, radio, "a", { split = { offset = 99 } }))
      print(message(radio.record, radio, "a", { min_free = "lots" }))
      print(message(radio.record, radio, "a", { format = "ogg" }))
      print(#recordings.list())
      """)
    #expect(lines.first == "stream.not_found" && lines.last == "0")
    #expect(lines[1].contains("titel") && lines[2].contains("'until'") && lines[3].contains("'duration'"))
    #expect(lines[4].contains("'offset'") && lines[5].contains("'min_free'") && lines[6].contains("'format'"))
  }

  @Test("a catalogue that can't be opened, or is not there, is an error of each function that uses it")
  func noCatalogue() throws {
    for (hasCatalogue, code) in [(true, "database.unavailable"), (false, "record.write")] {
      var harness = try harness()
      harness.hasCatalogue = hasCatalogue
      #expect(mkdir(harness.folder.file("catalogue.sqlite"), 0o755) == 0)
      let lines = try harness.printed(
        """
        local recordings = require "recordings"
        print(code(recordings.list), code(recordings.verify, "tone.wav"), code(recordings.repair))
        print(code(recordings.forget, "tone.wav"), code(recordings.expire, { keep = "1h" }))
        """)
      #expect(lines == ["\(code)\t\(code)\t\(code)", "\(code)\t\(code)"])
    }
  }
}
