import LuaRuntime
import TestSupport
import TestTraits
import Testing

@Suite("speaker: events", .waiting, .tags(.speaker, .events))
struct EventTests {
  private static let suspensions = "suspending, suspended, resumed"

  @Test("state, time and ended come in order, with their payloads; so do a session's and a device's")
  func order() throws {
    for object in ["speaker", "speaker.own", "speaker.device 'Kitchen'"] {
      let on = object == "speaker" ? "on(" : "on(object, "
      let lines = try EngineHarness.printed(
        """
        speaker.open { add_all = true }
        local object, default = \(object), speaker.own
        local on = object.on
        \(on)"state", function(e) print("state", e.state, e.session == default) end)
        \(on)"time", function(e) print("time", e.elapsed, math.type(e.elapsed), e.session == default) end)
        \(on)"ended", function(e) print("ended", e.reason, e.source.title, e.session == default) end)
        speaker.play("tone.wav", { title = "T" })
        speaker.finish()
        task.sleep(1)
        """)
      #expect(
        lines == [
          "state\tplaying\ttrue", "time\t1\tinteger\ttrue", "time\t2\tinteger\ttrue",
          "time\t3\tinteger\ttrue",
          "state\tstopped\ttrue", "ended\tfinished\tT\ttrue",
        ], "\(object)")
    }
  }

  @Test("a speaker's playing is reported when it has changed, not with every change of its session")
  func playing() throws {
    let lines = try EngineHarness.printed(
      """
      speaker.open { add_all = false }
      local kitchen, bath = speaker.device "Kitchen", speaker.device "Bathroom"
      kitchen:join()
      local reported = {}
      speaker.on("device", function(e)
        if e.reason == "playing" then reported[#reported + 1] = e.device.name .. " " .. tostring(e.device.is_playing) end
      end)
      local function report(what) task.sleep(0.1) print(what, table.concat(reported, ", ")) reported = {} end
      speaker.play "tone.wav" report "play"
      speaker.play "tone.wav" report "replace"
      speaker.seek(1) report "seek"
      bath:join() report "join"
      speaker.pause() report "pause"
      speaker.play "tone.wav" report "play"
      speaker.house():unplug(bath) report "unplug"
      speaker.house():plug(bath) report "plug"
      speaker.interrupt { play = function() report "interrupt" end } report "resumed"
      kitchen:leave() report "leave"
      speaker.pause() report "pause"
      speaker.stop() report "stop"
      """)
    let both = "Kitchen true, Bathroom true"
    let none = "Kitchen false, Bathroom false"
    #expect(
      lines == [
        "play\tKitchen true", "replace\t", "seek\t", "join\tBathroom true", "pause\t\(none)", "play\t\(both)",
        "unplug\tBathroom false", "plug\tBathroom true", "interrupt\t\(none)", "resumed\t\(both)",
        "leave\tKitchen false", "pause\tBathroom false", "stop\t",
      ])
  }

  @Test("the last time event of a file finds the session as it plays: its length, its position, its source")
  func lastSecond() throws {
    let lines = try EngineHarness.printed(
      """
      local session = speaker.own
      for _, object in ipairs { speaker, session, speaker.device "Kitchen", speaker.group "Kitchen" } do
        local function show(e)
          print(e.elapsed, e.session:duration(), e.session:position(), e.session:state())
        end
        local on = object == speaker and speaker.once("time", show) or object:once("time", show)
        speaker.play("tone.wav", { start = 2.5 })
        print(speaker.finish(), speaker.duration())
      end
      """)
    #expect(lines == Array(repeating: ["3\t3.0\t3.0\tplaying", "finished\tnil"], count: 4).flatMap { $0 })
  }

  @Test("subscribing opens the house first, and reports no event of the speakers that this found")
  func added() throws {
    let lines = try EngineHarness.printed(
      """
      local found = {}
      speaker.on("device", function(e) if e.reason == "added" then found[#found + 1] = e.device end end)
      task.sleep(1)
      print(#found)
      """)
    #expect(lines == ["0"])
  }

  @Test("listeners are called in order of subscription, each in a routine of its own that may suspend")
  func listeners() throws {
    let lines = try EngineHarness.printed(
      """
      speaker.open { add_all = true }
      for number = 1, 3 do
        speaker.on("state", function(e)
          if e.state ~= "playing" then return end
          print("called", number)
          task.sleep(0.5)
          print("after", number)
        end)
      end
      speaker.play "tone.wav"
      """)
    #expect(lines == ["called\t1", "called\t2", "called\t3", "after\t1", "after\t2", "after\t3"])
  }

  @Test(
    "a listener that fails is reported with its position, counted on its subscription, and harms no other")
  func failing() throws {
    let outcome = try EngineHarness().run(
      """
      speaker.open { add_all = true }
      local bad = speaker.on("time", function() local x = nil; x.y = 1 end)
      local good = speaker.on("time", function(e) print(e.elapsed) end)
      speaker.play "tone.wav"
      speaker.finish()
      task.sleep(1)
      print(bad.failures, good.failures, bad.active)
      """)
    #expect(outcome.lines == ["1", "2", "3", "3\t0\ttrue"])
    #expect(outcome.failures.count == 3 && outcome.status == 1)
    let reported = outcome.failures.first?.description
    #expect(
      reported?.hasPrefix("on \"time\": test.lua:2: attempt to index a nil value") == true, "\(outcome)")
  }

  @Test("once is called once; cancel ends a subscription, also for the event that is being published")
  func cancel() throws {
    let lines = try EngineHarness.printed(
      """
      speaker.open { add_all = true }
      local first = speaker.once("time", function(e) print("once", e.elapsed) end)
      local third
      local second = speaker.on("time", function(e) print("on", e.elapsed) third:cancel() end)
      third = speaker.on("time", function(e) print("never") end)
      print(first, first.event, first.active)
      speaker.play "tone.wav"
      task.sleep(2.5)
      second:cancel()
      second:cancel()
      print(first.active, second.active, second)
      speaker.finish()
      """)
    #expect(
      lines.filter { $0 != "never" } == [
        "subscription to \"time\" (active)\ttime\ttrue", "once\t1", "on\t1", "on\t2",
        "false\tfalse\tsubscription to \"time\" (cancelled)",
      ])
    // Its routine had been started already when the first event came, at most.
    #expect(lines.count { $0 == "never" } == 0, "cancel came before the listener's turn")
  }

  @Test("subscriptions live without a reference")
  func rooted() throws {
    let lines = try EngineHarness.printed(
      """
      speaker.open { add_all = true }
      speaker.on("ended", function() print "heard" end)
      collectgarbage() collectgarbage()
      speaker.play "tone.wav"
      collectgarbage() collectgarbage()
      """)
    #expect(lines == ["heard"])
  }

  @Test(
    "an event that is not there lists those that are",
    arguments: [
      ("speaker.on('stat', print)", "device, volume, state, time, ended, track, error, " + suspensions),
      ("speaker.wait('stat')", "device, volume, state, time, ended, track, error, " + suspensions),
      (
        "speaker.own:once('device', print)",
        "state, time, ended, track, error, " + suspensions + ", closed"
      ),
      ("speaker.device'Kitchen':wait('error')", "device, volume, state, time, ended, track, " + suspensions),
      ("speaker.group'Kitchen':wait('error')", "device, volume, state, time, ended, track, " + suspensions),
    ])
  func unknown(_ call: String, _ known: String) throws {
    let line = try #require(try EngineHarness.printed("print(failure(function() \(call) end))").first)
    #expect(line.hasPrefix("test.lua:1: bad argument #1 to '") && line.hasSuffix("events here: \(known))"))
  }

  @Test("a listener that is no function, and a time that is none, are named")
  func misuse() throws {
    let lines = try EngineHarness.printed(
      """
      print(message(speaker.on, "time"))
      print(message(speaker.wait, "time", "soon"))
      print(message(speaker.wait, "time", -1))
      """)
    #expect(lines[0] == "bad argument #2 to 'on' (function expected, got no value)")
    #expect(lines[1].hasPrefix("bad argument #2 to 'wait' (\"soon\" is not a duration"))
    #expect(lines[2].hasPrefix("bad argument #2 to 'wait' (0 or more seconds expected"))
  }

  @Test("a script that waits for what can't happen any more fails with an error that names it")
  func stuck() throws {
    var harness = try EngineHarness()
    harness.limit = nil
    let outcome = try harness.run("speaker.wait 'volume'")
    #expect(outcome.failures.map(\.code) == ["script.stuck"] && outcome.status == 1)
  }

  @Test("no event is delivered after the script has ended")
  func afterTheEnd() throws {
    let outcome = try EngineHarness().run(
      """
      speaker.on("state", function(e) print(e.state) end)
      speaker.on("ended", function(e) print(e.reason) end)
      speaker.play "long.wav"
      task.sleep(1)
      os.exit(0)
      """)
    #expect(outcome.lines == ["playing"] && outcome.failures.isEmpty)
  }
}
