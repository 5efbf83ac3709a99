import AudioCore
import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("Equalizer", .tags(.equalizer)) struct EqualizerTests {
  /// Returns the output for `sound` in blocks of 20 ms; `change` is called before each.
  private func process(
    _ sound: Sound, _ equalizer: inout Equalizer, change: (inout Equalizer, Int) -> Void = { _, _ in }
  ) -> Sound {
    let block = block(sound.interleaved, channels: sound.channels.count)
    var (rest, number) = (block.view, 0)
    while rest.frames > 0 {
      change(&equalizer, number)
      equalizer.process(rest.prefix(sound.format.framesPerBlock))
      rest = rest.dropFirst(sound.format.framesPerBlock)
      number += 1
    }
    return Sound(interleaved: samples(block), format: sound.format)
  }

  private func sine(_ frequency: Double, amplitude: Double = 0.1, frames: Int = 96_000, rate: Int = 48_000)
    -> Sound
  {
    let sine = Signal.sine(frequency, amplitude: amplitude, frames: frames, sampleRate: rate)
    return Sound(sampleRate: rate, channels: [sine, sine])
  }

  /// Returns the gain in dB of a sine after the filter has settled.
  private func response(at frequency: Double, _ gains: EqualizerGains, rate: Int = 48_000) -> Double {
    var equalizer = Equalizer(format: AudioFormat(sampleRate: rate, channels: 2), gains: gains)
    let input = sine(frequency, rate: rate)
    let range = 48_000..<96_000
    return process(input, &equalizer)[range].level - input[range].level
  }

  private func gains(_ band: Int, _ decibels: Double) throws -> EqualizerGains {
    var values = [Double](repeating: 0, count: 10)
    values[band] = decibels
    return try EqualizerGains(values)
  }

  @Test("a band has its gain at its frequency", arguments: [-12.0, -3, 6, 12]) func centres(decibels: Double)
    throws
  {
    for (band, frequency) in EqualizerGains.frequencies.enumerated() {
      let response = response(at: frequency, try gains(band, decibels))
      #expect(abs(response - decibels) < 0.05, "\(frequency) Hz: \(response) dB")
    }
  }

  /// The band is an octave wide between the points of half the gain; near half the sample rate the bilinear
  /// transform narrows the upper side.
  @Test("half an octave away is half the gain, three octaves away nothing") func width() throws {
    for (band, frequency) in EqualizerGains.frequencies.enumerated() where frequency <= 4000 {
      let gains = try gains(band, 12)
      let (below, above) = (response(at: frequency / 1.414, gains), response(at: frequency * 1.414, gains))
      #expect(abs(below - 6) < 0.7 && abs(above - 6) < 0.7, "\(frequency) Hz: \(below) and \(above) dB")
      #expect(abs(response(at: frequency > 300 ? frequency / 8 : frequency * 8, gains)) < 0.5)
    }
  }

  @Test(
    "the largest factor is that of the loudest tone, to a hundredth of a decibel",
    arguments: [48_000, 44_100])
  func peak(rate: Int) throws {
    for (band, decibels) in [(5, 12.0), (9, 12), (3, -12), (7, 5)] {
      let setting = Equalizer.Setting(try gains(band, decibels), sampleRate: rate)
      #expect(abs(20 * log10(Double(setting.peak)) - max(decibels, 0)) < 0.01, "band \(band)")
    }
    // Between two bands: found by listening to tones there.
    let pair = try EqualizerGains([0, 0, 0, 0, 7, 8, 0, 0, 0, 0])
    let loudest = (0...40).map { response(at: 500 * exp2(Double($0) / 40), pair, rate: rate) }.max() ?? 0
    let found = 20 * log10(Double(Equalizer.Setting(pair, sampleRate: rate).peak))
    #expect(abs(found - loudest) < 0.02 && found > 8.5)
    #expect(Equalizer.Setting(pair, sampleRate: rate, findsPeak: false).peak == 1)
    #expect(Equalizer.Setting(.flat, sampleRate: rate).peak == 1)
  }

  @Test("at 44.1 kHz as well; bands above half the rate do nothing") func otherRates() throws {
    #expect(abs(response(at: 16_000, try gains(9, 6), rate: 44_100) - 6) < 0.05)
    var low = Equalizer(format: AudioFormat(sampleRate: 22_050, channels: 2), gains: try gains(9, 12))
    let tone = sine(5000, rate: 22_050)
    #expect(low.isTransparent == true)
    #expect(process(tone, &low) == tone)
  }

  @Test("flat passes every bit, from the start and after a change back") func flatIsTransparent() throws {
    let noise = Signal.noise(seed: 4, frames: 48_000)
    let sound = Sound(sampleRate: 48_000, channels: [noise, noise.reversed()])
    var equalizer = Equalizer(format: .session)
    #expect(equalizer.isTransparent == true)
    #expect(process(sound, &equalizer) == sound)
    equalizer.apply(Equalizer.Setting(try gains(3, 6), sampleRate: 48_000))
    #expect(equalizer.isTransparent == false)
    #expect(process(sound, &equalizer) != sound)
    equalizer.apply(Equalizer.Setting(.flat, sampleRate: 48_000))
    let back = process(sound, &equalizer)
    #expect(back != sound && back[960..<48_000] == sound[960..<48_000])
    #expect(equalizer.isTransparent == true)
  }

  @Test("channels are filtered each by itself") func channels() throws {
    let tone = Signal.sine(1000, amplitude: 0.2, frames: 9600, sampleRate: 48_000)
    let sound = Sound(sampleRate: 48_000, channels: [tone, Signal.constant(0, frames: 9600)])
    var equalizer = Equalizer(format: .session, gains: try gains(5, 12))
    let output = process(sound, &equalizer)
    #expect(output.channels[1].allSatisfy { $0 == 0 })
    #expect(output.channels[0] != tone)
  }

  @Test("changes make no click, from and to anything, once or in every block", arguments: [1, 2, 5])
  func changesWithoutClick(every: Int) throws {
    let presets = EqualizerGains.presets.map { Equalizer.Setting($0.gains, sampleRate: 48_000) }
    for frequency in [60.0, 440, 3000] {
      var equalizer = Equalizer(format: .session)
      let output = process(sine(frequency, amplitude: 0.25, frames: 48_000), &equalizer) { equalizer, block in
        if block % every == 0 { equalizer.apply(presets[(block / every * 5) % presets.count]) }
      }
      #expect(output.clicks() == [], "\(frequency) Hz")
    }
  }

  @Test("a change is complete after one block, and the last of several counts") func changesWithinABlock()
    throws
  {
    let (up, down) = (try gains(5, 12), try gains(5, -12))
    var equalizer = Equalizer(format: .session)
    let input = sine(1000, frames: 48_000)
    let output = process(input, &equalizer) { equalizer, block in
      if block == 10 {
        equalizer.apply(Equalizer.Setting(down, sampleRate: 48_000))
        equalizer.apply(Equalizer.Setting(up, sampleRate: 48_000))
      }
    }
    #expect(output[0..<9600] == input[0..<9600])
    let gain = output[10_560..<12_480].level - input[10_560..<12_480].level
    #expect(abs(gain - 12) < 0.2, "\(gain) dB")
  }

  @Test("noise and silence at the input give a finite output, and silence in the end") func isStable() throws
  {
    let noise = Signal.noise(seed: 5, amplitude: 1, frames: 48_000) + Signal.constant(0, frames: 480_000)
    var equalizer = Equalizer(format: .session, gains: try EqualizerGains([Double](repeating: 12, count: 10)))
    let output = process(Sound(sampleRate: 48_000, channels: [noise, noise]), &equalizer)
    #expect(output.peak.isFinite && output.peak < 60)
    #expect(output[400_000..<528_000].peak < 1e-6)
  }

  @Test("gains that there are not are refused by name") func refuses() {
    #expect(throws: AudioError.self) { try EqualizerGains([0, 0]) }
    for wrong in [12.1, -12.1, .nan, .infinity] {
      var values = [Double](repeating: 0, count: 10)
      values[2] = wrong
      let error = #expect(throws: AudioError.self) { try EqualizerGains(values) }
      #expect(error?.message.contains("125 Hz") == true)
    }
  }

  @Test("presets have ten gains each within the range, and names of their own") func presets() throws {
    for (name, gains) in EqualizerGains.presets {
      #expect(try EqualizerGains(gains.decibels) == gains, "\(name)")
      #expect(EqualizerGains.preset(name) == gains)
    }
    #expect(Set(EqualizerGains.presets.map(\.name)).count == EqualizerGains.presets.count)
    #expect(EqualizerGains.preset("flat") == .flat)
    #expect(EqualizerGains.preset("no such") == nil)
  }
}
