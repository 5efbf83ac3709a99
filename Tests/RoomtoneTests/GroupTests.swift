import LuaRuntime
import TestTraits
import Testing

@Suite("speaker: groups", .waiting, .tags(.speaker, .groups))
struct GroupTests {

  @Test("a group publishes volume and device of its speakers, also of one that leaves it, and of no other")
  func devices() throws {
    let lines = try EngineHarness.printed(
      """
      local bedroom, right, kitchen = speaker.group "Bedroom", speaker.device "Bedroom Right", speaker.device "Kitchen"
      bedroom:on("volume", function(e) print("volume", e.device.name, e.volume) end)
      bedroom:on("device", function(e) print("device", e.device.name, e.reason) end)
      kitchen:set_volume(7)
      right:set_volume(8)
      task.sleep(0.1)
      kitchen:set_group "Bedroom"
      task.sleep(0.1)
      kitchen:set_volume(9)
      right:leave_group()
      task.sleep(0.1)
      right:set_volume(10)
      task.sleep(0.1)
      print(bedroom:wait("volume", "1s"))
      task.spawn(function() kitchen:set_volume(11) end)
      print(bedroom:wait("volume", "1s").device.name)
      """)
    #expect(
      lines == [
        "volume\tBedroom Right\t8", "device\tKitchen\tregrouped", "volume\tKitchen\t9",
        "device\tBedroom Right\tregrouped", "nil\ttimeout", "volume\tKitchen\t11", "Kitchen",
      ])
  }

  @Test("a group publishes state, time and ended of the sessions its speakers are in, each event once")
  func sessions() throws {
    let lines = try EngineHarness.printed(
      """
      local bedroom = speaker.group "Bedroom"
      local bath = speaker.session { name = "bath", devices = { "Bathroom" } }
      bedroom:on("state", function(e) print("state", e.state, e.session.name) end)
      bedroom:on("time", function(e) print("time", e.elapsed, e.session.name) end)
      bedroom:on("ended", function(e) print("ended", e.reason, e.session.name) end)
      bedroom:once("time", function() print "once" end)
      bath:play("tone.wav")
      speaker.play("tone.wav")
      speaker.finish()
      task.sleep(1)
      local mine = speaker.session { name = "mine", devices = { "Bedroom Left" } }
      mine:play("tone.wav", { start = 2.5 })
      mine:finish()
      task.sleep(0.1)
      """)
    #expect(
      lines == [
        "state\tplaying\ttest", "time\t1\ttest", "once", "time\t2\ttest", "time\t3\ttest",
        "state\tstopped\ttest", "ended\tfinished\ttest", "state\tplaying\tmine", "time\t3\tmine",
        "state\tstopped\tmine", "ended\tfinished\tmine",
      ])
  }
}
