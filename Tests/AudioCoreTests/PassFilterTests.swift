import AudioCore
import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("Pass filters", .tags(.rendering)) struct PassFilterTests {
  /// Returns the gain in dB of a sine after the filter has settled.
  private func response(_ kind: PassFilter.Kind, at corner: Double, of frequency: Double, rate: Int = 48_000)
    -> Double
  {
    let sine = Signal.sine(frequency, amplitude: 0.5, frames: 2 * rate, sampleRate: rate)
    let sound = Sound(sampleRate: rate, channels: [sine, sine])
    var filter = PassFilter(kind, frequency: corner, format: sound.format)
    let block = block(sound.interleaved, channels: 2)
    var rest = block.view
    while rest.frames > 0 {
      filter.process(rest.prefix(777))
      rest = rest.dropFirst(777)
    }
    let output = Sound(interleaved: samples(block), format: sound.format)
    return output[rate..<(2 * rate)].level - sound[rate..<(2 * rate)].level
  }

  @Test(
    "have Butterworth's curve: -3.01 dB at the frequency, 12.3 dB an octave beyond it",
    arguments: [44_100, 48_000])
  func curve(rate: Int) {
    // |H|² = 1 / (1 + (f/c)⁴) for the low one; far below half the rate the bilinear transform bends it
    // little.
    for corner in [100.0, 440, 1000] {
      #expect(abs(response(.low, at: corner, of: corner, rate: rate) + 3.01) < 0.02)
      #expect(abs(response(.high, at: corner, of: corner, rate: rate) + 3.01) < 0.02)
      #expect(abs(response(.low, at: corner, of: 2 * corner, rate: rate) + 12.3) < 0.1)
      #expect(abs(response(.high, at: corner, of: corner / 2, rate: rate) + 12.3) < 0.1)
      #expect(abs(response(.low, at: corner, of: corner / 4, rate: rate) + 0.017) < 0.02)
      #expect(abs(response(.high, at: corner, of: 4 * corner, rate: rate) + 0.017) < 0.02)
    }
  }

  @Test("beyond half the rate all passes a low one bit for bit, and nothing a high one") func beyond() {
    let noise = block(Signal.noise(seed: 7, frames: 1000), channels: 1)
    let format = AudioFormat(sampleRate: 11_025, channels: 1)
    var low = PassFilter(.low, frequency: 8000, format: format)
    let before = samples(noise)
    low.process(noise.view)
    #expect(samples(noise) == before)
    var high = PassFilter(.high, frequency: 8000, format: format)
    high.process(noise.view)
    #expect(samples(noise).allSatisfy { $0 == 0 })
  }

  @Test("filter each channel by itself") func channels() {
    let tone = Signal.sine(4000, amplitude: 0.5, frames: 4800, sampleRate: 48_000)
    let silence = Signal.constant(0, frames: 4800)
    let sound = Sound(sampleRate: 48_000, channels: [silence, tone, silence])
    let block = block(sound.interleaved, channels: 3)
    var filter = PassFilter(.low, frequency: 500, format: sound.format)
    filter.process(block.view)
    let output = Sound(interleaved: samples(block), format: sound.format)
    #expect(output.channels[0] == silence && output.channels[2] == silence)
    #expect(output.channels[1] != tone)
  }
}

@Suite("Levels of bands", .tags(.taps)) struct BandLevelsTests {
  private func levels(_ sound: [Float], bands: Int) -> [Double] {
    let block = block(sound, channels: 1)
    return BandLevels(bands: bands).levels(of: block.view)
  }

  @Test(
    "a sine of full scale has 0 dBFS in its band, and little three bands away", arguments: [8, 64, 512, 2048])
  func sine(bands: Int) {
    let band = bands / 4
    let frequency = Double(band) * 48_000 / Double(2 * bands)
    let levels = levels(
      Signal.sine(frequency, amplitude: 1, frames: 2 * bands, sampleRate: 48_000), bands: bands)
    #expect(levels.count == bands)
    #expect(levels.indices.max { levels[$0] < levels[$1] } == band)
    #expect(abs(levels[band]) < 0.2, "\(levels[band]) dBFS")
    for other in levels.indices where abs(other - band) > 2 && bands > 8 { #expect(levels[other] < -60) }
  }

  @Test("half the amplitude has 6.02 dB less; a constant is in band 0; silence has none")
  func scale() {
    let sine = Signal.sine(6000, amplitude: 0.5, frames: 512, sampleRate: 48_000)
    #expect(abs(levels(sine, bands: 256)[64] + 6.02) < 0.05)
    #expect(abs(levels(Signal.constant(0.25, frames: 512), bands: 256)[0] + 12.04) < 0.05)
    #expect(levels(Signal.constant(0, frames: 512), bands: 256).allSatisfy { $0 == -.infinity })
  }

  @Test("it equals the sum in the transform's definition") func definition() {
    let noise = Signal.noise(seed: 9, amplitude: 0.5, frames: 32)
    let levels = levels(noise, bands: 16)
    for band in 0..<16 {
      var (real, imaginary, weight) = (0.0, 0.0, 0.0)
      for (frame, sample) in noise.enumerated() {
        let window = 0.5 - 0.5 * cos(2 * .pi * (Double(frame) + 0.5) / 32)
        let angle = -2 * Double.pi * Double(band * frame) / 32
        real += window * Double(sample) * cos(angle)
        imaginary += window * Double(sample) * sin(angle)
        weight += window
      }
      let amplitude = (real * real + imaginary * imaginary).squareRoot() * (band == 0 ? 1 : 2) / weight
      #expect(abs(levels[band] - 20 * log10(amplitude)) < 1e-6)
    }
  }

  @Test("channels are mixed, and a short piece is enough") func mixed() {
    let sine = Signal.sine(6000, amplitude: 0.5, frames: 300, sampleRate: 48_000)
    let opposite = sine.map { -$0 }
    let sound = Sound(sampleRate: 48_000, channels: [sine, opposite])
    let both = block(sound.interleaved, channels: 2)
    #expect(BandLevels(bands: 256).levels(of: both.view).allSatisfy { $0 == -.infinity })
    #expect(abs(levels(sine, bands: 256)[64] + 6.02) < 0.05)
    #expect(
      [8, 2048].allSatisfy(BandLevels.supports) && ![0, 4, 12, 4096, -8].contains(where: BandLevels.supports))
  }
}
