import AudioCore
import Codecs
import TestSupport
import TestTraits
import Testing

@Suite("The tune of the wake-up routine", .tags(.files)) struct WakeUpTuneTests {
  @Test("sounds at once and without holes until its last second, so that a fade can be measured in it")
  func sounds() throws {
    let path = Fixtures.repository("scripts/wake_up.mp3")
    let sound = try Sound(file: path)
    #expect(sound.format == AudioFormat(sampleRate: 44_100, channels: 2))
    #expect((20 * 44_100...25 * 44_100).contains(sound.frameCount))
    let levels = sound.levels()
    #expect(levels.dropLast(50).allSatisfy { $0 > -40 })
    #expect((-5 ... -2).contains(Decibels.level(ofAmplitude: Double(sound.peak))))
    #expect(sound.clicks() == [])
    #expect(try readBytes(path).count < 300_000)
  }
}
