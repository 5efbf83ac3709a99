import LuaRuntime
import TestTraits
import Testing

@Suite("speaker: speakers that come and go", .waiting, .tags(.speaker, .discovery))
struct AvailabilityTests {

  @Test("every change of a speaker is reported with its reason")
  func reasons() throws {
    let lines = try EngineHarness.printed(
      """
      speaker.open { add_all = false }
      local house = speaker.house()
      speaker.on("device", function(e) print(e.reason, e.device.name) end)
      local attic = house:add { name = "Attic", volume = 7 }
      attic:join()
      attic:leave()
      attic:set_name "Loft"
      attic:set_group "Up"
      attic:set_role "left"
      attic:set_balance(2)
      task.sleep(0.1)
      house:set_wifi(attic, -88)
      attic:refresh_wifi()
      attic:refresh_wifi()
      house:unplug(attic)
      house:plug(attic)
      house:plug(attic)
      attic:set_volume(9)
      attic:mute()
      task.sleep(0.1)
      house:remove(attic)
      task.sleep(0.1)
      print(attic, code(attic.join, attic), speaker.find "Loft")
      """)
    #expect(lines.first == "added\tAttic" || lines.first == "added\tLoft")
    let reasons = lines.dropLast().map { String($0.prefix { $0 != "\t" }) }
    #expect(
      reasons == [
        "added", "joined", "left", "renamed", "regrouped", "role", "balance", "wifi", "unavailable",
        "available", "removed",
      ])
    #expect(lines.last?.hasSuffix("speaker.unavailable\tnil") == true)
  }

  @Test(
    "a wait for a removed speaker, or a closed session, returns nil and \"closed\"; its last event is reported"
  )
  func gone() throws {
    let lines = try EngineHarness.printed(
      """
      local house, kitchen = speaker.house(), speaker.device "Kitchen"
      local session = speaker.session { name = "mine", devices = { "Bathroom" } }
      session:play "long.wav"
      local subscriptions = {
        kitchen:on("device", function(e) if e.reason == "removed" then print "removed" end end),
        session:on("ended", function(e) print(e.reason, e.session:state(), e.session:position()) end),
      }
      local function waiter(object, event) return task.spawn(function() return select(2, object:wait(event)) or "reported" end) end
      local waits = {
        waiter(kitchen, "volume"), waiter(session, "time"), waiter(session, "suspended"), waiter(session, "ended"),
      }
      task.sleep(0.1)
      session:close()
      session:close()
      house:remove(kitchen)
      print(task.timeout(1, function() return waits[1]:await(), waits[2]:await(), waits[3]:await(), waits[4]:await() end))
      print(subscriptions[1].active, subscriptions[2].active)
      print(tostring(select(2, pcall(kitchen.on, kitchen, "volume", print))):match "was removed from the house")
      print(code(kitchen.on, kitchen, "volume", print), code(session.on, session, "ended", print))
      print(code(session.stop, session), code(session.pause, session), code(session.seek, session, 1), session:state())
      """)
    #expect(
      lines.sorted()
        == [
          "was removed from the house", "closed\tclosed\tclosed\treported", "false\tfalse", "removed",
          "stopped\tstopped\t0.0",
          "speaker.closed\tspeaker.closed",
          "speaker.closed\tspeaker.closed\tspeaker.closed\tstopped",
        ].sorted())
  }
}
