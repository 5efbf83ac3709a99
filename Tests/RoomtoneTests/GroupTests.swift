import LuaRuntime
import TestTraits
import Testing

@Suite("speaker: groups", .waiting, .tags(.speaker, .groups))
struct GroupTests {

  @Test("a group without members does not exist; the same group again changes and publishes nothing")
  func empty() throws {
    let lines = try EngineHarness.printed(
      """
      speaker.open { add_all = false }
      local kitchen, group = speaker.device "Kitchen", speaker.group "Kitchen"
      speaker.on("device", function(e) print(e.device.name, e.reason) end)
      kitchen:set_group "Kitchen"
      task.sleep(0.1)
      kitchen:leave_group()
      kitchen:leave_group()
      task.sleep(0.1)
      print(group.id, #group.devices, group.active, group, kitchen.group, kitchen.group_name)
      print(names(speaker.groups()), code(speaker.group, "Kitchen"), code(speaker.group, "harman"))
      kitchen:set_group "Kitchen"
      print(group.id == kitchen.id, kitchen.group == group)
      """)
    #expect(
      lines.filter { $0 != "Kitchen\tregrouped" } == [
        "nil\t0\tfalse\tgroup \"Kitchen\" (0 speakers)\tnil\tharman",
        "Living Room, Bedroom, Bathroom\tspeaker.unknown\tspeaker.unknown", "true\ttrue",
      ])
    #expect(lines.count { $0 == "Kitchen\tregrouped" } <= 2)
    #expect(lines.first == "Kitchen\tregrouped", "leave_group is told, and setting the same group was not")
  }

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
        "state\tplaying\tdefault", "time\t1\tdefault", "once", "time\t2\tdefault", "time\t3\tdefault",
        "state\tstopped\tdefault", "ended\tfinished\tdefault", "state\tplaying\tmine", "time\t3\tmine",
        "state\tstopped\tmine", "ended\tfinished\tmine",
      ])
  }

  @Test("renaming or regrouping stops what plays, with an error event that names speaker and session")
  func whilePlaying() throws {
    let lines = try EngineHarness.printed(
      """
      speaker.on("error", function(e) print(e.code, e.device.name, e.session.name) end)
      local bath = speaker.session { devices = { "Bathroom" } }
      bath:play "long.wav"
      for _, edit in ipairs { function(d) d:set_group "Attic" end, function(d) d:leave_group() end } do
        speaker.play "long.wav"
        edit(speaker.device "Kitchen")
        task.sleep(0.1)
        print(speaker.state(), bath:state(), speaker.device "Kitchen".group_name)
      end
      """)
    #expect(
      lines == [
        "speaker.renamed_while_playing\tKitchen\tdefault", "stopped\tplaying\tAttic",
        "speaker.renamed_while_playing\tKitchen\tdefault", "stopped\tplaying\tharman",
      ])
  }
}
