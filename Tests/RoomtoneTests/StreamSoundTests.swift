import TestSupport
import TestTraits
import Testing

@Suite("stream: what is done to the sound", .waiting, .serialized, .tags(.stream, .equalizer))
struct StreamSoundTests {
  private let radio: StreamSoundHarness

  init() throws { radio = try StreamSoundHarness() }

  // MARK: Gain and levels

  @Test("levels measure a silent stream, follow the gain, and are silence while nothing plays")
  func levels() throws {
    radio.station.answer("/live", with: .live(try StreamSoundHarness.live()))
    let lines = try radio.printed(
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

  @Test("the position of a metered stream advances in real time, also where it is moved")
  func silentPosition() throws {
    radio.station.answer("/live", with: .live(try StreamSoundHarness.live()))
    let lines = try radio.printed(
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
      local function isAt(position) return function() return math.abs(radio.time_shift - position) < 1 end end
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

  @Test("a session takes over from the silent player, and returns the stream")
  func sessionTakeover() throws {
    radio.station.answer("/live", with: .live(try StreamSoundHarness.live()))
    let lines = try radio.printed(
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

  @Test("a file that is metered plays silently to its end, and every frame of it goes through its taps")
  func silentFile() throws {
    let lines = try radio.printed(
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

  // MARK: On a session

  /// Returns the sound of a session from the start of a programme, while a script runs.
  private func played(_ code: String) throws -> (sound: Sound, lines: [String]) {
    var live = try StreamSoundHarness.live("mp3-mpeg25-32-11k-mono.mp3", bytesPerSecond: 4_000)
    // All of it is in the burst, with more than is decoded ahead.
    live.age = 40_000
    live.burst = 400_000
    radio.station.answer("/live", with: .live(live))
    let folder = try TemporaryFolder()
    let lines = try radio.printed(
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
  /// was stopped: a machine that is busy stops late, and a file continues in silence for some time.
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
    "a script that is busy for more than a second leaves no gap and no click, and one overrun is reported")
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
        local reported = {}
        radio:on("tap_overrun", function(event)
          reported[#reported + 1] = tostring(event.tap == tap and event.seconds > 0.05 and event.seconds < 30)
        end)
        speaker.play_stream(radio)
        task.sleep(1)
        isBusy = true
        task.sleep(3.5)
        print(isBusy, tap.failures, table.concat(reported, " "))
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
