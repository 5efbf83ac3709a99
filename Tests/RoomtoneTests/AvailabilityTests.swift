import LuaRuntime
import TestTraits
import Testing

@Suite("speaker: speakers that come and go", .waiting)
struct AvailabilityTests {
  @Test("an unplugged speaker stays a member, is left out of the average, refuses levels, and comes back")
  func unplugged() throws {
    let lines = try EngineHarness.printed(
      """
      local house, kitchen = speaker.house(), speaker.device "Kitchen"
      speaker.set_volume(20)
      kitchen:set_volume(50)
      task.sleep(0.1)
      print(speaker.volume())
      kitchen:on("device", function(e) print(e.reason, kitchen.available, kitchen.is_playing) end)
      speaker.play "long.wav"
      task.sleep(0.1)
      house:unplug(kitchen)
      task.sleep(1)
      print(kitchen, speaker.volume(), kitchen.active, #speaker.default_session().devices, kitchen.wifi_strength)
      print(code(kitchen.set_volume, kitchen, 3), code(kitchen.mute, kitchen), code(kitchen.set_role, kitchen, "left"))
      print(code(kitchen.set_name, kitchen, "Cuisine"), code(kitchen.refresh_wifi, kitchen))
      speaker.set_volume(30)
      task.sleep(0.1)
      house:plug(kitchen)
      task.sleep(0.1)
      print(kitchen.volume, speaker.volume(), kitchen.is_playing)
      speaker.stop()
      """)
    // (5 · 20 + 50) / 6 = 25, (5 · 30 + 50) / 6 = 33.3
    #expect(
      lines.filter { !$0.hasPrefix("playing") } == [
        "25", "unavailable\tfalse\tfalse", "speaker \"Kitchen\" (volume 50, unavailable)\t20\ttrue\t6\tnone",
        "speaker.unavailable\tspeaker.unavailable\tspeaker.unavailable",
        "speaker.unavailable\tspeaker.unavailable", "available\ttrue\ttrue", "50\t33\ttrue",
      ])
  }

  @Test(
    "the average rounds to the nearest whole number, halves up", arguments: [(1, "10"), (3, "11"), (2, "11")])
  func average(_ steps: Int, _ expected: String) throws {
    // Four speakers that can be reached: 10.25, 10.5, 10.75.
    let lines = try EngineHarness.printed(
      """
      local house = speaker.house()
      house:unplug(speaker.device "Bathroom")
      house:unplug(speaker.device "Kitchen")
      speaker.set_volume(10)
      speaker.device "Bedroom Left":set_volume(10 + \(steps))
      task.sleep(0.1)
      print(speaker.volume(), speaker.default_session():volume())
      """)
    #expect(lines == ["\(expected)\t\(expected)"])
  }

  @Test("when the last member is unplugged playback continues for 30 s, then stops with no_devices")
  func silence() throws {
    let lines = try EngineHarness.printed(
      """
      speaker.open { add_all = false }
      local house, kitchen = speaker.house(), speaker.device "Kitchen"
      kitchen:join()
      speaker.play("long.wav", { loop = true })
      house:unplug(kitchen)
      task.sleep(29.5)
      print(speaker.state())
      house:plug(kitchen)
      task.sleep "1h"
      print(speaker.state())
      house:unplug(kitchen)
      local begin = task.now()
      print(speaker.wait("ended").reason, task.now() - begin, speaker.state(), kitchen.active)
      print(code(speaker.play, "tone.wav"))
      """)
    #expect(lines == ["playing", "playing", "no_devices\t30.0\tstopped\ttrue", "speaker.no_active_device"])
  }

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

  @Test(
    "the signal in words",
    arguments: [(-50, "excellent"), (-60, "good"), (-70, "fair"), (-89, "weak"), (-90, "none")])
  func strength(_ signal: Int, _ word: String) throws {
    let lines = try EngineHarness.printed(
      """
      local kitchen = speaker.device "Kitchen"
      speaker.house():set_wifi(kitchen, \(signal))
      print(kitchen:refresh_wifi(), kitchen.wifi_strength, kitchen.wifi_signal)
      """)
    #expect(lines == ["\(signal)\t\(word)\t\(signal)"])
  }

  @Test("watch asks every two seconds, and stops when turned off")
  func watch() throws {
    let lines = try EngineHarness.printed(
      """
      local house, kitchen = speaker.house(), speaker.device "Kitchen"
      speaker.on("device", function(e) if e.reason == "wifi" then print("reported", e.device.wifi_signal) end end)
      speaker.watch(true)
      speaker.watch(true)
      for signal = -61, -63, -1 do
        house:set_wifi(kitchen, signal)
        task.sleep(1.9)
        print(kitchen.wifi_signal)
        task.sleep(0.1 + 0.01)
      end
      speaker.watch(false)
      house:set_wifi(kitchen, -70)
      task.sleep "1h"
      print(kitchen.wifi_signal, message(speaker.watch))
      """)
    #expect(
      lines == [
        "-58", "reported\t-61", "-61", "reported\t-62", "-62", "reported\t-63",
        "-63\tbad argument #1 to 'watch' (boolean expected, got no value)",
      ])
  }
}
