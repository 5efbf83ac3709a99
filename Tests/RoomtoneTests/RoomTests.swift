import LuaRuntime
import TestTraits
import Testing

@Suite("speaker: rooms are targets as speakers are", .waiting, .tags(.speaker, .groups))
struct RoomTests {
  @Test("a group plays in the rooms that are free: a session of higher priority keeps its speaker")
  func outranked() throws {
    let lines = try EngineHarness.printed(
      """
      speaker.open { add_all = false }
      local bedroom = speaker.group "Bedroom"
      local alarm = speaker.session { name = "alarm", priority = 200, devices = { "Bedroom Right" } }
      alarm:play "tone.wav"
      bedroom:join()
      print(code(speaker.play, "tone.wav"), speaker.device "Bedroom Left".active, #alarm.devices)
      """)
    #expect(lines == ["none\ttrue\t1"])
  }

  @Test("a fade of a group or a speaker ends at its volume, and leaves a speaker alone that leaves the group")
  func fades() throws {
    let lines = try EngineHarness.printed(
      """
      local bedroom, left, right = speaker.group "Bedroom", speaker.device "Bedroom Left", speaker.device "Bedroom Right"
      local kitchen = speaker.device "Kitchen"
      bedroom:fade { to = 40, over = "2s" }
      print(left.volume, right.volume, kitchen.volume)
      kitchen:fade { volume = 30, over = "1s" }
      print(kitchen.volume, left.volume)
      local fading = task.spawn(function() bedroom:fade { volume = 20, over = "2s" } end)
      task.sleep(1)
      right:leave_group()
      fading:await()
      print(left.volume, right.volume > 25)
      print(message(bedroom.fade, bedroom, { over = 1 }))
      print(message(bedroom.fade, bedroom, { over = 1, to = 5, volume = 5 }))
      print(message(kitchen.fade, kitchen, { to = 5 }))
      print(message(kitchen.fade, kitchen, { to = 5, over = 1, gain = -3 }))
      """)
    #expect(lines.prefix(3) == ["40\t40\t22", "30\t40", "20\ttrue"])
    #expect(lines[3].contains("one of volume and to expected") && lines[4].contains("one of volume and to"))
    #expect(lines[5].contains("'over': a duration is missing") && lines[6].contains("'gain'"))
  }

  @Test("speakers, groups, their names and single ones are accepted wherever devices= is")
  func options() throws {
    let lines = try EngineHarness.printed(
      """
      speaker.open { add_all = false }
      local bedroom, kitchen = speaker.group "Bedroom", speaker.device "Kitchen"
      local mine = speaker.session { devices = { bedroom, "living room", "Bathroom", kitchen, "Kitchen" } }
      print(names(mine.devices))
      print(names(speaker.snapshot { devices = { "Bedroom", kitchen } }.devices))
      print(names(speaker.snapshot { devices = bedroom }.devices), #speaker.snapshot { devices = kitchen }.devices)
      speaker.interrupt { devices = "Bedroom", play = function(by) print(names(by.devices)) end }
      speaker.interrupt { devices = { bedroom, kitchen }, play = function(by) print(names(by.devices)) end }
      print(code(speaker.session, { devices = { "Garage" } }), failure(speaker.session, { devices = { "Garage" } }))
      print(message(speaker.session, { devices = { 5 } }), message(speaker.snapshot, { devices = 5 }))
      """)
    #expect(
      lines.prefix(5) == [
        "Living Room Left, Living Room Right, Kitchen, Bedroom Left, Bedroom Right, Bathroom",
        "Bedroom Left, Bedroom Right, Kitchen", "Bedroom Left, Bedroom Right\t1",
        "Bedroom Left, Bedroom Right", "Kitchen, Bedroom Left, Bedroom Right",
      ])
    #expect(
      lines[5].hasPrefix("speaker.unknown\t") && lines[5].contains("no room or speaker is called \"Garage\""))
    #expect(
      lines[6].contains("element 1: speaker, group or name expected, got number")
        && lines[6].contains("speaker, group, name or list of these expected, got number"))
  }

  @Test("interrupt without devices has every room, and returns each to where it was")
  func interruption() throws {
    let lines = try EngineHarness.printed(
      """
      speaker.open { add_all = false }
      speaker.group "Living Room":join()
      speaker.device "Kitchen":join()
      speaker.interrupt { play = function(by)
        print(#by.devices)
        speaker.interrupt { play = function(second) print(#second.devices, #by.devices) end }
        print(#by.devices)
      end }
      print(names(speaker.own.devices), speaker.group "Bedroom".active)
      """)
    #expect(lines == ["6", "6\t0", "6", "Living Room Left, Living Room Right, Kitchen\tfalse"])
  }
}
