import AudioCore
import TestSupport
import TestTraits
import Testing

@Suite("speaker: what is heard", .waiting, .tags(.speaker, .rendering))
struct HeardTests {
  private let harness: EngineHarness
  private let noise: Sound

  /// Two speakers at unity, which sound into files, and four seconds of noise for them.
  init() throws {
    var harness = try EngineHarness()
    harness.configuration = """
      house { output = 'wav:\(harness.folder.file("out"))',
              speakers = { { name = 'A', volume = 50 }, { name = 'B', volume = 50 } } }
      """
    let path = harness.folder.file("noise.wav")
    try Sound(
      sampleRate: 48_000,
      channels: [1, 2].map { Signal.noise(seed: $0, amplitude: 0.5, frames: 192_000) }
    ).write(to: path)
    noise = try Sound(file: path)
    try Sound(sampleRate: 48_000, channels: [Signal.constant(0.9, frames: 24_000)])
      .write(to: harness.folder.file("bell.wav"))
    self.harness = harness
  }

  /// Returns the sound of both speakers, `a` and `b` in `code`, while it ran.
  private func heard(_ code: String) throws -> (a: Sound, b: Sound) {
    let lines = try harness.printed("local a, b = speaker.device 'A', speaker.device 'B' \(code)")
    #expect(lines == [])
    return (
      try Sound(file: harness.folder.file("out/A.wav")), try Sound(file: harness.folder.file("out/B.wav"))
    )
  }

  @Test("at volume 50 a source comes out sample for sample, on every speaker")
  func exact() throws {
    let (a, b) = try heard("speaker.play 'noise.wav' speaker.finish()")
    #expect(a[0..<192_000] == noise && a == b)
  }

  @Test("a restored snapshot plays on from the exact position of the snapshot")
  func snapshot() throws {
    let (a, _) = try heard(
      """
      speaker.play 'noise.wav'
      task.sleep(1)
      local shot = speaker.snapshot()
      speaker.play 'bell.wav'
      speaker.finish()
      shot:restore()
      speaker.finish()
      """)
    #expect(a.channels[0].suffix(140_000) == noise.channels[0].suffix(140_000))
  }
}
