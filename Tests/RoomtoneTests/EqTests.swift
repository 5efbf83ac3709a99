import HeadsetBoard
import LuaRuntime
import TestSupport
import TestTraits
import Testing

@Suite("eq", .waiting, .tags(.eq, .equalizer, .headset))
struct EqTests {
  /// `headset{bands=, min=, max=}`: one that records its settings, with a pause in every answer, as a real one has.
  private static let prelude =
    """
    local eq, store = require 'eq', require 'store' \
    local function headset(o) \
      o = o or {} \
      local hertz = o.hertz or { 31.25, 62.5, 125, 250, 500, 1000, 2000, 4000, 8000, 16000 } \
      local h = { reported = {} } \
      local function report(...) task.sleep(0.1) h.reported[#h.reported + 1] = table.concat({ ... }, ' ') end \
      function h:equalizer() \
        task.sleep(0.1) \
        if o.fails then error { code = o.fails, message = 'no' } end \
        local bands = {} \
        for i, f in ipairs(hertz) do bands[i] = { frequency = f, unit = 'Hz', hertz = f } end \
        return { bands = bands, min = o.min or -10, max = o.max or 10, preset = 0, preset_name = 'music', values = {} } \
      end \
      function h:set_equalizer(preset, values) \
        for _, v in ipairs(values) do assert(math.type(v) == 'integer') end \
        report('values', preset, table.concat(values, ',')) \
      end \
      function h:set_preset(preset) report('preset', preset) end \
      return h end \
    local function reported(h) return table.concat(h.reported, '; ') end\u{20}
    """

  private func harness() throws -> EngineHarness {
    var harness = try EngineHarness()
    harness.store = harness.folder.file("store.db")
    return harness
  }

  private func printed(_ code: String, _ harness: EngineHarness? = nil) throws -> [String] {
    try (harness ?? self.harness()).printed(Self.prelude + code)
  }

  @Test("every preset of speaker.set_eq has the same gains here")
  func builtIn() throws {
    let lines = try printed(
      """
      local session, other = speaker.own, speaker.session {}
      local count = 0
      for _, name in ipairs(eq.presets()) do
        if task.try(other.set_eq, other, name) == nil and select(2, other:eq()) == name then
          count = count + 1
          assert(eq.apply(session, name) == 1)
          assert(select(2, session:eq()) == name, name)
        end
      end
      print(count, message(speaker.set_eq, "qqqqqqqqqqqqqqqqqqq"):match "known: (.*)")
      """)
    let known = try #require(lines.first?.split(separator: "\t").last?.split(separator: ","))
    #expect(lines.first?.hasPrefix("\(known.count)\t") == true && known.count >= 13, "\(lines)")
  }

  @Test("a session, and speaker itself, sound by the curve")
  func sessions() throws {
    let lines = try printed(
      """
      local session = speaker.session { devices = { "Kitchen" } }
      print(eq.apply(session, "train"), session:eq()[31], session:eq()[8000], speaker.eq()[31])
      eq.define("mine", { [62] = -3.5, [1000] = 12 })
      print(eq.apply(speaker, "mine"), speaker.eq()[31], speaker.eq()[62], speaker.eq()[1000], session:eq()[62])
      """)
    #expect(lines == ["1\t3.0\t1.0\t0.0", "1\t0.0\t-3.5\t12.0\t4.0"])
  }

  @Test(
    "a headset with the same bands gets the gains as whole steps, in its preset 3, which is selected then")
  func sameBands() throws {
    let lines = try printed(
      """
      local h = headset()
      print(eq.apply(h, "bass_boost"), reported(h))
      eq.define("halves", { [31] = 2.5, [62] = -2.5, [125] = 0.4, [250] = -0.4 })
      h.reported = {}
      print(eq.apply(h, "halves"), reported(h))
      """)
    #expect(
      lines == [
        "1\tvalues 3 7,6,5,3,1,0,0,0,0,0; preset 3", "1\tvalues 3 3,-3,0,0,0,0,0,0,0,0; preset 3",
      ])
  }

  @Test("for bands that it has not the curve is read off along the logarithm, beyond its ends as at them")
  func otherBands() throws {
    let lines = try printed(
      """
      eq.define("slope", { [31] = -12, [62] = -12, [125] = -8, [250] = -4, [500] = 0, [1000] = 4, [2000] = 8, [4000] = 12,
        [8000] = 12, [16000] = 12 })
      local h = headset { min = -20, max = 20, hertz = { 10, 1000, 1414.2, 1500, 2000, 353.55, 20000 } }
      eq.apply(h, "slope")
      print(reported(h))
      """)
    // In the middle between 1 and 2 kHz is 1414 Hz; 1500 Hz is 0.585 of the way.
    #expect(lines == ["values 3 -12,4,6,6,8,-2,12; preset 3"])
  }

  @Test("one band is enough, and the order of bands is the headset's")
  func oneBand() throws {
    let lines = try printed(
      """
      local h = headset { hertz = { 1000 } }
      eq.apply(h, "night")
      local backwards = headset { hertz = { 16000, 1000, 31 } }
      eq.apply(backwards, "night")
      print(reported(h), reported(backwards))
      """)
    #expect(lines == ["values 3 2; preset 3\tvalues 3 -3,2,-8; preset 3"])
  }

  @Test("music, movie, voice and user are the headset's own, and nothing is written")
  func own() throws {
    let lines = try printed(
      """
      for _, name in ipairs { "music", "movie", "voice", "user" } do
        local h = headset { fails = "headset.no_bands" }
        print(eq.apply(h, name), reported(h))
      end
      print(message(eq.apply, speaker, "music"):sub(1, 70))
      print(failure(eq.apply, speaker, "music").hint)
      """)
    #expect(
      lines == ["1\tpreset music", "1\tpreset movie", "1\tpreset voice", "1\tpreset user"] + [
        "bad argument #2 to 'apply' (no preset is called 'music'; known: flat, ",
        "headsets alone have a preset of that name",
      ])
  }

  @Test(
    "a curve beyond the headset's range raises before anything is written; with fit all of it gets smaller")
  func range() throws {
    let lines = try printed(
      """

      local h = headset { min = -6, max = 6 }
      local err = failure(function()
        eq.apply(h, "bass_boost")
      end)
      print(err.code, err, reported(h) == "")
      print(code(eq.apply, h, "bass_boost", { fit = false }), reported(h) == "")
      print(("%.3f"):format(eq.apply(h, "bass_boost", { fit = true })), reported(h))
      h.reported = {}
      print(eq.apply(h, "treble", { fit = true }), reported(h))
      eq.define("wide", { [31] = 12, [16000] = -12 })
      local odd = headset { min = -3, max = 12 }
      print(eq.apply(odd, "wide", { fit = true }), reported(odd))
      for _, o in ipairs { { min = 0 }, { min = 2, max = 12 }, { min = -9, max = -1 } } do
        local h = headset(o)
        local err = failure(eq.apply, h, "wide", { fit = true })
        print(err.code, err.hint, reported(h) == "")
      end
      """)
    #expect(
      lines == [
        "headset.range\ttest.lua:4: preset 'bass_boost' needs 7 at 31.25 Hz; the headset's range is -6 to 6 "
          + "(headset.range); with { fit = true } the whole curve is scaled down to fit\ttrue",
        "headset.range\ttrue", "0.857\tvalues 3 6,5,4,3,1,0,0,0,0,0; preset 3",
        "1\tvalues 3 0,0,0,0,0,1,2,3,4,4; preset 3", "0.25\tvalues 3 3,0,0,0,0,0,0,0,0,-3; preset 3",
      ] + Array(repeating: "headset.range\tnil\ttrue", count: 3), "\(lines)")
  }

  @Test("an error of the headset is raised at the script's line, and the preset is not selected then")
  func fails() throws {
    let lines = try printed(
      """

      local function line(h, name)
        local err = failure(function()
          eq.apply(h, name)
        end)
        print(err.code, err.where)
      end
      line(headset { fails = "headset.no_bands" }, "bass")
      local h = headset()
      h.set_equalizer = function() speaker.device "Nobody" end
      line(h, "bass")
      print(reported(h) == "")
      """)
    #expect(lines == ["headset.no_bands\ttest.lua:4", "speaker.unknown\ttest.lua:4", "true"])
  }

  @Test("an error names the line of the script also through task.try, and none where a tail call left none")
  func positions() throws {
    let lines = try printed(
      """
      local _, err = task.try(eq.define, "mine", { [1] = 2 })
      print(err.where, tostring(err):match "^test.lua:1: bad argument #2" ~= nil)
      local ok, other = pcall(function() return eq.define("mine", { [1] = 2 }) end)
      print(ok, tostring(other):match "%[C%]", tostring(other):match "%?:")
      """)
    #expect(lines == ["test.lua:1\ttrue", "false\tnil\tnil"])
  }

  @Test("presets that something else has put into the store are none") func foreign() throws {
    let lines = try printed(
      """
      for i, kept in ipairs { { "x", 0, 0, 0, 0, 0, 0, 0, 0, 0 }, { 1e300, 0, 0, 0, 0, 0, 0, 0, 0, 0 }, { {} }, 5 } do
        store.set("eq.preset.foreign", kept)
        local _, err = task.try(eq.apply, headset(), "foreign")
        print(i, err.code, err.message:match "is not a preset$" ~= nil and err.hint == "define the preset again")
      end
      """)
    #expect(lines == (1...4).map { "\($0)\targument\ttrue" })
  }

  @Test("a definition stays for later runs of the script, can be defined anew, and be removed")
  func keeps() throws {
    let harness = try harness()
    let first = try printed(
      """
      local before = #eq.presets()
      eq.define("kitchen", { [125] = -4 })
      eq.define("été", speaker.eq())
      eq.define("kitchen", { [125] = -5.5 })
      local names = eq.presets()
      print(names[1], #names - before, names[#names - 1], names[#names])
      store.set("eq.preset.odd", "not mine") store.set("other", 1)
      """, harness)
    #expect(first == ["flat\t2\tkitchen\tété"])
    let second = try printed(
      """
      eq.apply(speaker, "kitchen")
      print(speaker.eq()[125], speaker.eq()[31])
      eq.define("kitchen", false)
      print((message(eq.apply, speaker, "kitchen"):gsub("known:.*", "")), store.get "other")
      print((message(eq.apply, speaker, "odd"):gsub("known:.*", "")))
      """, harness)
    #expect(
      second == [
        "-5.5\t0.0", "bad argument #2 to 'apply' (no preset is called 'kitchen'; \t1",
        "the store's value 'eq.preset.odd' is not a preset",
      ])
  }

  @Test(
    "a connected headset uses the curve, and reports it; one without bands raises at the script's line")
  func connected() throws {
    let code =
      """

      local eq = require "eq"
      h:on("equalizer", function(event) print("event", event.preset_name, table.concat(event.values, " ")) end)
      local function apply(name)
        local result, err = task.try(function()
          return (eq.apply(h, name))
        end)
        task.sleep(1)
        print(result or err.code, err and err.where)
      end
      apply "treble_cut"
      apply "movie"
      """
    #expect(
      try HeadsetHarness.printed(code + "print(table.concat(h:equalizer('user').values, ' '))") == [
        "event\tuser\t0 0 0 0 0 -1 -3 -5 -6 -7", "1\tnil", "event\tmovie\t6 5 3 1 0 1 2 3 3 2", "1\tnil",
        "0 0 0 0 0 -1 -3 -5 -6 -7",
      ])
    #expect(
      try HeadsetHarness.printed(code, profile: BoardProfile(named: "one-band"))
        == ["event\tuser\t-1", "1\tnil", "event\tmovie\t6", "1\tnil"])
    #expect(
      try HeadsetHarness.printed(code, profile: BoardProfile(named: "no-bands"))
        == ["headset.no_bands\ttest.lua:6", "headset.no_bands\ttest.lua:6"])
  }

  @Test(
    "misuse raises at the caller's line and names the argument",
    arguments: [
      ("eq.apply()", "#1 to 'apply' (session or headset expected, got nil)"),
      ("eq.apply('kitchen', 'bass')", "#1 to 'apply' (session or headset expected, got string)"),
      ("eq.apply({}, 'bass')", "#1 to 'apply' (session or headset expected, got table)"),
      (
        "eq.apply(speaker.device 'Kitchen', 'bass')",
        "#1 to 'apply' (session or headset expected, got speaker \"Kitchen\""
      ),
      ("eq.apply(speaker)", "#2 to 'apply' (string expected, got nil)"),
      ("eq.apply(speaker, 'bas')", "#2 to 'apply' (no preset is called 'bas'; known: flat, rock, "),
      ("eq.apply(speaker, '\\xff')", "#2 to 'apply' (no preset is called"),
      ("eq.apply(speaker, ('x'):rep(2000))", "#2 to 'apply' (no preset is called"),
      ("eq.apply(speaker, 'bass', true)", "#3 to 'apply' (table expected, got boolean)"),
      ("eq.apply(speaker, 'bass', { fits = true })", "did you mean 'fit'?"),
      ("eq.apply(speaker, 'bass', { fit = 1 })", "option 'fit' of 'apply': boolean expected, got number"),
      ("eq.define()", "#1 to 'define' (string expected, got nil)"),
      ("eq.define('', {})", "#1 to 'define' (1 to 100 bytes of UTF-8 expected)"),
      ("eq.define('\\xff', {})", "#1 to 'define' (1 to 100 bytes of UTF-8 expected)"),
      ("eq.define('flat', {})", "#1 to 'define' ('flat' is the name of a preset that is built in)"),
      ("eq.define('music', false)", "#1 to 'define' ('music' is the name of a preset that is built in)"),
      ("eq.define('a')", "#2 to 'define' (table of bands, or false, expected, got nil)"),
      ("eq.define('a', { [100] = 1 })", "#2 to 'define' (no band is called '100'; bands here: 31, 62, 125"),
      ("eq.define('a', { [31] = 13 })", "#2 to 'define' (band 31: -12 to 12 dB expected, got 13)"),
      ("eq.define('a', { [31] = 0/0 })", "#2 to 'define' (band 31: -12 to 12 dB expected, got"),
      ("eq.define('a', { [31] = 'loud' })", "#2 to 'define' (band 31: number expected, got string)"),
    ])
  func misuse(_ call: String, _ problem: String) throws {
    let lines = try printed(
      """

      local err = failure(function()
        \(call)
      end)
      print(err.code) print(tostring(err)) print(store.get "eq.preset.a")
      """)
    try #require(lines.count == 3, "\(lines)")
    #expect(lines[0] == "argument" && lines[2] == "nil")
    #expect(lines[1].hasPrefix("test.lua:3: ") && lines[1].contains(problem), "\(lines[1])")
  }
}
