import TestSupport
import TestTraits
import Testing

@Suite("simulate: the time line", .waiting, .tags(.simulation, .history))
struct TimelineTests {
  /// Returns the lines of a script without failures: `05 00:00:05 Kitchen: volume 22 → 30`.
  private func lines(_ code: String, stations: String? = nil) throws -> [String] {
    try TimelineHarness(code, stations: stations).linesWithoutFailures()
  }

  @Test("an announcement that is spoken to its end has ended, and one that is cut off is stopped")
  func announcements() throws {
    let lines = try lines(
      """
      local announce, task = require "announce", require "task"
      announce.say { "Supper is ready", rooms = "Kitchen" }
      local saying = task.spawn(announce.say, { ("A long story "):rep(20), rooms = "Kitchen" })
      task.sleep(3)
      saying:cancel()
      """)
    #expect(lines.contains { $0.hasSuffix("■ Supper is ready has ended") }, "\(lines)")
    #expect(lines.contains { $0.contains("■ A long story") && $0.hasSuffix("is stopped") }, "\(lines)")
  }

  @Test("speakers of a room that do the same are one line, those that differ have one each")
  func rooms() throws {
    let lines = try lines(
      """
      speaker.open { add_all = false }
      local left, right = speaker.device "Bedroom Left", speaker.device "Bedroom Right"
      speaker.group "Bedroom":set_volume(20)
      task.sleep "10s"
      left:set_volume(30)
      task.sleep "10s"
      speaker.group "Bedroom":fade { to = 10, over = "5s" }
      task.sleep "10s"
      left:mute()
      task.sleep "10s"
      left:join()
      speaker.play("long.wav")
      task.sleep "1s"
      right:join()
      task.sleep "1s"
      right:leave()
      """)
    #expect(
      lines == [
        "05 00:00 Bedroom: volume 18 → 20", "05 00:00:10 Bedroom Left: volume 20 → 30",
        "05 00:00:20 Bedroom Left: volume 30 → 10 over 5 s",
        "05 00:00:20 Bedroom Right: volume 20 → 10 over 5 s", "05 00:00:35 Bedroom Left: muted",
        "05 00:00:45 Bedroom Left: ▶ long.wav muted", "05 00:00:46 Bedroom Right: joins long.wav",
        "05 00:00:47 Bedroom Right: leaves its session", "05 00:00:55 Bedroom Left: ■ long.wav has ended",
      ])
  }

  @Test("an announcement in several rooms is its beginning and its end, without leaves and joins")
  func announcement() throws {
    let lines = try lines(
      """
      speaker.open { add_all = true }
      speaker.play("long.wav", { loop = true })
      task.sleep "10s"
      require "announce".play { "tone.wav", rooms = { "Kitchen", "Bedroom" }, fade = 0 }
      task.sleep "10s"
      """)
    let rooms = "Kitchen, Bedroom"
    #expect(
      lines.filter { !$0.contains("long.wav") } == [
        "05 00:00:10 \(rooms): tone.wav", "05 00:00:10 \(rooms): announcement begins",
        "05 00:00:10 \(rooms): ▶ tone.wav at volume 18 to 22", "05 00:00:13 \(rooms): ■ tone.wav has ended",
        "05 00:00:13 \(rooms): announcement ends",
      ], "\(lines)")
    #expect(!lines.contains { $0.contains("leaves") || $0.contains("joins") })
  }

  @Test("the rounds of a looped queue are one line, until something else happens")
  func rounds() throws {
    let lines = try lines(
      """
      speaker.open { add_all = false }
      local kitchen = speaker.device "Kitchen"
      kitchen:join()
      speaker.play({ "tone.wav", "long.wav" }, { loop = true })
      task.sleep "60s"
      kitchen:set_volume(9)
      task.sleep "20s"
      speaker.stop()
      """)
    #expect(
      lines == [
        "05 00:00 Kitchen: ▶ tone.wav at volume 22", "05 00:00:03 Kitchen: ♪ long.wav, 2 of 2",
        "05 00:00:13 Kitchen: ♪ tone.wav, 1 of 2, from the beginning again 4 times, the last at 2026-01-05 00:00:52",
        "05 00:01 Kitchen: volume 22 → 9",
        "05 00:01:05 Kitchen: ♪ tone.wav, 1 of 2, from the beginning again 2 times, the last at 2026-01-05 00:01:18",
        "05 00:01:20 Kitchen: ■ tone.wav is stopped",
      ], "\(lines)")
  }

  @Test("the rounds of a session are not those of another one with its name")
  func namesakes() throws {
    let lines = try lines(
      """
      speaker.open { add_all = false }
      local one = speaker.session { name = "same", devices = "Kitchen" }
      local two = speaker.session { name = "same", devices = "Bathroom" }
      one:play({ "tone.wav", "tone.wav" }, { loop = true })
      two:play { "long.wav", "tone.wav" }
      task.sleep "12s"
      """)
    #expect(lines.contains { $0.hasPrefix("05 00:00:06 Kitchen: ♪ tone.wav, 1 of 2") }, "\(lines)")
    #expect(lines.contains("05 00:00:10 Bathroom: ♪ tone.wav, 2 of 2"), "\(lines)")
  }

  @Test("a muted speaker rises from silence, and changes that turn round are two lines")
  func turns() throws {
    let lines = try lines(
      """
      local kitchen = speaker.device "Kitchen"
      kitchen:mute()
      task.sleep "10s"
      kitchen:fade { to = 10, over = "5s" }
      kitchen:fade { to = 5, over = "5s" }
      kitchen:mute()
      kitchen:unmute()
      """)
    #expect(
      lines == [
        "05 00:00 Kitchen: muted", "05 00:00:10 Kitchen: volume 0 → 10 over 5 s",
        "05 00:00:15 Kitchen: volume 10 → 5 over 5 s", "05 00:00:20 Kitchen: muted",
        "05 00:00:20 Kitchen: unmuted at 5",
      ])
  }

  @Test("gains, fades of the gain, equalizers and seeks are shown at their times")
  func sound() throws {
    let lines = try lines(
      """
      speaker.open { add_all = false }
      speaker.device "Kitchen":join()
      speaker.set_gain(-6)
      speaker.set_eq "rock"
      speaker.play "long.wav"
      speaker.seek(5)
      speaker.fade { gain = -20.5, over = "2s" }
      speaker.set_eq { [31] = 3, [1000] = -2.5 }
      speaker.set_eq "flat"
      speaker.stop()
      """)
    #expect(
      lines == [
        "05 00:00 Kitchen: gain -6 dB", "05 00:00 Kitchen: equalizer rock",
        "05 00:00 Kitchen: ▶ long.wav at volume 22", "05 00:00 Kitchen: seeks to 0:05",
        "05 00:00 Kitchen: gain -6 → -20.5 dB over 2 s",
        "05 00:00:02 Kitchen: equalizer 31 Hz +3 dB, 1000 Hz -2.5 dB", "05 00:00:02 Kitchen: equalizer flat",
        "05 00:00:02 Kitchen: ■ long.wav is stopped",
      ])
  }

  @Test("a resume and a pause are shown with the source that they concern, whatever plays a moment later")
  func sourceOfState() throws {
    let lines = try lines(
      """
      speaker.open { add_all = false }
      speaker.device "Kitchen":join()
      speaker.play "long.wav"
      speaker.pause() speaker.resume() speaker.stop()
      speaker.play "tone.wav"
      speaker.pause() speaker.stop()
      task.sleep(1)
      """)
    #expect(
      lines.map { $0.drop { !"▶⏸■".contains($0) } }.filter { !$0.isEmpty }.map(String.init) == [
        "▶ long.wav at volume 22", "⏸ paused", "▶ long.wav at volume 22", "■ long.wav is stopped",
        "▶ tone.wav at volume 22", "⏸ paused", "■ tone.wav is stopped",
      ], "\(lines)")
  }

  @Test("a stream's own gain, and its moves back, on and to the newest sound, are lines")
  func streamSound() throws {
    let url = "http://radio.test/live.mp3"
    let lines = try lines(
      """
      local radio = require 'stream'.new('\(url)', { buffer_wait = 1 })
      speaker.open { add_all = false }
      speaker.device "Kitchen":join()
      speaker.play_stream(radio)
      task.sleep "60s"
      radio:set_gain(-6.5)
      radio:rewind(20)
      radio:forward(5)
      radio:go_live()
      task.sleep "1s"
      os.exit(0)
      """, stations: "station('\(url)', { file = '\(Fixtures.path("mp3-cbr128-44k.mp3"))' })")
    #expect(
      lines.filter { $0.hasPrefix("05 00:01") } == [
        "05 00:01 Kitchen: the stream's gain -6.5 dB", "05 00:01 Kitchen: moves back 20 s",
        "05 00:01 Kitchen: moves forward 5 s", "05 00:01 Kitchen: moves forward 18.1 s",
      ], "\(lines)")
  }

  @Test("the last command of a script is shown, though it takes effect a moment later")
  func lastCall() throws {
    let lines = try lines(
      """
      speaker.open { add_all = true }
      speaker.device "Kitchen":set_volume(31)
      """)
    #expect(lines == ["05 00:00 Kitchen: volume 22 → 31"])
  }

  @Test("an unreachable station is reported each day, of the attempts of one outage the first")
  func outages() throws {
    let lines = try lines(
      """
      local days = 0
      schedule.at("06:45", { name = "alarm", days = "mon-sun" }, function(job)
        days = days + 1
        task.try(speaker.play_stream, "http://127.0.0.1:1/gone.mp3")
        if days == 3 then os.exit(0) end
      end)
      """,
      stations:
        "station('http://127.0.0.1:1/gone.mp3', { file = '\(Fixtures.path("mp3-cbr128-44k.mp3"))', status = 404 })"
    )
    let outages = lines.filter { $0.contains("!") }
    #expect(outages.count == 3, "\(lines)")
    for (day, line) in zip(["05", "06", "07"], outages) {
      #expect(line.hasPrefix("\(day) 06:45 ") && line.hasSuffix("(stream.not_found)"), "\(line)")
    }
  }

  @Test("a run of a job is a line, runs with nothing between them are one")
  func jobs() throws {
    let lines = try lines(
      """
      schedule.every("1h", { name = "poll", align = true }, function() task.sleep "1s" end)
      schedule.at("06:45", { name = "alarm" }, function()
        speaker.device "Kitchen":set_volume(10)
        task.sleep "1s"
      end)
      task.sleep "8h30m"
      os.exit(0)
      """)
    #expect(
      lines == [
        "05 01:00 : job \"poll\" runs 6 times, the last at 2026-01-05 06:00",
        "05 06:45 : job \"alarm\" runs", "05 06:45 Kitchen: volume 22 → 10",
        "05 07:00 : job \"poll\" runs 2 times, the last at 2026-01-05 08:00",
        "05 08:30 : job \"poll\": 8 runs", "05 08:30 : job \"alarm\": 1 run",
        "05 08:30 : 9 runs, 0 failures, 0 warnings",
      ])
  }
}
