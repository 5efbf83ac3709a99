import LuaRuntime
import TestSupport
import TestTraits
import Testing

@Suite(
  "speaker.open: the house of the last run, and of another process", .waiting, .tags(.speaker, .recovery))
struct KeptHouseTests {
  @Test(
    "it waits for another process 30 s, or as long as configured, and reports that once",
    arguments: [
      ("speaker.open()", 30.0), ("speaker.devices()", 30), ("speaker.open { wait = 2 }", 2),
      ("speaker.open { wait = '1m' }", 60),
    ])
  func waits(_ call: String, _ seconds: Double) throws {
    var harness = try EngineHarness()
    harness.addsAll = false
    let owner = try HouseOwner(of: harness.folder.file("state"), as: "night watch")
    defer { withExtendedLifetime(owner) {} }
    harness.stateFolder = owner.folder
    let outcome = try harness.run(
      """
      local begin = task.now()
      local err = failure(function() \(call) end)
      print(err.code, err.process, err.path == "\(owner.folder)", err.hint, string.format("%.1f", task.now() - begin))
      print(speaker.is_open(), speaker.is_opening())
      """)
    #expect(
      outcome.lines == [
        "speaker.busy\tnight watch (process 4711)\ttrue\tend it, or wait longer\t\(seconds)", "false\tfalse",
      ])
    #expect(outcome.log.map(\.message) == ["night watch (process 4711) has the house: waiting for it"])
  }

  @Test("with wait = false it does not wait; its owner may release it meanwhile")
  func opens() throws {
    var harness = try EngineHarness()
    let owner = try HouseOwner(of: harness.folder.file("state"), as: "night watch")
    defer { withExtendedLifetime(owner) {} }
    harness.stateFolder = owner.folder
    let outcome = try harness.run(
      """
      local begin = task.now()
      print(code(speaker.open, { wait = false }), code(speaker.open, { wait = 0 }), task.now() - begin)
      task.spawn(function() task.sleep(5) os.remove "\(owner.lock)" end)
      speaker.open { wait = "10s" }
      print(speaker.is_open(), math.floor(task.now() - begin))
      """)
    #expect(outcome.lines == ["speaker.busy\tspeaker.busy\t0.0", "true\t5"])
    #expect(outcome.log.count == 1)
  }

  @Test("closing ends the waiting, and so does the end of the script")
  func closes() throws {
    var harness = try EngineHarness()
    let owner = try HouseOwner(of: harness.folder.file("state"), as: "night watch")
    defer { withExtendedLifetime(owner) {} }
    harness.stateFolder = owner.folder
    let outcome = try harness.run(
      """
      local opening = task.spawn(speaker.open, { wait = "1h" })
      task.sleep(1)
      speaker.close()
      print(code(opening.await, opening), task.now() < 1.2)
      task.spawn(speaker.open, { wait = "1h" })
      task.sleep(1)
      os.exit(0)
      """)
    #expect(outcome.lines == ["speaker.closed\ttrue"] && outcome.seconds < 2.4, "\(outcome)")
  }

  @Test("a wait that is none is named", arguments: ["true", "-1", "'soon'", "{}"])
  func misuse(_ wait: String) throws {
    let lines = try EngineHarness.printed(
      "print(message(speaker.open, { wait = \(wait) }), speaker.is_open())")
    let line = try #require(lines.first)
    #expect(
      line.contains("bad argument #1 to 'open' (option 'wait': ") && line.hasSuffix("\tfalse"), "\(line)")
  }

  @Test("a folder that can't be made raises speaker.lost")
  func unwritable() throws {
    var harness = try EngineHarness()
    harness.stateFolder = harness.folder.file("tone.wav") + "/state"
    let lines = try harness.printed(
      "local err = failure(speaker.open) print(err.code, err.path, #err.hint > 0)")
    #expect(lines == ["speaker.lost\t\(harness.stateFolder ?? "")\ttrue"])
  }

  @Test("an output that can't be opened has a code of its own")
  func codes() throws {
    var harness = try EngineHarness()
    harness.configuration = "house { output = 'wav:\(harness.folder.file("tone.wav"))/out' }"
    #expect(try harness.printed("print(code(speaker.open), speaker.is_open())") == ["audio.no_output\tfalse"])
  }

  @Test(
    "objects of a closed house raise speaker.closed, whether or not another one is open",
    arguments: [false, true])
  func closed(_ reopens: Bool) throws {
    let lines = try EngineHarness.printed(
      """
      local objects = {
        speaker.device "Kitchen", speaker.group "Kitchen", speaker.own,
        speaker.session { name = "mine", devices = { "Bathroom" } }, speaker.snapshot(), speaker.house(),
      }
      local kitchen, group, default, mine, shot, house = table.unpack(objects)
      speaker.close()
      collectgarbage() collectgarbage()
      task.sleep(1)
      if \(reopens) then speaker.open() end
      for _, call in ipairs {
        function() kitchen:set_volume(3) end, function() kitchen:join() end, function() kitchen:on("volume", print) end,
        function() kitchen:set_name "x" end, function() kitchen:refresh_wifi() end,
        function() group:on("volume", print) end,
        function() default:play "tone.wav" end, function() default:pause() end, function() default:resume() end,
        function() default:stop() end, function() default:seek(1) end, function() default:set_volume(3) end,
        function() default:mute() end, function() default:fade { gain = 1, over = 1 } end,
        function() default:on("state", print) end, function() default:wait "state" end,
        function() mine:play "tone.wav" end, function() mine:set_gain(0) end, function() mine:once("state", print) end,
        function() shot:restore() end,
        function() house:unplug(kitchen) end, function() house:add { name = "Attic" } end,
      } do
        local err = failure(call)
        print(err.code, err.message, err.hint ~= nil)
      end
      print(kitchen.name, #group.devices, default:state(), default:position(), mine.name, #shot.devices, default:finish())
      """)
    func reported(_ what: String, _ times: Int) -> [String] {
      Array(
        repeating:
          "speaker.closed\tthe \(what) \(what == "controls" ? "belong" : "belongs") to a house that was closed\ttrue",
        count: times)
    }
    let expected =
      reported("speaker \"Kitchen\"", 5) + reported("group \"Kitchen\"", 1)
      + reported("session \"test\"", 10)
      + reported("session \"mine\"", 3) + reported("snapshot", 1) + reported("speaker \"Kitchen\"", 1)
      + reported("controls", 1)
    #expect(lines.dropLast() == expected[...])
    #expect(lines.last == "Kitchen\t1\tstopped\t0.0\tmine\t6")
  }
}
