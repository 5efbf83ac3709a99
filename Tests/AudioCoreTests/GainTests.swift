import AudioCore
import TestSupport
import TestTraits
import Testing

@Suite("Volume law", .tags(.volume)) struct VolumeLawTests {
  @Test("0 is silence and 50 is unity, exactly") func ends() {
    #expect(VolumeLaw.gain(at: 0) == 0)
    #expect(VolumeLaw.gain(at: 50) == 1)
  }

  @Test("a step is 0.9 dB") func steps() {
    for volume in 1..<50 {
      let ratio = Double(VolumeLaw.gain(at: volume + 1)) / Double(VolumeLaw.gain(at: volume))
      #expect(abs(Decibels.level(ofAmplitude: ratio) - 0.9) < 1e-5)
    }
    #expect(abs(Decibels.level(ofAmplitude: Double(VolumeLaw.gain(at: 1))) + 44.1) < 1e-5)
  }
}

@Suite("Gain ramp", .tags(.fades, .rendering)) struct GainRampTests {
  /// Returns the output of `ramp` for `input` in blocks of `size` frames.
  private func apply(_ ramp: inout GainRamp, to input: [Float], blocks size: Int) -> [Float] {
    var samples = input
    samples.withUnsafeMutableBufferPointer { buffer in
      guard let start = buffer.baseAddress else { return }
      var rest = PCMView(samples: start, frames: buffer.count, channels: 1)
      while rest.frames > 0 {
        ramp.apply(to: rest.prefix(size))
        rest = rest.dropFirst(size)
      }
    }
    return samples
  }

  @Test(
    "goes to its target in a straight line of one block, however the frames are cut",
    arguments: [960, 7, 333])
  func isStraight(blockSize: Int) {
    var ramp = GainRamp(gain: 0, length: 960)
    ramp.move(to: 1)
    let output = apply(&ramp, to: Signal.constant(1, frames: 1200), blocks: blockSize)
    #expect(abs(output[0] - 1 / 960) < 1e-6)
    #expect(abs(output[479] - 0.5) < 1e-6)
    #expect(output[958] < 1)
    #expect(output[959...].allSatisfy { $0 == 1 })
    let steps = zip(output, output.dropFirst()).map { $1 - $0 }
    #expect(steps.prefix(959).allSatisfy { abs($0 - 1 / 960) < 1e-6 })
    #expect(!ramp.isMoving)
  }

  @Test("turning round in the middle of a move makes no step")
  func turnsWithoutStep() {
    var ramp = GainRamp(gain: 0, length: 960)
    ramp.move(to: 1)
    var output = apply(&ramp, to: Signal.constant(1, frames: 500), blocks: 100)
    ramp.move(to: 0)
    output += apply(&ramp, to: Signal.constant(1, frames: 1500), blocks: 100)
    #expect(Sound(sampleRate: 48_000, channels: [output]).largestStep < 1.01 / 960)
    #expect(output[1460...].allSatisfy { $0 == 0 })
    #expect(ramp.isSilent)
  }

  @Test("a sine that fades does not click, one that is cut does")
  func fadesWithoutClick() {
    let sine = Signal.sine(440, amplitude: 0.5, frames: 9600, sampleRate: 48_000)
    var ramp = GainRamp(gain: 1, length: 960)
    var faded = apply(&ramp, to: Array(sine[..<4824]), blocks: 960)
    ramp.move(to: 0)
    faded += apply(&ramp, to: Array(sine[4824...]), blocks: 960)
    #expect(Sound(sampleRate: 48_000, channels: [faded]).clicks() == [])
    let cut = sine[..<4824] + Signal.constant(0, frames: 4776)
    #expect(Sound(sampleRate: 48_000, channels: [Array(cut)]).clicks().contains(4824))
  }

  @Test("settled at 1, every bit passes, applied or mixed") func unityIsTransparent() {
    let noise = Signal.noise(seed: 1, frames: 960)
    var ramp = GainRamp(gain: 1, length: 960)
    #expect(apply(&ramp, to: noise, blocks: 960) == noise)
    let (source, target) = (block(noise), block(Signal.constant(0, frames: 960)))
    ramp.mix(source.view, into: target.view)
    #expect(samples(target) == noise)
  }

  @Test("settled at 0, the destination is unchanged when mixed, and samples become 0 when applied")
  func zeroIsSkipped() {
    let noise = Signal.noise(seed: 2, frames: 960)
    var ramp = GainRamp(gain: 0, length: 960)
    let (source, target) = (block(Signal.constant(.nan, frames: 960)), block(noise))
    ramp.mix(source.view, into: target.view)
    #expect(samples(target) == noise)
    #expect(apply(&ramp, to: noise, blocks: 960).allSatisfy { $0 == 0 })
  }

  @Test("mixing adds the source times the gain") func mixes() {
    var ramp = GainRamp(gain: 0.25, length: 4)
    let (source, target) = (block([1, 1, 1, 1, 1, 1]), block([2, 2, 2, 2, 2, 2]))
    ramp.mix(source.view, into: target.view)
    #expect(samples(target) == [2.25, 2.25, 2.25, 2.25, 2.25, 2.25])
    ramp.move(to: 1.25)
    ramp.mix(source.view, into: target.view)
    #expect(samples(target) == [2.75, 3, 3.25, 3.5, 3.5, 3.5])
  }

  @Test("frames that are skipped move it as if they were computed") func skips() {
    var ramp = GainRamp(gain: 0, length: 8)
    ramp.move(to: 1)
    ramp.skip(frames: 3)
    #expect(ramp.current == 0.375)
    #expect(ramp.next() == 0.5)
    ramp.skip(frames: 99)
    #expect(ramp.current == 1)
  }
}
