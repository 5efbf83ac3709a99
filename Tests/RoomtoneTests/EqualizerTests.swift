import LuaRuntime
import TestTraits
import Testing

@Suite("speaker: equalizer", .waiting, .tags(.speaker, .equalizer))
struct EqualizerTests {
  @Test("a preset or bands are set; eq returns the bands, and the preset's name when they are one")
  func sets() throws {
    let lines = try EngineHarness.printed(
      """
      local bands, preset = speaker.eq()
      print(bands[31], bands[16000], preset)
      speaker.set_eq "bass_boost"
      bands, preset = speaker.eq()
      print(bands[31], bands[62], bands[1000], preset)
      speaker.set_eq { [62] = -3.5, [1000] = 12 }
      bands, preset = speaker.eq()
      print(bands[31], bands[62], bands[1000], preset)
      local count = 0
      for _ in pairs(bands) do count = count + 1 end
      print(count)
      speaker.set_eq(bands)
      print(speaker.eq()[62], speaker.capabilities().equalizer)
      """)
    #expect(
      lines == ["0.0\t0.0\tflat", "7.0\t6.0\t0.0\tbass_boost", "0.0\t-3.5\t12.0\tnil", "10", "-3.5\ttrue"])
  }

  @Test(
    "presets, bands and gains that there are not are named",
    arguments: [
      ("'roc'", "no preset is called 'roc'; did you mean 'rock'?"),
      (
        "{ [100] = 1 }",
        "no band is called '100'; bands here: 31, 62, 125, 250, 500, 1000, 2000, 4000, 8000, 16000"
      ),
      ("{ [31] = 12.5 }", "band 31: -12 to 12 dB expected, got 12.5"),
      ("{ [31] = 0/0 }", "band 31: -12 to 12 dB expected, got"),
      ("{ [31] = 'loud' }", "band 31: number expected, got string"),
      ("7", "name of a preset, or table of bands expected, got number"),
      ("nil", "name of a preset, or table of bands expected, got nil"),
    ])
  func wrong(argument: String, problem: String) throws {
    let lines = try EngineHarness.printed(
      """
      local _, err = task.try(speaker.set_eq, \(argument))
      print(err)
      """)
    #expect(lines[0].contains("bad argument #1 to 'set_eq'"), "\(lines)")
    #expect(lines[0].contains(problem), "\(lines)")
  }
}
