import LuaRuntime
import TestTraits
import Testing

@Suite("speaker.interrupt, from Lua", .waiting, .tags(.speaker, .interruption))
struct InterruptionTests {
  @Test(
    "suspending, suspended and resumed are published to the house, the session, a speaker and a group, once each"
  )
  func events() throws {
    let lines = try EngineHarness.printed(
      """
      local default, bedroom, kitchen = speaker.own, speaker.group "Bedroom", speaker.device "Kitchen"
      local mine = speaker.session { name = "mine", devices = { kitchen } }
      mine:play("long.wav", { priority = 500 })
      local objects = {
        { "house", speaker.on }, { "session", default.on, default }, { "speaker", bedroom.devices[1].on, bedroom.devices[1] },
        { "group", bedroom.on, bedroom }, { "mine", mine.on, mine }, { "kitchen", kitchen.on, kitchen },
      }
      for _, phase in ipairs { "suspending", "suspended", "resumed" } do
        for _, object in ipairs(objects) do
          local function report(e) print(phase, object[1], e.session.name, e.by.name) end
          if object[3] then object[2](object[3], phase, report) else object[2](phase, report) end
        end
      end
      speaker.play "long.wav"
      task.sleep(1)
      speaker.interrupt { devices = default.devices, play = "tone.wav" }
      task.sleep(1)
      """)
    let expected = ["suspending", "suspended", "resumed"].flatMap { phase in
      ["house", "session", "speaker", "group"].map { "\(phase)\t\($0)\ttest\tinterruption" }
    }
    #expect(lines == expected)
  }

  @Test("with a fade suspending comes first, suspended after the fade; wait returns the payload")
  func fade() throws {
    let lines = try EngineHarness.printed(
      """
      speaker.play "long.wav"
      task.sleep(1)
      local begin = task.now()
      local waits = {}
      for i, phase in ipairs { "suspending", "suspended", "resumed" } do
        waits[i] = task.spawn(function()
          local event = speaker.own:wait(phase)
          return string.format("%s %.1f %s", phase, task.now() - begin, event.by.name)
        end)
      end
      task.sleep(0)
      speaker.interrupt { fade = "500ms", play = "tone.wav" }
      for i = 1, 3 do print(waits[i]:await()) end
      """)
    #expect(
      lines == ["suspending 0.0 interruption", "suspended 0.5 interruption", "resumed 3.5 interruption"])
  }

  @Test("plays a list of files as a queue; what can't be played interrupts nothing")
  func queue() throws {
    let lines = try EngineHarness.printed(
      """
      speaker.on("suspended", function() print "suspended" end)
      speaker.on("track", { all = true }, function(event) print(event.session.name, event.source.title) end)
      speaker.play "long.wav"
      task.sleep(1)
      local begin = task.now()
      speaker.interrupt { play = { "tone.wav", "absent.wav", "tone.wav" } }
      print(string.format("%.1f", task.now() - begin), speaker.state())
      speaker.interrupt { play = { "tone.wav", "tone.wav" }, duck = 10 }
      print(string.format("%.1f", task.now() - begin), speaker.state())
      for _, wrong in ipairs { { "absent.wav", "absent.mp3" }, {}, { 1 }, 5 } do
        print(select(2, pcall(speaker.interrupt, { play = wrong })))
      end
      speaker.stop()
      """)
    #expect(
      lines == [
        "suspended", "interruption\ttone.wav", "interruption\ttone.wav", "6.0\tplaying",
        "interruption\ttone.wav", "interruption\ttone.wav", "12.0\tplaying",
        "test.lua:11: cannot open absent.wav: no such file or directory (audio.not_found)",
        "test.lua:11: bad argument #1 to 'interrupt' (option 'play': the list has no files)",
        "test.lua:11: bad argument #1 to 'interrupt' (option 'play': [1]: the path of a file expected)",
        "test.lua:11: bad argument #1 to 'interrupt' (option 'play': a file, a list of files or a function expected)",
      ])
  }

  @Test("a speaker that can't be reached at the end has its level back when it can, unless it is set before")
  func unplugged() throws {
    let lines = try EngineHarness.printed(
      """
      local house, kitchen, bath = speaker.house(), speaker.device "Kitchen", speaker.device "Bathroom"
      kitchen:mute()
      task.sleep(0.1)
      for _ = 1, 2 do
        speaker.interrupt { volume = 40, play = function()
          task.sleep(0.1)
          house:unplug(kitchen)
          house:unplug(bath)
        end }
        task.sleep(0.1)
        print(kitchen.volume, bath.volume, kitchen.active)
        house:plug(kitchen)
        house:plug(bath)
        bath:set_volume(9)
        task.sleep(0.1)
        print(kitchen.volume, kitchen.muted, bath.volume)
      end
      """)
    #expect(lines == ["40\t40\ttrue", "22\ttrue\t9", "40\t40\ttrue", "22\ttrue\t9"])
  }

  @Test("without a speaker that can be reached it raises speaker.no_active_device")
  func nobody() throws {
    let lines = try EngineHarness.printed(
      """
      local kitchen = speaker.device "Kitchen"
      speaker.house():unplug(kitchen)
      print(code(speaker.interrupt, { devices = { kitchen }, play = "tone.wav" }))
      print(code(speaker.interrupt, { devices = {}, play = "tone.wav" }))
      """)
    #expect(lines == ["speaker.no_active_device", "speaker.no_active_device"])
  }
}
