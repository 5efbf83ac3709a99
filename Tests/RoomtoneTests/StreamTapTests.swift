import Home
import LuaRuntime
import TestSupport
import TestTraits
import Testing

@Suite("stream: taps", .waiting, .serialized, .tags(.stream, .taps))
struct StreamTapTests {
  private let radio: StreamSoundHarness

  init() throws { radio = try StreamSoundHarness() }

  @Test("a tap has its `tap_created` before its first block, and its `tap_disposed` after its last")
  func tapEvents() throws {
    radio.station.answer("/live", with: .live(try StreamSoundHarness.live()))
    let lines = try radio.printed(
      """
      local order, blocks = {}, 0
      radio:on("tap_created", function() order[#order + 1] = "created" end)
      radio:on("tap_disposed", function() order[#order + 1] = "disposed" end)
      radio:tap(function()
        blocks = blocks + 1
        if order[#order] ~= "block" then order[#order + 1] = "block" end
      end)
      radio:start()
      while blocks < 5 do task.sleep(0.05) end
      radio:stop()
      task.sleep(0.2)
      print(table.concat(order, " "))
      """)
    #expect(lines == ["created block disposed"])
  }

  @Test("a tap that loops is removed when it ran too long, with one failure and a warning that name it")
  func loopingTap() throws {
    var harness = try EngineHarness()
    harness.configuration += " limits { run = 0.2 }"
    let outcome = try harness.run(
      """
      local file = require "stream".file "\(Fixtures.path("mp3-mpeg25-32-11k-mono.mp3"))"
      local tap = file:tap(function() while true do end end)
      file:start()
      print(file:wait("file_complete") ~= nil)
      print(tap.active, tap.failures, tostring(tap))
      """)
    #expect(outcome.lines == ["true", "false\t1\ttap of a function (removed)"])
    #expect(outcome.failures.map(\.code) == ["script.blocked"])
    #expect(outcome.failures.first?.context == "a tap" && outcome.failures.first?.location == "test.lua:2")
    let removal = outcome.log.filter { $0.message.contains("is removed") }
    #expect(removal.count == 1 && removal.first?.level == .warn)
    #expect(removal.first?.fields == ["where=test.lua:2"])
    #expect(removal.first?.message.contains("mp3-mpeg25-32-11k-mono.mp3") == true)
  }

  @Test("a script that waits for a silent file with a tap is not stuck, under simulation and for real")
  func silentTappedFile() throws {
    for wall in [false, true] {
      let outcome = try EngineHarness(wall: wall).run(
        """
        local file = require "stream".file "\(Fixtures.path("mp3-mpeg25-32-11k-mono.mp3"))"
        local blocks = 0
        file:tap(function() blocks = blocks + 1 end)
        file:start()
        print(file:wait "file_complete" ~= nil, blocks > 5)
        """)
      #expect(outcome.lines == ["true\ttrue"] && outcome.failures.isEmpty)
    }
  }

  @Test("a tap's function sees blocks of what plays, and nothing of them later")
  func blocks() throws {
    radio.station.answer("/live", with: .live(try StreamSoundHarness.live()))
    let lines = try radio.printed(
      """
      local kept, seen, shown
      local tap = radio:tap(function(block)
        kept, seen = block, (seen or 0) + block.frames
        if not shown and block:rms() > -40 then
          shown = true
          print(block.rate, block.channels, block.frames > 400, tostring(block):match "^block")
          local sum = 0
          for i = 1, block.frames do sum = sum + block:get(i, 1) ^ 2 end
          print(math.abs(10 * math.log(sum / block.frames, 10) - block:rms(1)) < 0.001)
          local bands = block:spectrum(1024)
          local loudest = -math.huge
          for i = 1, #bands do loudest = math.max(loudest, bands[i]) end
          print(#bands, loudest > -60 and loudest < 6)
          for _, call in ipairs {
            { block.get, 0, 1 }, { block.get, block.frames + 1, 1 }, { block.get, 1, 3 }, { block.set, 1, 1, 0 / 0 },
            { block.set, 1, 1, math.huge }, { block.rms, 3 }, { block.spectrum, 60 }, { block.spectrum, 4096 },
            { block.set, 1, 1 }
          } do
            assert(code(call[1], block, call[2], call[3], call[4]) == "argument")
          end
          print(code(task.sleep, 1))
          print(select("#", block:set(1, 1, 0.25)), block:get(1, 1))
        end
      end)
      radio:start()
      for _ = 1, 600 do
        if shown then break end
        task.sleep(0.05)
      end
      task.sleep(0.1)
      print(message(function() return kept.frames end))
      print(message(kept.get, kept, 1, 1), tostring(kept))
      tap:remove()
      local before = seen
      task.sleep(0.3)
      print(seen == before, tap.active, tap.failures)
      tap:remove()
      radio:stop()
      """)
    let gone = "a block is there only while the tap's function runs"
    #expect(
      lines == [
        "44100\t2\ttrue\tblock", "true", "1024\ttrue", "task.cannot_suspend", "0\t0.25", gone,
        "\(gone)\tblock (gone)", "true\tfalse\t0",
      ])
  }

  @Test(
    "a tap that fails is logged with its traceback, then once a minute with a count, and the sound continues")
  func failing() throws {
    let harness = try EngineHarness()
    let outcome = try harness.run(
      """
      local stream = require "stream"
      local radio = stream.new "http://127.0.0.1:1/live.mp3"
      local tap = radio:tap(function(block) block:set(1, 1, 0) error "no good" end)
      radio:meter(true)
      radio:start()
      local loudest = -math.huge
      for _ = 1, 150 do
        task.sleep(1)
        loudest = math.max(loudest, radio:levels().left)
      end
      print(tap.failures > 1000, tap.active, loudest > -40)
      radio:stop()
      """)
    #expect(outcome.lines == ["true\ttrue\ttrue"])
    #expect(outcome.failures.count == 3, "\(outcome.failures.count)")
    #expect(outcome.failures.first?.context == "a tap")
    #expect(outcome.failures.first?.traceback?.contains("test.lua:3") == true)
    let last = try #require(outcome.failures.last?.context)
    #expect(last.hasPrefix("a tap (failed ") && last.hasSuffix(" times so far)"), "\(last)")
  }

  @Test("taps report when their sound begins and ends: removed, stopped, or in another format")
  func events() throws {
    let first = try readBytes(Fixtures.path("mp3-cbr128-44k.mp3"))
    let second = try readBytes(Fixtures.path("mp3-mpeg2-64-22k.mp3"))
    var live = Live(.init(repeating: Array(first.prefix(24_000)) + second, bytesPerSecond: 12_000))
    live.pace = .realTime(1)
    live.age = 0
    radio.station.answer("/live", with: .live(live))
    let lines = try radio.printed(
      """
      local tap = radio:tap(function() end)
      for _, name in ipairs { "tap_created", "tap_disposed" } do
        radio:on(name, function(event) print(name, event.tap == tap, event.rate, event.channels) end)
      end
      radio:start()
      repeat local event = radio:wait("tap_created", 30) until not event or event.rate == 22050
      radio:stop()
      task.sleep(0.2)
      print "again"
      radio:start()
      radio:wait("tap_created", 30)
      tap:remove()
      task.sleep(0.2)
      radio:stop()
      task.sleep(0.1)
      """)
    let split = try #require(lines.firstIndex(of: "again"))
    // It comes in anywhere: the first format of a connection may be either.
    for part in [lines[..<split], lines[(split + 1)...]] {
      #expect(part.enumerated().allSatisfy { $1.hasPrefix($0 % 2 == 0 ? "tap_created" : "tap_disposed") })
      #expect(part.count >= 2 && part.count % 2 == 0, "\(lines)")
      let formats = part.map { $0.split(separator: "\t").dropFirst().joined(separator: " ") }
      #expect(stride(from: 0, to: formats.count, by: 2).allSatisfy { formats[$0] == formats[$0 + 1] })
    }
    #expect(lines[..<split].contains("tap_created\ttrue\t44100\t2") || lines.count > 5)
    #expect(lines[split - 1] == "tap_disposed\ttrue\t22050\t2")
  }

  @Test("a tap may stop its stream, also while a session begins to play it")
  func stops() throws {
    let lines = try radio.printed(
      """
      local file = stream.file "\(Fixtures.path("mp3-cbr128-44k.mp3"))"
      local count = 0
      file:tap(function(block)
        count = count + 1
        if count == 3 then file:stop() print(block.frames > 0, block:rms() > -100) end
      end)
      local raised = code(speaker.play_stream, file)
      for _ = 1, 600 do
        if file.status == "stopped" then break end
        task.sleep(0.05)
      end
      task.sleep(0.05)
      print(raised == "none" or raised == "task.cancelled", count >= 3, file.status, speaker.state())
      """)
    #expect(lines == ["true\ttrue", "true\ttrue\tstopped\tstopped"])
  }

  @Test(
    "the values of a tap's function are released with the tap, and with the last reference to the stream")
  func collected() throws {
    let lines = try radio.printed(
      """
      local weak = setmetatable({}, { __mode = "v" })
      local function tap(name)
        local other, held = stream.new(url), {}
        weak[name] = held
        return other:tap(function() return held end), other
      end
      local removed, kept = tap "removed"
      local left = tap "left"
      removed:remove()
      for _ = 1, 3 do
        collectgarbage()
        task.sleep(0.01)
      end
      print(weak.removed, weak.left, left.active, removed.active, kept.status)
      """)
    #expect(lines == ["nil\tnil\tfalse\tfalse\tstopped"])
  }

  @Test(
    "impossible taps and effects are named",
    arguments: [
      "radio.tap, radio, 'mono'", "radio.tap, radio", "radio.set_gain, radio, 13",
      "radio.set_gain, radio, -91",
      "radio.set_gain, radio, 0/0", "radio.meter, radio, 1", "stream.effect.lowpass, 9",
      "stream.effect.highpass, 20001", "stream.effect.gain, 'loud'", "stream.effect.equalizer, 'opera'",
      "stream.effect.equalizer, { [63] = 1 }",
    ])
  func misuse(call: String) throws {
    #expect(try radio.printed("print(code(\(call)))") == ["argument"])
  }
}
