import LuaRuntime
import TestTraits
import Testing

@Suite("speaker: rooms are targets as speakers are", .waiting, .tags(.speaker, .groups))
struct RoomTests {
  @Test("a group joins and leaves a session, also one that plays")
  func joins() throws {
    let lines = try EngineHarness.printed(
      """
      speaker.open { add_all = false }
      local bedroom, mine = speaker.group "Bedroom", speaker.session { name = "mine" }
      bedroom:join()
      print(names(speaker.default_session().devices), bedroom.active)
      speaker.group "Living Room":join()
      speaker.play "long.wav"
      task.sleep(1)
      bedroom:join(mine)
      print(names(mine.devices), #speaker.default_session().devices, speaker.state())
      bedroom:leave()
      bedroom:leave()
      print(#mine.devices, bedroom.active, names(speaker.active_devices()))
      print(code(bedroom.join, bedroom, 5), message(bedroom.join, bedroom, 5))
      """)
    #expect(
      lines == [
        "Bedroom Left, Bedroom Right\ttrue", "Bedroom Left, Bedroom Right\t2\tplaying",
        "0\tfalse\tLiving Room Left, Living Room Right",
        "argument\tbad argument #2 to 'join' (session expected, got number)",
      ])
  }

  @Test("a group joins whole or not at all: a session of higher priority keeps its speaker")
  func outranked() throws {
    let lines = try EngineHarness.printed(
      """
      speaker.open { add_all = false }
      local bedroom = speaker.group "Bedroom"
      local alarm = speaker.session { name = "alarm", priority = 200, devices = { "Bedroom Right" } }
      print(code(bedroom.join, bedroom), speaker.device "Bedroom Left".active, #alarm.devices)
      """)
    #expect(lines == ["speaker.outranked\tfalse\t1"])
  }

  @Test("volume, mute and unmute of a group act on its speakers and on no other")
  func levels() throws {
    let lines = try EngineHarness.printed(
      """
      local bedroom, kitchen = speaker.group "Bedroom", speaker.device "Kitchen"
      bedroom:set_volume(31)
      speaker.device "Bedroom Left":set_volume(11)
      task.sleep(0.1)
      print(bedroom.volume, bedroom.muted, kitchen.volume)
      bedroom:mute()
      task.sleep(0.1)
      print(bedroom.volume, bedroom.muted, kitchen.muted, speaker.device "Bedroom Left".volume)
      bedroom:unmute()
      task.sleep(0.1)
      print(bedroom.volume, bedroom.muted)
      print(message(bedroom.set_volume, bedroom, 51))
      for _, field in ipairs { "volume", "muted", "active" } do
        print(message(function() bedroom[field] = 1 end))
      end
      """)
    #expect(lines.prefix(3) == ["21\tfalse\t22", "0\ttrue\tfalse\t11", "21\tfalse"])
    #expect(lines[3].contains("0 to 50 expected, got 51"))
    for (line, method) in zip(lines[4...], ["set_volume", "mute", "join"]) {
      #expect(line.contains("call :\(method)("), "\(line)")
    }
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

  @Test("of two fades of the same speaker the later one wins, of any script")
  func newestFade() throws {
    let lines = try EngineHarness.printed(
      """
      local kitchen = speaker.device "Kitchen"
      speaker.set_volume(20)
      local first = task.spawn(function() speaker.fade { to = 50, over = "10s" } return task.now() end)
      task.sleep(2)
      kitchen:fade { to = 0, over = "4s" }
      print(kitchen.volume)
      first:await()
      print(kitchen.volume, speaker.device "Bathroom".volume)
      """)
    #expect(lines == ["0", "0\t50"])
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

  @Test("interrupt without devices uses the speakers of the default session, and not the sleeping bedroom")
  func interruption() throws {
    let lines = try EngineHarness.printed(
      """
      speaker.open { add_all = false }
      speaker.group "Living Room":join()
      speaker.device "Kitchen":join()
      speaker.interrupt { play = function(by)
        print(names(by.devices))
        speaker.interrupt { play = function(second) print(names(second.devices), #by.devices) end }
        print(names(by.devices))
      end }
      print(names(speaker.default_session().devices), speaker.group "Bedroom".active)
      for _, device in ipairs(speaker.default_session().devices) do device:leave() end
      print(code(speaker.interrupt, { play = print }))
      """)
    let members = "Living Room Left, Living Room Right, Kitchen"
    #expect(
      lines == [members, "\(members)\t0", members, "\(members)\tfalse", "speaker.no_active_device"])
  }

  @Test("a group that has lost its last speaker raises an error that names this")
  func empty() throws {
    let lines = try EngineHarness.printed(
      """
      local kitchen, group = speaker.device "Kitchen", speaker.group "Kitchen"
      kitchen:leave_group()
      print(group.volume, group.muted, code(group.join, group), code(group.set_volume, group, 5))
      print(message(group.fade, group, { to = 5, over = 1 }))
      local bath, room = speaker.device "Bathroom", speaker.group "Bathroom"
      speaker.house():unplug(bath)
      print(code(room.set_volume, room, 5), code(room.mute, room))
      """)
    #expect(
      lines == [
        "0\tfalse\tspeaker.unknown\tspeaker.unknown",
        "no speaker is in the group \"Kitchen\" any more", "speaker.unavailable\tspeaker.unavailable",
      ])
  }
}
