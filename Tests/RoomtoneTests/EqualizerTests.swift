import LuaRuntime
import TestTraits
import Testing

@Suite("speaker: equalizer", .waiting, .tags(.speaker, .equalizer))
struct EqualizerTests {
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
