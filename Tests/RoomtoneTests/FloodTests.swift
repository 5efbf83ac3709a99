import LuaRuntime
import TestSupport
import TestTraits
import Testing

@Suite("a script that makes more calls than can run", .waiting, .tags(.limits))
struct FloodTests {
  @Test("a listener that causes its own event ends the script, which names it", arguments: [false, true])
  func listener(wall: Bool) throws {
    let outcome = try EngineHarness(wall: wall).run(
      """
      speaker.open { add_all = true } local count = 0
      speaker.on("volume", function()
        count = count + 1 speaker.set_volume(count % 50)
      end)
      speaker.set_volume(10)
      task.sleep "1h"
      """)
    #expect(outcome.failures.map(\.code) == ["script.flooded"] && outcome.status == 1)
    let failure = try #require(outcome.failures.first)
    // By the virtual clock the changes of a moment come first.
    let listener = "20000 calls wait to run, 20000 of them: on \"volume\""
    #expect(failure.location == (wall ? "test.lua:2" : "test.lua:3"))
    #expect(failure.message == (wall ? listener : "5000 changes of speakers wait to take effect"))
    #expect(outcome.seconds < 60)
  }

  @Test("tasks that start tasks end the script once, which names their function", arguments: [false, true])
  func tasks(wall: Bool) throws {
    let outcome = try EngineHarness(wall: wall).run(
      """
      local function grow()
        task.spawn(grow)
        task.spawn(grow)
      end
      grow()
      task.sleep "1h"
      """)
    #expect(outcome.failures.map(\.code) == ["script.flooded"] && outcome.status == 1)
    #expect(outcome.failures.first?.location == "test.lua:1")
    #expect(outcome.failures.first?.message.contains("of them: task") == true)
  }

  @Test("changes of speakers that come faster than the house applies them raise")
  func changes() throws {
    let lines = try EngineHarness.printed(
      """
      speaker.open { add_all = true }
      local count, err = 0
      repeat
        count = count + 1
        err = failure(speaker.set_volume, count % 50)
      until err.code ~= "none" or count > 100000
      print(count, err.code, err.message)
      task.sleep(1)
      print(code(speaker.set_volume, 7))
      """)
    #expect(
      lines == ["5001\tscript.flooded\t5000 changes of speakers wait to take effect", "none"])
  }

  @Test(
    "the buffers of streams that play have a limit, which the error names; a stream that stops makes room")
  func buffers() throws {
    var harness = try EngineHarness()
    harness.configuration += " limits { buffers = 20 }"
    let lines = try harness.printed(
      """
      local stream = require "stream"
      local function start(options)
        local radio = stream.new("http://radio.example/", options)
        local _, err = task.try(radio.start, radio)
        print(err and err.code or radio.status, err and err.limit, err and err.message)
        return radio
      end
      -- 1200 blocks of 5 KiB each.
      local first = start()
      start() start()
      start()
      start { buffer_blocks = 400 }
      first:stop()
      start()
      print(code(speaker.play_stream, "http://radio.example/"))
      -- What is only recorded needs no buffer.
      local recordings = {}
      for number = 1, 10 do
        local radio = stream.new "http://radio.example/"
        recordings[number] = task.try(radio.record, radio, number .. ".mp3")
      end
      print(#recordings)
      first = start { buffer_blocks = 10 }
      for _, recording in ipairs(recordings) do recording:stop() end
      print(code(first.set_url, first, "http://radio.example/", { buffer_blocks = 1200 }))
      """)
    let refused =
      "script.memory\t20971520\tthe limit of 20 MB for the buffers of a script's streams is reached: "
    let plays = "playing\tnil\tnil"
    #expect(
      lines == [
        plays, plays, plays, refused + "3 others play", plays, plays, "script.memory", "10", plays,
        "script.memory",
      ])
  }

  @Test("objects that a script holds at once have a limit, which the error names; others make room")
  func objects() throws {
    var harness = try EngineHarness()
    harness.configuration += " limits { objects = 100 }"
    let lines = try harness.printed(
      """
      local stream = require "stream"
      local function fill(make, let_go)
        local kept = {}
        repeat
          local object, err = task.try(make, #kept)
          if object then kept[#kept + 1] = object end
        until err or #kept > 1000
        local _, err = task.try(make, "one more")
        print(#kept, err and err.code, err and err.limit, err and err.message)
        for _, object in ipairs(kept) do object[let_go](object) end
      end
      fill(function() return task.spawn(task.sleep, 60) end, "cancel")
      task.sleep(0)
      fill(function() return speaker.on("volume", print) end, "cancel")
      fill(function(n) return schedule.at("06:45", { name = "job " .. n }, print) end, "cancel")
      fill(function(n) return speaker.session { name = "session " .. n, devices = {} } end, "close")
      do
        local radio = stream.new "http://radio.example/"
        fill(function() return radio:tap(print) end, "remove")
      end
      local streams = {}
      print(code(function()
        while #streams < 1000 do streams[#streams + 1] = stream.new "http://radio.example/" end
      end))
      print(#streams > 90)
      streams = nil
      -- What Lua has let go is no object any more.
      for _ = 1, 1000 do stream.new "http://radio.example/" end
      print(code(stream.file, "tone.wav"))
      """)
    func line(_ count: Int, _ held: String) -> String {
      "\(count)\tscript.objects\t100\tthe script holds \(held): the limit of 100 objects is reached"
    }
    #expect(
      lines == [
        line(100, "100 tasks"), line(100, "100 subscriptions"), line(100, "100 jobs"),
        line(100, "100 sessions"),
        line(99, "1 stream, 99 taps"), "script.objects", "true", "none",
      ])
  }
}
