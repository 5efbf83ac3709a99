import HeadsetBoard
import TestSupport
import TestTraits
import Testing

@Suite("functions of a headset, from a script", .waiting, .tags(.headset, .equalizer))
struct HeadsetSoundTests {
  @Test("ambient sound has two sides and the most of each; either may stay as it is")
  func ambient() throws {
    let lines = try HeadsetHarness.printed(
      """
      local function show(a) return a.left, a.right, a.max.left, a.max.right end
      h:on("ambient", function(event) print("event", event.left, event.right) end)
      local most = h:ambient_max()
      print(most.left, most.right)
      h:set_ambient { left = 9, right = 3 }
      print(show(h:ambient()))
      h:set_ambient { right = 1 }
      print(show(h:ambient()))
      local err = failure(h.set_ambient, h, { left = 1, right = 5 })
      print(err.code, err.message)
      print(show(h:ambient()))
      task.sleep(10)
      """, profile: try BoardProfile(named: "asymmetric"), gestures: [(5, "ambient left 4")])
    #expect(
      lines.filter { !$0.hasPrefix("event") } == [
        "10\t4", "9\t3\t10\t4", "9\t1\t10\t4",
        "headset.range\tset ambient: the right side takes 0 to 4, not 5", "9\t1\t10\t4",
      ])
    #expect(lines.filter { $0.hasPrefix("event") }.suffix(2) == ["event\t9\t1", "event\t4\t1"])
  }

  @Test(
    "the equalizer has bands with units, presets with names, and values that are set one by one or together")
  func equalizer() throws {
    let lines = try HeadsetHarness.printed(
      """
      local function show(e)
        print(e.preset, e.preset_name, e.min, e.max, table.concat(e.values, " "))
      end
      h:on("equalizer", function(event)
        print("event", event.preset, event.preset_name, table.concat(event.values, " "))
      end)
      -- Nothing has to be asked for first.
      h:set_band("user", 2, -7)
      local e = h:equalizer()
      for i, band in ipairs(e.bands) do e.bands[i] = band.frequency .. " " .. band.unit .. " " .. band.hertz end
      print(table.concat(e.bands, ", "))
      show(e)
      show(h:equalizer("user"))
      h:set_preset "movie"
      h:set_band(1, 10, 12)
      show(h:equalizer())
      h:set_equalizer("movie", { 1, 2, 3, 4, 5, -1, -2, -3, -4, -5.0 })
      show(h:equalizer(1))
      h:reset_preset("movie")
      show(h:equalizer())
      h:set_preset(3)
      show(h:equalizer())
      task.sleep(10)
      """, gestures: [(5, "preset 2")])
    #expect(
      lines.filter { !$0.hasPrefix("event") } == [
        "31.25 Hz 31.25, 62.5 Hz 62.5, 125 Hz 125, 250 Hz 250, 500 Hz 500, 1 kHz 1000, 2 kHz 2000, "
          + "4 kHz 4000, 8 kHz 8000, 16 kHz 16000",
        "0\tmusic\t-12\t12\t4 3 2 0 -1 0 1 2 3 4",
        "3\tuser\t-12\t12\t0 -7 0 0 0 0 0 0 0 0",
        "1\tmovie\t-12\t12\t6 5 3 1 0 1 2 3 3 12",
        "1\tmovie\t-12\t12\t1 2 3 4 5 -1 -2 -3 -4 -5",
        "1\tmovie\t-12\t12\t6 5 3 1 0 1 2 3 3 2",
        "3\tuser\t-12\t12\t0 -7 0 0 0 0 0 0 0 0",
      ])
    #expect(
      lines.filter { $0.hasPrefix("event") } == [
        "event\t1\tmovie\t6 5 3 1 0 1 2 3 3 2", "event\t1\tmovie\t6 5 3 1 0 1 2 3 3 12",
        "event\t1\tmovie\t1 2 3 4 5 -1 -2 -3 -4 -5", "event\t1\tmovie\t6 5 3 1 0 1 2 3 3 2",
        "event\t3\tuser\t0 -7 0 0 0 0 0 0 0 0", "event\t2\tvoice\t-6 -4 -2 1 4 5 4 2 0 -2",
      ])
  }

  @Test("the battery is queried and reported")
  func battery() throws {
    let lines = try HeadsetHarness.printed(
      """
      h:on("battery", function(event) print("event", event.percent, event.charging) end)
      print(h:battery().percent, h:battery().charging)
      task.sleep(10)
      print(h:battery().percent, h:battery().charging)
      """, gestures: [(5, "battery 20"), (6, "charging on")])
    #expect(lines == ["80\tfalse", "event\t20\tfalse", "event\t20\ttrue", "20\ttrue"])
  }

  @Test("an ability that a headset lacks raises an error with Avnera's name for it")
  func lacks() throws {
    let cases: [(String, String, String)] = [
      ("no-bands", "h.equalizer, h", "headset.no_bands\tTARGET_HAS_NO_BANDS"),
      ("no-bands", "h.set_preset, h, 0", "headset.no_bands\tTARGET_HAS_NO_BANDS"),
      (
        "eleven-bands", "h.set_band, h, 0, 1, 1",
        "headset.too_many_bands\tUP_TO_10_BANDS_ARE_UNSUPPORTED_ERROR"
      ),
      ("no-ambient", "h.ambient, h", "headset.unsupported\tnil"),
      ("no-ambient", "h.set_ambient, h, { left = 0 }", "headset.unsupported\tnil"),
      ("no-noise-cancelling", "h.noise_cancelling, h", "headset.unsupported\tnil"),
      ("no-battery", "h.battery, h", "headset.unsupported\tnil"),
      ("one-band", "h.set_band, h, 0, 2, 0", "headset.range\tnil"),
      ("standard", "h.set_band, h, 'music', 1, 13", "headset.range\tnil"),
      ("standard", "h.set_band, h, 'music', 1, 1000", "headset.range\tnil"),
      ("standard", "h.set_band, h, 'music', 11, 1", "headset.range\tnil"),
      ("standard", "h.set_equalizer, h, 0, { 1, 2 }", "headset.wrong_band_count\tWRONG_NUMBER_OF_BANDS"),
      ("standard", "h.set_equalizer, h, 0, { 0, 0, 0, 0, 0, 0, 0, 0, 0, -13 }", "headset.range\tnil"),
    ]
    for (profile, call, expected) in cases {
      let lines = try HeadsetHarness.printed(
        "local err = failure(\(call)) print(tostring(err.code) .. '\t' .. tostring(err.seed_name))",
        profile: try BoardProfile(named: profile))
      #expect(lines == [expected], "\(profile): \(call)")
    }
  }

  @Test(
    "misuse is reported at the caller's line with the argument",
    arguments: [
      (
        "h:set_noise_cancelling(1)",
        "bad argument #1 to 'set_noise_cancelling' (boolean expected, got number)"
      ),
      (
        "h:set_noise_cancelling()",
        "bad argument #1 to 'set_noise_cancelling' (boolean expected, got no value)"
      ),
      ("h:set_ambient(5)", "bad argument #1 to 'set_ambient' (table expected, got number)"),
      ("h:set_ambient {}", "bad argument #1 to 'set_ambient' (left or right expected, or both)"),
      (
        "h:set_ambient { lft = 1 }",
        "bad argument #1 to 'set_ambient' (no option is called 'lft'; did you mean 'left'?)"
      ),
      (
        "h:set_ambient { left = -1 }",
        "bad argument #1 to 'set_ambient' (option 'left': at least 0 expected, got -1)"
      ),
      (
        "h:set_ambient { left = 1.5 }",
        "bad argument #1 to 'set_ambient' (option 'left': whole number expected, got 1.5)"
      ),
      (
        "h:set_preset 'musik'",
        "bad argument #1 to 'set_preset' (no preset is called 'musik'; did you mean 'music'?)"
      ),
      ("h:set_preset(4)", "bad argument #1 to 'set_preset' (0 to 3 expected, got 4)"),
      ("h:set_preset(0.5)", "bad argument #1 to 'set_preset' (whole number expected, got 0.5)"),
      (
        "h:set_preset {}",
        "bad argument #1 to 'set_preset' (name of a preset, or its number from 0, expected, got table)"
      ),
      ("h:set_band('user', 0, 1)", "bad argument #2 to 'set_band' (at least 1 expected, got 0)"),
      ("h:set_band('user', 1, 'loud')", "bad argument #3 to 'set_band' (number expected, got string)"),
      ("h:set_equalizer('user', 3)", "bad argument #2 to 'set_equalizer' (table expected, got number)"),
      (
        "h:set_equalizer('user', { 1, 'x' })",
        "bad argument #2 to 'set_equalizer' (value 2: number expected, got string)"
      ),
      (
        "h:set_equalizer('user', { 1, 2.5 })",
        "bad argument #2 to 'set_equalizer' (value 2: whole number expected, got 2.5)"
      ),
      (
        "h:equalizer(true)",
        "bad argument #1 to 'equalizer' (name of a preset, or its number from 0, expected, got boolean)"
      ),
      ("h:update_firmware()", "bad argument #1 to 'update_firmware' (string expected, got no value)"),
      (
        "h:update_firmware('a', { on_progress = 1 })",
        "bad argument #2 to 'update_firmware' (option 'on_progress': function expected, got number)"
      ),
      ("h.battery()", "bad argument #1 to 'battery' (headset expected, got no value)"),
      (
        "headset.connect { transport = 'blue' }",
        "bad argument #1 to 'connect' (option 'transport': \"blue\" is not an address of a headset)"
      ),
      (
        "headset.connect { transport = 'tcp:192.168.1.2:70' }",
        "bad argument #1 to 'connect' (option 'transport': \"tcp:192.168.1.2:70\" is not an address of a headset)"
      ),
      (
        "headset.connect { key_file = 1 }",
        "bad argument #1 to 'connect' (option 'key_file': string expected, got number)"
      ),
      ("headset.auto_connect 'yes'", "bad argument #1 to 'auto_connect' (boolean expected, got string)"),
      (
        "h:on('charged', print)",
        "bad argument #1 to 'on' (no event is called 'charged'; events here: connected, disconnected, "
          + "noise_cancelling, ambient, equalizer, bootloader, progress, update_completed, battery, error)"
      ),
    ])
  func misuse(_ call: String, _ message: String) throws {
    let lines = try HeadsetHarness.printed(
      "\nlocal err = failure(function()\n\(call) end) print(err.code, err.where, err.message)")
    #expect(lines == ["argument\ttest.lua:3\t\(message)"])
  }
}
