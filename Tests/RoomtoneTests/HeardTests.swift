import AudioCore
import TestSupport
import TestTraits
import Testing

@Suite("speaker: what is heard", .waiting)
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

  /// Returns the level of a sound against that of the noise, in dB.
  private func level(_ sound: Sound, _ frames: Range<Int>) -> Double {
    sound[frames].level - noise[frames].level
  }

  @Test("at volume 50 a source comes out sample for sample, on every speaker")
  func exact() throws {
    let (a, b) = try heard("speaker.play 'noise.wav' speaker.finish()")
    #expect(a[0..<192_000] == noise && a == b)
  }

  @Test("a step of volume is 0.9 dB, 0 and mute are silence", arguments: [49, 30, 1, 0])
  func volume(_ volume: Int) throws {
    let (a, b) = try heard("a:set_volume(\(volume)) b:mute() speaker.play 'noise.wav' speaker.finish()")
    let decibels = volume == 0 ? -.infinity : -0.9 * Double(50 - volume)
    #expect(volume == 0 ? a.peak == 0 : abs(level(a, 0..<190_000) - decibels) < 0.1)
    #expect(b.peak == 0)
  }

  @Test("a role and a balance are heard")
  func aimed() throws {
    let (a, b) = try heard(
      "a:set_role 'right' b:set_balance(6) speaker.play 'noise.wav' task.sleep(2) b:set_role 'mono' b:set_balance(0) speaker.finish()"
    )
    #expect(a.channels[0] == a.channels[1])
    #expect(a.channels[0][..<192_000] == noise.channels[1][..<192_000])
    #expect(b.channels[0][..<90_000].allSatisfy { $0 == 0 })
    #expect(b.channels[1][..<90_000] == noise.channels[1][..<90_000])
    for frame in stride(from: 100_000, to: 190_000, by: 977) {
      let mean: Float = (noise.channels[0][frame] + noise.channels[1][frame]) / 2
      let difference: Float = b.channels[0][frame] - mean
      #expect(difference.magnitude < 0x1p-14)
    }
  }

  @Test(
    "a speaker that joins while it plays is in step with the others; one that leaves is silent, they play on")
  func joins() throws {
    let (a, b) = try heard(
      "b:leave() speaker.play 'noise.wav' task.sleep(1) b:join() task.sleep(1) b:leave() speaker.finish()")
    #expect(a[0..<192_000] == noise)
    #expect(b[0..<47_000].peak == 0 && b[98_000..<192_000].peak == 0)
    #expect(b[50_000..<94_000] == noise[50_000..<94_000])
  }

  @Test("a speaker that joins while paused is silent until the session resumes, then in step")
  func joinsPaused() throws {
    let (a, b) = try heard(
      """
      b:leave()
      speaker.play 'noise.wav'
      task.sleep(1)
      speaker.pause()
      task.sleep(0.5)
      b:join()
      task.sleep(0.5)
      speaker.resume()
      speaker.finish()
      """)
    let first = try #require(b.channels[0].firstIndex { $0 != 0 })
    #expect(first >= 47_000)
    let (tailA, tailB) = (a.channels[0].suffix(130_000), b.channels[0].suffix(130_000))
    #expect(tailA == tailB && tailA.contains { $0 != 0 })
  }

  @Test("an unplugged speaker is silent, and back in step when it is plugged in")
  func plugged() throws {
    let (a, b) = try heard(
      """
      local house = speaker.house()
      speaker.play 'noise.wav'
      task.sleep(1)
      house:unplug(b)
      task.sleep(1)
      house:plug(b)
      speaker.finish()
      """)
    #expect(a[0..<192_000] == noise)
    #expect(b[50_000..<94_000].peak == 0)
    #expect(b[98_000..<192_000] == noise[98_000..<192_000])
  }

  @Test(
    "a gain is heard in the mix; above full scale a limiter holds −0.3 dBFS, and at 0 dB samples are exact again"
  )
  func gain() throws {
    let (a, _) = try heard(
      """
      speaker.play 'noise.wav'
      speaker.set_gain(-20)
      task.sleep(1)
      speaker.set_gain(12)
      task.sleep(1)
      speaker.set_gain(0)
      speaker.finish()
      """)
    #expect(abs(level(a, 5_000..<47_000) + 20) < 0.1)
    #expect(a.peak <= Decibels.gain(-0.3) + 0x1p-15)
    #expect(level(a, 50_000..<94_000) > 4)
    #expect(a[144_000..<192_000] == noise[144_000..<192_000])
  }

  @Test(
    "a fade of the gain is a straight line of decibels, exact to the block; one of volume ends at its level")
  func fades() throws {
    let (a, b) = try heard(
      """
      b:leave()
      local session = speaker.session { devices = { b } }
      session:play 'noise.wav'
      speaker.play 'noise.wav'
      task.spawn(function() session:fade { to = 30, over = 2 } end)
      speaker.fade { gain = -40, over = "2s" }
      session:finish()
      """)
    // Halfway, and at the end, on speakers that began in the same block.
    #expect(abs(level(a, 47_520..<48_480) + 20) < 0.5)
    #expect(abs(level(a, 100_000..<190_000) + 40) < 0.2)
    #expect(abs(level(b, 50_000..<52_000) + 9) < 0.1)
    #expect(abs(level(b, 100_000..<190_000) + 18) < 0.1)
  }

  @Test(
    "a suspended source loses no frame: all of the source is heard, with the interruption between")
  func interrupted() throws {
    let (a, b) = try heard(
      "speaker.play 'noise.wav' task.sleep(1) speaker.interrupt { play = 'bell.wav' } speaker.finish()")
    #expect(a == b)
    #expect(a[0..<47_000] == noise[0..<47_000])
    #expect(a.channels[0].suffix(120_000) == noise.channels[0].suffix(120_000))
    let bell = a.channels[0].indices.filter { a.channels[0][$0] > 0.85 }
    #expect(bell.count >= 24_000 - 2 * 960)
    let expected = 192_000 + 24_000
    #expect(abs(a.frameCount - expected) <= 2 * 960)
  }

  @Test("an interruption of some members leaves the others exact, and returns its own in step")
  func partial() throws {
    let (a, b) = try heard(
      "speaker.play 'noise.wav' task.sleep(1) speaker.interrupt { devices = { 'B' }, play = 'bell.wav' } speaker.finish()"
    )
    #expect(a[0..<192_000] == noise)
    #expect(b.channels[0][60_000] > 0.85)
    #expect(b[80_000..<192_000] == noise[80_000..<192_000])
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
