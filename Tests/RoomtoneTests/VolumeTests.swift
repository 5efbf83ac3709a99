import LuaRuntime
import TestTraits
import Testing

@Suite("speaker: volume and mute", .waiting)
struct VolumeTests {
  @Test("a device's level takes effect a moment later; its event has device, level, mute and average")
  func device() throws {
    let lines = try EngineHarness.printed(
      """
      local kitchen = speaker.device "Kitchen"
      kitchen:set_volume(40)
      print(kitchen.volume)
      local event = kitchen:wait "volume"
      print(event.device == kitchen, event.volume, event.muted, event.average, kitchen.volume)
      """)
    // (25 + 25 + 40 + 18 + 18 + 20) / 6 = 24.33
    #expect(lines == ["22", "true\t40\tfalse\t24\t40"])
  }

  @Test("the house's level sets every speaker, one event each; the average is rounded")
  func house() throws {
    let lines = try EngineHarness.printed(
      """
      speaker.open { add_all = false }
      print(speaker.volume())
      local reported = 0
      speaker.on("volume", function(event) reported = reported + 1 end)
      speaker.set_volume(30)
      task.sleep "1s"
      print(reported, speaker.volume(), speaker.device "Bathroom".volume)
      speaker.device "Kitchen":set_volume(33)
      task.sleep "1s"
      print(speaker.volume())
      """)
    // (25 + 25 + 22 + 18 + 18 + 20) / 6 = 21.33; (5 · 30 + 33) / 6 = 30.5
    #expect(lines == ["21", "6\t30\t30", "31"])
  }

  @Test("a level that a speaker has already, and a mute again, change nothing and have no event")
  func unchanged() throws {
    let lines = try EngineHarness.printed(
      """
      local kitchen, reported = speaker.device "Kitchen", 0
      speaker.on("volume", function(event) reported = reported + 1 end)
      local function count(f, ...) reported = 0 f(...) task.sleep "1s" return reported end
      print(count(speaker.set_volume, 20), count(speaker.set_volume, 20), count(kitchen.set_volume, kitchen, 20))
      print(count(kitchen.mute, kitchen), count(kitchen.mute, kitchen), count(kitchen.set_volume, kitchen, 20))
      """)
    // The Bathroom is at 20.
    #expect(lines == ["5\t0\t0", "1\t0\t1"])
  }

  @Test("a session's level is that of its members and leaves the others alone")
  func session() throws {
    let lines = try EngineHarness.printed(
      """
      speaker.open { add_all = false }
      local session, kitchen, bath = speaker.default_session(), speaker.device "Kitchen", speaker.device "Bathroom"
      kitchen:join()
      session:set_volume(44)
      task.sleep "1s"
      print(session:volume(), kitchen.volume, bath.volume)
      session:mute()
      task.sleep "1s"
      print(session:is_muted(), session:volume(), kitchen.muted, kitchen.volume, bath.muted, speaker.is_muted())
      session:unmute()
      task.sleep "1s"
      print(session:is_muted(), session:volume())
      """)
    #expect(lines == ["44\t44\t20", "true\t0\ttrue\t44\tfalse\ttrue", "false\t44"])
  }

  @Test("muted, a speaker keeps its level and counts as 0; unmute restores it, and a new level replaces it")
  func mute() throws {
    let lines = try EngineHarness.printed(
      """
      local kitchen = speaker.device "Kitchen"
      speaker.on("volume", function(e) if e.device == kitchen then print("reported", e.volume, e.muted) end end)
      kitchen:mute()
      task.sleep "1s"
      print(kitchen.muted, kitchen.volume, speaker.volume(), speaker.is_muted(), kitchen)
      kitchen:unmute()
      task.sleep "1s"
      print(kitchen.muted, kitchen.volume)
      speaker.mute()
      task.sleep "1s"
      print(speaker.is_muted(), speaker.volume())
      kitchen:set_volume(12)
      task.sleep "1s"
      print(speaker.is_muted(), kitchen.muted, kitchen.volume, speaker.volume())
      speaker.unmute()
      task.sleep "1s"
      print(speaker.is_muted(), speaker.device "Bathroom".volume)
      """)
    #expect(
      lines == [
        "reported\t22\ttrue", "true\t22\t18\tfalse\tspeaker \"Kitchen\" (volume 22, muted, active)",
        "reported\t22\tfalse", "false\t22",
        "reported\t22\ttrue", "true\t0",
        "reported\t12\tfalse", "false\tfalse\t12\t2",
        "false\t20",
      ])
  }

  @Test(
    "a level that is none raises at the script's line and changes nothing",
    arguments: [
      ("51", "0 to 50 expected, got 51"), ("-1", "0 to 50 expected, got -1"),
      ("2.5", "whole number expected, got 2.5"),
      ("'20'", "number expected, got string"), ("", "number expected, got no value"),
    ])
  func misuse(_ argument: String, _ problem: String) throws {
    let lines = try EngineHarness.printed(
      """
      local kitchen, session = speaker.device "Kitchen", speaker.default_session()
      print(failure(function() kitchen:set_volume(\(argument)) end))
      print(failure(function() session:set_volume(\(argument)) end))
      print(failure(function() speaker.set_volume(\(argument)) end))
      task.sleep "1s"
      print(kitchen.volume)
      """)
    let expected = [2, 3, 4].map { "test.lua:\($0): bad argument #1 to 'set_volume' (\(problem))" }
    #expect(lines == expected + ["22"])
  }
}
