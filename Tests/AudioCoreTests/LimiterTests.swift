import AudioCore
import TestSupport
import TestTraits
import Testing

@Suite("Limiter", .tags(.rendering)) struct LimiterTests {
  /// Returns the output of `limiter` for `sound` in blocks of 20 ms.
  private func process(_ sound: Sound, _ limiter: inout Limiter) -> Sound {
    let block = block(sound.interleaved, channels: sound.channels.count)
    var rest = block.view
    while rest.frames > 0 {
      limiter.process(rest.prefix(sound.format.framesPerBlock))
      rest = rest.dropFirst(sound.format.framesPerBlock)
    }
    return Sound(interleaved: samples(block), format: sound.format)
  }

  private func sine(_ amplitude: Double, frames: Int = 48_000) -> Sound {
    let sine = Signal.sine(997, amplitude: amplitude, frames: frames, sampleRate: 48_000)
    return Sound(sampleRate: 48_000, channels: [sine, sine])
  }

  @Test("nothing leaves above -0.3 dBFS, whatever goes in") func ceiling() {
    var limiter = Limiter(format: .session, isActive: true)
    let noise = Signal.noise(seed: 6, amplitude: 4, frames: 48_000)
    let other = Signal.noise(seed: 7, amplitude: 0.1, frames: 48_000)
    let output = process(Sound(sampleRate: 48_000, channels: [noise, other]), &limiter)
    #expect(output.peak <= Limiter.defaultCeiling * 1.000_001)
    #expect(output.peak > Limiter.defaultCeiling * 0.99)
    #expect(abs(Decibels.level(ofAmplitude: Double(Limiter.defaultCeiling)) + 0.3) < 1e-5)
  }

  @Test("below the ceiling and when it is off every bit passes") func transparent() {
    var on = Limiter(format: .session, isActive: true)
    var off = Limiter(format: .session)
    #expect(process(sine(0.96), &on) == sine(0.96))
    #expect(process(sine(3), &off) == sine(3))
  }

  @Test("a sine that is too loud becomes a quieter one, not a clipped one") func doesNotClip() {
    var limiter = Limiter(format: .session, isActive: true)
    let output = process(sine(2), &limiter)[24_000..<48_000]
    let reference = sine(2)[24_000..<48_000]
    let gain = Float(output.level - reference.level)
    let scaled = Sound(
      sampleRate: 48_000, channels: reference.channels.map { $0.map { $0 * Decibels.gain(Double(gain)) } })
    // Clipping the same sine at the ceiling leaves an error of about -13 dB.
    #expect(output.errorToSignal(against: scaled) < -35)
  }

  @Test("the gain falls before a peak and makes no click") func looksAhead() {
    var limiter = Limiter(format: .session, isActive: true)
    var loud = sine(0.5, frames: 9600)
    let quiet = sine(0.05, frames: 9600)
    // A spike in the middle of a block; the quiet tone on the other channel shows the gain.
    loud.channels[0][5280] = 3
    let output = process(
      Sound(sampleRate: 48_000, channels: [loud.channels[0], quiet.channels[1]]), &limiter)
    #expect(output.peak <= Limiter.defaultCeiling * 1.000_001)
    #expect(Sound(sampleRate: 48_000, channels: [output.channels[1]]).clicks() == [])
    #expect(limiter.gain < 1)
  }

  @Test("the gain returns to exactly 1, also when it is turned off meanwhile") func releases() {
    var limiter = Limiter(format: .session, isActive: true)
    _ = process(sine(2, frames: 4800), &limiter)
    #expect(limiter.gain < 0.6)
    limiter.isActive = false
    let gain = limiter.gain
    _ = process(sine(0.1, frames: 480), &limiter)
    #expect(limiter.gain > gain && limiter.gain < 1)
    _ = process(sine(0.1, frames: 96_000), &limiter)
    #expect(limiter.gain == 1)
    #expect(process(sine(0.1), &limiter) == sine(0.1))
  }
}
