import LuaRuntime
import TestTraits
import Testing

@Suite("speaker: the house, its speakers and groups", .waiting, .tags(.speaker, .discovery, .groups))
struct HouseTests {
  @Test("the first use opens the house, whose speakers are in no session")
  func opensItself() throws {
    var harness = try EngineHarness()
    harness.addsAll = false
    let lines = try harness.printed(
      """
      print(speaker.is_open(), speaker.is_opening())
      print(#speaker.devices(), speaker.is_open())
      print(#speaker.active_devices(), #speaker.own.devices)
      """)
    #expect(lines == ["false\tfalse", "6\ttrue", "0\t0"])
  }

  @Test("open leaves the speakers alone when asked to; it is slow, and others see it opening")
  func opens() throws {
    let lines = try EngineHarness.printed(
      """
      task.spawn(function() task.sleep "50ms" print("meanwhile", speaker.is_open(), speaker.is_opening()) end)
      speaker.open { driver = "house", license = "", add_all = false }
      print(speaker.is_open(), speaker.is_opening(), #speaker.active_devices(), #speaker.active_groups())
      speaker.open()
      print(#speaker.active_devices())
      """)
    #expect(lines == ["meanwhile\tfalse\ttrue", "true\tfalse\t0\t0", "0"])
  }

  @Test("cancelling the caller that opens the house leaves the opening to the other callers")
  func openerCancelled() throws {
    let lines = try EngineHarness.printed(
      """
      local first = task.spawn(function() speaker.open() print "never" end)
      local second = task.spawn(function() return speaker.device("Kitchen").name end)
      task.sleep(0.01)
      print(speaker.is_opening())
      first:cancel()
      print(second:await(), code(first.await, first), speaker.is_open())
      """)
    #expect(lines == ["true", "Kitchen\ttask.cancelled\ttrue"])
  }

  @Test("objects of a closed house raise speaker.closed while another one is open, and harm nothing")
  func oldObjects() throws {
    let lines = try EngineHarness.printed(
      """
      local old, session = speaker.device "Kitchen", speaker.own
      speaker.close()
      speaker.open { add_all = true }
      local new = speaker.device "Kitchen"
      print(message(old.set_volume, old, 10), code(old.join, old))
      print(message(new.join, new, session), new.active)
      print(message(old.on, old, "volume", print), code(session.on, session, "state", print))
      """)
    let speaker = "the speaker \"Kitchen\" belongs to a house that was closed"
    #expect(
      lines == [
        "\(speaker)\tspeaker.closed", "the session \"test\" belongs to a house that was closed\ttrue",
        "\(speaker)\tspeaker.closed",
      ])
  }

  @Test("a closed house raises speaker.closed with a hint, and can be opened again")
  func closes() throws {
    let lines = try EngineHarness.printed(
      """
      local old = speaker.device "Kitchen"
      speaker.close()
      print(speaker.is_open(), code(speaker.devices), failure(speaker.devices).hint)
      print(code(old.set_volume, old, 10), code(old.on, old, "volume", print), old.name)
      speaker.close()
      speaker.open()
      print(speaker.is_open(), #speaker.devices(), speaker.state())
      """)
    #expect(
      lines == [
        "false\tspeaker.closed\topen it again with speaker.open()", "speaker.closed\tspeaker.closed\tKitchen",
        "true\t6\tstopped",
      ])
  }

  @Test("a driver that is not there, and wrong options, are named")
  func openFails() throws {
    let lines = try EngineHarness.printed(
      """
      print(code(speaker.open, { driver = "sonos" }), message(speaker.open, { driver = "sonos" }))
      print(message(speaker.open, { add_al = true }))
      print(message(speaker.open, { add_all = "yes" }))
      print(speaker.is_open())
      """)
    #expect(lines[0].hasPrefix("speaker.unsupported") && lines[0].contains("\"sonos\""))
    #expect(lines[1].contains("'add_al'") && lines[1].contains("did you mean 'add_all'?"))
    #expect(lines[2].contains("'add_all'") && lines[2].contains("boolean expected, got string"))
    #expect(lines[3] == "false")
  }

  @Test("a device has the 17 attributes of the contract, of the right kinds and ranges")
  func attributes() throws {
    let lines = try EngineHarness.printed(
      """
      local d = speaker.device "Bedroom Right"
      local master = speaker.device "Bedroom Left"
      print(d.name, d.group_name, d.model, d.version, d.role, d.volume, d.muted, d.active, d.is_playing)
      print(d.group_id == master.id, master.is_master, d.is_master, d.group == speaker.group "Bedroom")
      print(d.id ~= master.id, d.ip_address:match "^%d+%.%d+%.%d+%.%d+$" ~= nil, math.type(d.port))
      print(#d.mac_address, d.mac_address:gsub("%x%x:?", ""))
      print(d.wifi_signal >= -100 and d.wifi_signal <= 0, d.balance, d.channel_type, d.available)
      print(speaker.device "Kitchen".role, speaker.device "Kitchen".channel_type)
      print(speaker.MAX_VOLUME, speaker.UNGROUPED)
      """)
    #expect(lines[0] == "Bedroom Right\tBedroom\tOmni 10+\t1.6.2.0\tright\t18\tfalse\ttrue\tfalse")
    #expect(
      lines.dropFirst() == [
        "true\ttrue\tfalse\ttrue", "true\ttrue\tinteger", "17\t\t6", "true\t0\t1\ttrue", "mono\t0",
        "50\tharman",
      ])
  }

  @Test(
    "assigning to a field raises at the script's line and names the method that changes it",
    arguments: [
      ("volume", "set_volume"), ("muted", "mute"), ("active", "join"), ("id", "it can't be changed"),
      ("group_name", "set_group"), ("group", "set_group"), ("wifi_signal", "refresh_wifi"),
      ("name", "set_name"),
      ("role", "set_role"), ("output", "it can't be changed"), ("channel_type", "set_role"),
    ])
  func assigning(_ field: String, _ method: String) throws {
    let lines = try EngineHarness.printed(
      """
      local kitchen = speaker.device "Kitchen"
      local err = failure(function()
        kitchen.\(field) = 1
      end)
      print(err.code, err.where, err.message)
      """)
    let line = try #require(lines.first)
    #expect(line.hasPrefix("argument\ttest.lua:3\t") && line.contains("'\(field)'") && line.contains(method))
  }

  @Test("reading what is not there raises and suggests the nearest name")
  func unknownField() throws {
    let lines = try EngineHarness.printed(
      """
      local kitchen = speaker.device "Kitchen"
      print(failure(function() return kitchen.volum end))
      print(failure(function() kitchen.colour = "red" end))
      """)
    #expect(
      lines[0] == "test.lua:2: no field or method of a speaker is called 'volum'; did you mean 'volume'?")
    #expect(lines[1] == "test.lua:3: a speaker can't be given a field 'colour'")
  }
}
