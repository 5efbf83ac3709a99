import Home
import JSONText
import Roomtone
import TestSupport
import TestTraits
import Testing

@Suite("simulate: volumes and gains on the time line", .waiting, .tags(.simulation, .volume))
struct TimelineVolumeTests {
  /// Returns the lines of a script without failures: `05 00:00:05 Kitchen: volume 22 → 30`.
  private func lines(_ code: String) throws -> [String] {
    try TimelineHarness("local kitchen = speaker.device 'Kitchen' \(code)").linesWithoutFailures()
  }

  @Test(
    "a fade has the moment and the length of its call, however few its steps, whoever makes it",
    arguments: [
      ("kitchen:fade { to = 23, over = '5m' } task.sleep '1s'", "22 → 23 over 5 min"),
      ("fade.volume { kitchen, to = 23, over = '5m' } task.sleep '6m'", "22 → 23 over 5 min"),
      ("kitchen:fade { to = 20, over = 0.5 }", "22 → 20 over 0.5 s"),
      (
        "fade.volume { kitchen, to = 30, over = '2h', curve = 'equal_power' } task.sleep '3h'",
        "22 → 30 over 2 h"
      ),
    ])
  func calls(_ code: String, _ text: String) throws {
    #expect(try lines("task.sleep '10s' \(code)") == ["05 00:00:10 Kitchen: volume \(text)"])
  }

  @Test("a change and a fade right behind it are two lines")
  func changeAndFade() throws {
    let lines = try lines(
      "kitchen:set_volume(5) kitchen:fade { to = 15, over = '10s' } kitchen:set_volume(16)")
    #expect(
      lines == [
        "05 00:00 Kitchen: volume 22 → 5", "05 00:00 Kitchen: volume 5 → 15 over 10 s",
        "05 00:00:10 Kitchen: volume 15 → 16",
      ])
  }

  @Test(
    "what changes nothing is no line: the same volume, the same mute, a fade to it, one that is replaced at once"
  )
  func nothing() throws {
    let lines = try lines(
      """
      kitchen:set_volume(22)
      kitchen:unmute()
      kitchen:fade { to = 22, over = "5s" }
      fade.volume { kitchen, to = 40, over = "5s" }
      kitchen:set_volume(22)
      kitchen:mute()
      kitchen:mute()
      """)
    #expect(lines == ["05 00:00 Kitchen: muted"])
  }

  @Test(
    "a fade that another command ends is a line to the volume that it reached",
    arguments: ["kitchen:fade { to = 32, over = '10s' }", "fade.volume { kitchen, to = 32, over = '10s' }"])
  func interrupted(_ fade: String) throws {
    let begin = "speaker.open() task.spawn(function() \(fade) end) task.sleep(3.5)"
    let rise = "05 00:00 Kitchen: volume 22 → 25 over 3.5 s"
    #expect(
      try lines("\(begin) kitchen:set_volume(40)") == [rise, "05 00:00:03 Kitchen: volume 25 → 40"])
    #expect(
      try lines("\(begin) kitchen:fade { to = 15, over = '5s' }") == [
        rise, "05 00:00:03 Kitchen: volume 25 → 15 over 5 s",
      ])
    #expect(
      try lines("\(begin) local new = fade.volume { kitchen, to = 15, over = '5s' } new:wait 'done'") == [
        rise, "05 00:00:03 Kitchen: volume 25 → 15 over 5 s",
      ])
    #expect(
      try lines("\(begin) kitchen:mute() task.sleep '20s'") == [rise, "05 00:00:03 Kitchen: muted"])
    let unplugged = try lines("\(begin) speaker.house():unplug(kitchen) task.sleep(0.1) os.exit(0)")
    #expect(unplugged == [rise, "05 00:00:03 Kitchen: can't be reached"])
  }

  @Test("a fade that is cancelled, or whose script ends, is a line to the volume that it reached")
  func cancelled() throws {
    let rise = "05 00:00 Kitchen: volume 22 → 25 over 3.5 s"
    #expect(
      try lines("local one = fade.volume { kitchen, to = 32, over = '10s' } task.sleep(3.5) one:cancel()")
        == [rise])
    #expect(
      try lines(
        "local one = task.spawn(function() kitchen:fade { to = 32, over = '10s' } end) task.sleep(3.5) one:cancel()"
      ) == [rise])
    #expect(
      try lines("fade.volume { kitchen, to = 32, over = '10s' } task.sleep(3.5) os.exit(0)").first == rise)
  }

  @Test("speakers of a room that differ in volume have a line each, until they do the same")
  func differences() throws {
    let lines = try lines(
      """
      local left, right = speaker.device "Bedroom Left", speaker.device "Bedroom Right"
      left:set_volume(30)
      speaker.group "Bedroom":fade { to = 29, over = "10s" }
      speaker.group "Bedroom":fade { to = 10, over = "10s" }
      task.spawn(function() speaker.group "Bedroom":fade { to = 20, over = "10s" } end)
      task.sleep(5.5)
      right:set_volume(5)
      task.sleep "10s"
      """)
    #expect(
      lines == [
        "05 00:00 Bedroom Left: volume 18 → 30", "05 00:00 Bedroom Left: volume 30 → 29 over 10 s",
        "05 00:00 Bedroom Right: volume 18 → 29 over 10 s", "05 00:00:10 Bedroom: volume 29 → 10 over 10 s",
        "05 00:00:20 Bedroom Left: volume 10 → 20 over 10 s",
        "05 00:00:20 Bedroom Right: volume 10 → 15 over 5.5 s",
        "05 00:00:25 Bedroom Right: volume 15 → 5",
      ])
  }

  @Test("an interruption in the middle of a fade is a line of its own, and so is what is left of the fade")
  func interruption() throws {
    let lines = try lines(
      """
      fade.volume { kitchen, to = 42, over = "20s" }
      task.sleep(5.5)
      speaker.interrupt { devices = { kitchen }, play = "tone.wav", volume = 40 }
      task.sleep "20s"
      """)
    #expect(
      lines.filter { $0.contains("volume") && !$0.contains("▶") } == [
        "05 00:00 Kitchen: volume 22 → 27 over 5.5 s", "05 00:00:05 Kitchen: volume 27 → 40",
        "05 00:00:08 Kitchen: volume 40 → 27", "05 00:00:08 Kitchen: volume 27 → 42 over 11.5 s",
      ], "\(lines)")
  }

  @Test("small changes one after the other are one line that counts them; large ones have a line each")
  func steps() throws {
    let harness = try TimelineHarness(
      """
      local kitchen = speaker.device "Kitchen"
      for _, volume in ipairs { 25, 30, 35 } do kitchen:set_volume(volume) task.sleep "1m" end
      for volume = 36, 39 do speaker.device "Kitchen":set_volume(volume) task.sleep "10s" end
      task.sleep "5m"
      kitchen:set_volume(40)
      for volume = 17, 10, -1 do task.sleep "1s" speaker.group "Bedroom":set_volume(volume) end
      """)
    #expect(
      try harness.linesWithoutFailures() == [
        "05 00:00 Kitchen: volume 22 → 25", "05 00:01 Kitchen: volume 25 → 30",
        "05 00:02 Kitchen: volume 30 → 35", "05 00:03 Kitchen: volume 35 → 39 in 4 steps over 30 s",
        "05 00:08:40 Kitchen: volume 39 → 40", "05 00:08:41 Bedroom: volume 18 → 10 in 8 steps over 7 s",
      ])
    let steps = harness.entries[3]
    #expect(steps.from == .number(35) && steps.to == .number(39) && steps.fact("steps")?.int == 4)
    #expect(steps.fact("over")?.line == "30.0")
  }

  @Test("a fade of the gain has its length; one that ends early the gain and the time that it reached")
  func gains() throws {
    let play = "speaker.open { add_all = false } speaker.device 'Kitchen':join() speaker.play 'long.wav'"
    func gains(_ code: String) throws -> [String] {
      try TimelineHarness("\(play) \(code)").linesWithoutFailures().filter { $0.contains("gain") }.map {
        String($0.dropFirst("05 00:00".count))
      }
    }
    let fade =
      "local function fade(to) task.spawn(speaker.fade, { gain = to, over = '4s' }) task.sleep '1s' end"
    #expect(
      try gains("\(fade) fade(-8) speaker.set_gain(-6) task.sleep '5s'") == [
        " Kitchen: gain 0 → -2 dB over 1 s", ":01 Kitchen: gain -6 dB",
      ])
    #expect(
      try gains("\(fade) fade(-8) fade(6) task.sleep '5s'") == [
        " Kitchen: gain 0 → -2 dB over 1 s", ":01 Kitchen: gain -2 → 6 dB over 4 s",
      ])
    #expect(
      try gains("\(fade) fade(-8) speaker.pause() task.sleep '1s' speaker.resume() task.sleep '5s'") == [
        " Kitchen: gain 0 → -8 dB over 4 s"
      ])
    #expect(try gains("\(fade) fade(-8) speaker.stop()") == [" Kitchen: gain 0 → -8 dB over 1 s"])
    #expect(try gains("speaker.stop() speaker.fade { gain = -8, over = '4s' }") == [" Kitchen: gain -8 dB"])
    #expect(try gains("speaker.set_gain(-8) speaker.set_gain(-8)") == [" Kitchen: gain -8 dB"])
  }
}
