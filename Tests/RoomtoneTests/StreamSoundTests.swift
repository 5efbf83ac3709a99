import Home
import LuaRuntime
import TestSupport
import TestTraits
import Testing

@Suite("stream: what is done to the sound", .waiting, .serialized)
struct StreamSoundTests {
  private let station: Station

  init() throws { station = try Station() }

  /// A station that plays a file over and over at the pace of hearing.
  private func live(_ file: String = "mp3-cbr128-44k.mp3", bytesPerSecond: Int = 16_000) throws -> Live {
    let bytes = try readBytes(Fixtures.path(file))
    var live = Live(.init(repeating: bytes, bytesPerSecond: bytesPerSecond))
    live.pace = .realTime(1)
    return live
  }

  private static let prelude =
    "local stream = require 'stream' local radio = stream.new(url, { buffer_wait = 0.5 }) "

  private func run(_ code: String, output: String? = nil) throws -> EngineHarness.Outcome {
    var harness = try EngineHarness(wall: true)
    if let output { harness.configuration = "house { output = 'wav:\(output)' }" }
    return try harness.run("local url = '\(station.url("/live"))' " + Self.prelude + code)
  }

  private func printed(_ code: String, output: String? = nil) throws -> [String] {
    let outcome = try run(code, output: output)
    if let failure = outcome.failures.first { throw failure }
    return outcome.lines
  }

  // MARK: Gain and levels

  @Test("levels tell of what plays silently, follow the gain, and are silence while nothing plays")
  func levels() throws {
    station.answer("/live", with: .live(try live()))
    let lines = try printed(
      """
      print(message(radio.levels, radio), radio.gain)
      radio:meter(true)
      print(radio:levels().left == -math.huge)
      radio:start()
      local function loudest(seconds)
        local level = -math.huge
        for _ = 1, seconds * 20 do
          task.sleep(0.05)
          local now = radio:levels()
          level = math.max(level, now.left)
          assert(now.peak_left >= now.left and now.peak_right >= now.right)
        end
        return level
      end
      local before = loudest(1.5)
      print(before > -40 and before < 0)
      radio:set_gain(-40)
      task.sleep(0.5)
      local after = loudest(1.5)
      print(math.abs(before - after - 40) < 6, radio.gain)
      radio:pause()
      print(radio:levels().peak_right == -math.huge)
      radio:stop()
      radio:start()
      task.sleep(0.5)
      print(radio.gain, math.abs(loudest(1.5) - after) < 6)
      radio:meter(false)
      print(message(radio.levels, radio))
      radio:stop()
      """)
    #expect(
      lines == [
        "the stream is not metered\t0.0", "true", "true", "true\t-40.0", "true", "-40.0\ttrue",
        "the stream is not metered",
      ])
  }

  @Test("the position of a stream that is metered goes on in real time, also where it is moved")
  func silentPosition() throws {
    station.answer("/live", with: .live(try live()))
    let lines = try printed(
      """
      -- A machine that is busy may be late for a moment, and catches up.
      local function soon(condition)
        for _ = 1, 600 do
          if condition() then return true end
          task.sleep(0.05)
        end
        return false
      end
      radio:meter(true)
      radio:start()
      task.sleep(1)
      local shift = radio.time_shift
      local function isAt(place) return function() return math.abs(radio.time_shift - place) < 1 end end
      task.sleep(1)
      print(soon(isAt(shift)))
      local back = radio:rewind(2)
      print(back > 0.3, soon(isAt(shift + back)))
      task.sleep(0.5)
      print(soon(isAt(shift + back)), soon(function() return radio:levels().left > -math.huge end))
      radio:pause()
      local paused = radio.byte_offset
      task.sleep(0.3)
      print(radio.byte_offset == paused, radio.status)
      radio:start()
      print(soon(function() return radio.byte_offset > paused end))
      radio:stop()
      """)
    #expect(lines == ["true", "true\ttrue", "true\ttrue", "true\tpaused", "true"])
  }

  @Test("a session takes over from the silent player, and gives back")
  func takesOver() throws {
    station.answer("/live", with: .live(try live()))
    let lines = try printed(
      """
      radio:meter(true)
      local formats = {}
      radio:on("tap_created", function(event) formats[#formats + 1] = event.rate .. "/" .. event.channels end)
      radio:tap(stream.effect.mono())
      radio:start()
      local function loud()
        for _ = 1, 200 do
          task.sleep(0.05)
          if radio:levels().left > -60 then return true end
        end
      end
      print(loud())
      speaker.play_stream(radio)
      print(speaker.state(), loud())
      speaker.stop()
      task.sleep(0.1)
      print(radio.is_playing, loud(), table.concat(formats, " "))
      radio:stop()
      speaker.play_stream(radio)
      print(speaker.state(), loud())
      radio:stop()
      """)
    #expect(lines == ["true", "playing\ttrue", "true\ttrue\t44100/2", "playing\ttrue"])
  }

  @Test("a tap has its `tap_created` before its first block, and its `tap_disposed` after its last")
  func tapEvents() throws {
    station.answer("/live", with: .live(try live()))
    let lines = try printed(
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

  @Test("a file that is metered plays silently to its end, and every frame of it goes through its taps")
  func silentFile() throws {
    let lines = try printed(
      """
      local file = stream.file "\(Fixtures.path("mp3-mpeg25-32-11k-mono.mp3"))"
      file:meter(true)
      local frames, loudest
      local tap = file:tap(function(block)
        frames = frames + block.frames
        loudest = math.max(loudest, block:rms())
      end)
      -- On a machine that is busy a tap may miss some: then again.
      local event, length
      for _ = 1, 5 do
        local overruns = tap.overruns
        frames, loudest = 0, -math.huge
        file:start()
        length = file.file_duration
        event = file:wait("file_complete", 60)
        if tap.overruns == overruns then break end
      end
      print(event ~= nil, file.status)
      print(math.abs(frames / 11025 - length) < 0.2, loudest > -40)
      """)
    #expect(lines == ["true\tstopped", "true\ttrue"])
  }

  // MARK: Taps

  @Test("a tap's function sees blocks of what plays, and nothing of them later")
  func blocks() throws {
    station.answer("/live", with: .live(try live()))
    let lines = try printed(
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

  @Test("a tap that fails is logged with its traceback, and again once a minute with a count")
  func failing() throws {
    let harness = try EngineHarness()
    let outcome = try harness.run(
      """
      local stream = require "stream"
      local radio = stream.new "http://127.0.0.1:1/live.mp3"
      local tap = radio:tap(function() error "no good" end)
      radio:start()
      task.sleep "150s"
      print(tap.failures > 1000, tap.active)
      radio:stop()
      """)
    #expect(outcome.lines == ["true\ttrue"])
    #expect(outcome.failures.count == 3, "\(outcome.failures.count)")
    #expect(outcome.failures.first?.context == "a tap")
    #expect(outcome.failures.first?.traceback?.contains("test.lua:3") == true)
    let last = try #require(outcome.failures.last?.context)
    #expect(last.hasPrefix("a tap (failed ") && last.hasSuffix(" times so far)"), "\(last)")
  }

  @Test("taps tell when they get sound and when that ends: removed, stopped, or in another format")
  func tells() throws {
    let first = try readBytes(Fixtures.path("mp3-cbr128-44k.mp3"))
    let second = try readBytes(Fixtures.path("mp3-mpeg2-64-22k.mp3"))
    var live = Live(.init(repeating: Array(first.prefix(24_000)) + second, bytesPerSecond: 12_000))
    live.pace = .realTime(1)
    live.age = 0
    station.answer("/live", with: .live(live))
    let lines = try printed(
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
    let lines = try printed(
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
    "what a tap's function holds is let go when the tap is removed, and when nobody has the stream any more")
  func collected() throws {
    let lines = try printed(
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

  @Test("a function that fails is told with its traceback and counted, and the sound goes on")
  func fails() throws {
    station.answer("/live", with: .live(try live()))
    let outcome = try run(
      """
      radio:meter(true)
      local tap = radio:tap(function(block) block:set(1, 1, 0) error "no idea" end)
      radio:start()
      for _ = 1, 600 do
        if tap.failures > 2 and radio:levels().left > -60 then break end
        task.sleep(0.05)
      end
      print(tap.failures > 2, radio:levels().left > -60, tap.active)
      radio:stop()
      """)
    #expect(outcome.lines == ["true\ttrue\ttrue"])
    let failure = try #require(outcome.failures.first)
    #expect(failure.message.contains("no idea") && failure.traceback?.contains("test.lua") == true)
  }

  @Test(
    "what taps and effects can't be is named",
    arguments: [
      "radio.tap, radio, 'mono'", "radio.tap, radio", "radio.set_gain, radio, 13",
      "radio.set_gain, radio, -91",
      "radio.set_gain, radio, 0/0", "radio.meter, radio, 1", "stream.effect.lowpass, 9",
      "stream.effect.highpass, 20001", "stream.effect.gain, 'loud'", "stream.effect.equalizer, 'opera'",
      "stream.effect.equalizer, { [63] = 1 }",
    ])
  func misuse(call: String) throws {
    #expect(try printed("print(code(\(call)))") == ["argument"])
  }

  // MARK: On a session

  /// Returns the sound of a session from the start of a programme, while a script runs.
  private func played(_ code: String) throws -> (sound: Sound, lines: [String]) {
    var live = try live("mp3-mpeg25-32-11k-mono.mp3", bytesPerSecond: 4_000)
    // All of it is in the burst, with more than is decoded ahead.
    live.age = 40_000
    live.burst = 400_000
    station.answer("/live", with: .live(live))
    let folder = try TemporaryFolder()
    let lines = try printed(
      "speaker.set_volume(50) \(code) speaker.stop() radio:stop() task.sleep(0.2)", output: folder.file("out")
    )
    return (try Sound(file: folder.file("out/Bathroom.wav")), lines)
  }

  /// The same with a `tap` that misses sound `overruns` times: again if a machine that is busy made it more.
  private func played(_ code: String, overruns: Int) throws -> (sound: Sound, lines: [String]) {
    for _ in 1...5 {
      let (sound, lines) = try played(code + " print(tap.overruns)")
      if lines.last == "\(overruns)" { return (sound, lines.dropLast()) }
    }
    throw TestFailure("in five runs the tap never had \(overruns) overruns")
  }

  private func scaled(_ sound: Sound, by factor: Float) -> Sound {
    Sound(sampleRate: sound.sampleRate, channels: sound.channels.map { $0.map { $0 * factor } })
  }

  /// `sound` and what is the same of `original`, from a place on where both are heard, up to where the first of them
  /// was stopped: a machine that is busy stops late, and a file goes on in silence for some time.
  private func pair(_ sound: Sound, _ original: Sound) -> (sound: Sound, original: Sound) {
    let delay = sound.alignment(to: original).frames
    let start = max(0, delay)
    func end(_ sound: Sound) -> Int { (sound.channels[0].lastIndex { abs($0) > 0.001 } ?? -1) + 1 }
    let count = min(end(sound) - start, end(original) - (start - delay))
    return (sound[start..<(start + count)], original[(start - delay)..<(start - delay + count)])
  }

  private static let halve =
    """
    local function halve(block)
      for i = 1, block.frames do block:set(i, 1, block:get(i, 1) / 2) end
    end

    """

  @Test(
    "a tap that halves the samples gives 6.02 dB less; an effect of 6.02 dB gives that back; removed, it is gone"
  )
  func halves() throws {
    let original = try played("speaker.play_stream(radio) task.sleep(7)").sound
    let (sound, lines) = try played(
      Self.halve + """
        local tap = radio:tap(halve)
        speaker.play_stream(radio)
        task.sleep(0.5)
        local effect = radio:tap(stream.effect.gain(6.0206))
        task.sleep(2)
        tap:remove()
        effect:remove()
        task.sleep(3.2)
        print(tap.failures)
        """, overruns: 0)
    #expect(lines == ["0"])
    let (heard, reference) = pair(sound, original)
    // Blocks of 100 ms that are heard at all, less their rises and falls.
    let differences = zip(heard.levels(blockSeconds: 0.1), reference.levels(blockSeconds: 0.1))
      .filter { $1 > -50 }.map { $0 - $1 }
    let (halved, whole) = (
      differences.count { abs($0 + 6.02) < 0.1 }, differences.count { abs($0) < 0.1 }
    )
    #expect(halved >= 4 && whole >= 20 && differences.count - halved - whole <= 6, "\(differences)")
    #expect(differences.prefix(4).count { abs($0 + 6.02) < 0.1 } >= 3)
    let late = (heard.frameCount - 72_000)..<(heard.frameCount - 24_000)
    #expect(heard[late].errorToSignal(against: reference[late]) < -60)
  }

  @Test(
    "a script that is busy for more than a second leaves no gap and no click, and an overrun is told once")
  func busy() throws {
    let original = try played("speaker.play_stream(radio) task.sleep(5)").sound
    let (sound, lines) = try played(
      Self.halve + """
        local function now()
          local file = assert(io.open "/proc/uptime")
          local time = file:read "n"
          file:close()
          return time
        end
        local isBusy
        local tap = radio:tap(function(block)
          halve(block)
          if not isBusy then return end
          isBusy = false
          local start = now()
          repeat until now() > start + 1.4
          block:set(block.frames, 1, block:get(1, 1))
        end)
        local told = {}
        radio:on("tap_overrun", function(event)
          told[#told + 1] = tostring(event.tap == tap and event.seconds > 0.05 and event.seconds < 30)
        end)
        speaker.play_stream(radio)
        task.sleep(1)
        isBusy = true
        task.sleep(3.5)
        print(isBusy, tap.failures, table.concat(told, " "))
        """, overruns: 1)
    #expect(lines == ["false\t0\ttrue"])
    let (heard, reference) = pair(sound, original)
    let inside = 4_800..<(heard.frameCount - 4_800)
    #expect(inside.count > 3 * 48_000)
    // Between the half and the whole, everywhere, and from one to the other over 20 ms.
    let half = scaled(reference, by: 0.5)
    let rest = zip(heard.channels[0], half.channels[0]).map { $0 - $1 }
    let wrong = inside.count {
      abs(rest[$0] - half.channels[0][$0] / 2) > abs(half.channels[0][$0] / 2) + 0.001
    }
    #expect(wrong == 0)
    let extra = Sound(sampleRate: 48_000, channels: [Array(rest[inside])])
    #expect(extra.largestStep < half.largestStep + half.peak / 400 + 0.001)
    #expect(extra.level > half.level - 20)
  }
}
