import AudioCore
import TestSupport
import TestTraits
import Testing

@Suite("Channel role and balance", .tags(.groups, .rendering)) struct ChannelMixTests {
  /// Returns the output of a speaker with `mix` for a block.
  private func play(_ source: PCMBlock, _ mix: ChannelMix) -> [Float] {
    var ramp = ChannelMixRamp(mix, length: 960)
    let target = PCMBlock(format: source.format, frames: source.view.frames)
    ramp.mix(source.view, into: target.view)
    return samples(target)
  }

  @Test("a role plays its channel on both outputs, mono the mean of both") func roles() {
    let source = stereo([0.5, 0.25], [-1, 0.75])
    #expect(play(source, ChannelMix(role: .stereo)) == [0.5, -1, 0.25, 0.75])
    #expect(play(source, ChannelMix(role: .left)) == [0.5, 0.5, 0.25, 0.25])
    #expect(play(source, ChannelMix(role: .right)) == [-1, -1, 0.75, 0.75])
    #expect(play(source, ChannelMix(role: .mono)) == [-0.25, -0.25, 0.5, 0.5])
  }

  @Test("a role of a 5.1 layout plays its own channel on both outputs, whatever the pair is")
  func surroundRoles() {
    let roles: [ChannelRole] = [.frontLeft, .frontRight, .center, .lfe, .surroundLeft, .surroundRight]
    let frame: [Float] = [0.5, -1, 0.1, 0.2, 0.3, 0.4, 0.6, 0.7]
    let source = PCMBlock(format: .surround, frames: 1)
    for (channel, sample) in frame.enumerated() { source.view.samples[channel] = sample }
    for (index, role) in roles.enumerated() {
      #expect(role.channel == index + 2)
      var ramp = ChannelMixRamp(ChannelMix(role: role), length: 960)
      let target = PCMBlock(format: .session, frames: 1)
      ramp.mix(source.view, into: target.view, channel: index + 2)
      #expect(samples(target) == [frame[index + 2], frame[index + 2]])
    }
    var ramp = ChannelMixRamp(.unity, length: 960)
    let target = PCMBlock(format: .session, frames: 1)
    ramp.mix(source.view, into: target.view)
    #expect(samples(target) == [0.5, -1])
  }

  @Test("mono of the same sound on both sides is that sound, bit for bit") func monoIsTransparent() {
    let noise = Signal.noise(seed: 3, frames: 500)
    let source = stereo(noise, noise)
    #expect(play(source, ChannelMix(role: .mono)) == samples(source))
  }

  @Test("stereo in the middle at unity passes every bit") func unityIsTransparent() {
    let source = stereo(Signal.noise(seed: 4, frames: 960), Signal.noise(seed: 5, frames: 960))
    #expect(ChannelMix(role: .stereo, balance: 0, gain: VolumeLaw.gain(at: 50)) == .unity)
    #expect(play(source, .unity) == samples(source))
  }

  @Test("balance lowers the other side by a sixth per step and leaves its own alone")
  func balance() {
    for step in 0...6 {
      let rest = Float(6 - step) / 6
      #expect(play(stereo([1], [1]), ChannelMix(role: .stereo, balance: step)) == [rest, 1])
      #expect(play(stereo([1], [1]), ChannelMix(role: .stereo, balance: -step)) == [1, rest])
    }
    #expect(play(stereo([1], [0]), ChannelMix(role: .left, balance: 6)) == [0, 1])
  }

  @Test("gain is over all") func gain() {
    #expect(play(stereo([1], [0.5]), ChannelMix(role: .mono, balance: 3, gain: 0.5)) == [0.1875, 0.375])
  }

  @Test("a change of role, balance and gain at once makes no step") func changesWithoutStep() {
    var ramp = ChannelMixRamp(ChannelMix(role: .left, balance: -6, gain: 1), length: 960)
    let source = stereo(Signal.constant(1, frames: 480), Signal.constant(-1, frames: 480))
    var output: [Float] = []
    for part in 0..<6 {
      if part == 1 { ramp.move(to: ChannelMix(role: .right, balance: 6, gain: 0.5)) }
      let target = PCMBlock(format: source.format, frames: 480)
      ramp.mix(source.view, into: target.view)
      output += samples(target)
    }
    let sound = Sound(interleaved: output, format: source.format)
    #expect(sound.largestStep < 1.6 / 960)
    #expect(sound.channels.map(\.first) == [1, 0])
    #expect(sound.channels.map(\.last) == [0, -0.5])
  }

  @Test("a speaker that left is silent and costs nothing") func silence() {
    var ramp = ChannelMixRamp(.unity, length: 4)
    ramp.move(to: .silence)
    let target = PCMBlock(format: .session, frames: 6)
    let ones = stereo([1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1])
    ramp.mix(ones.view, into: target.view)
    #expect(samples(target) == [0.75, 0.75, 0.5, 0.5, 0.25, 0.25, 0, 0, 0, 0, 0, 0])
    #expect(ramp.isSilent)
    let nothing = stereo([.nan], [.nan])
    ramp.mix(nothing.view, into: target.view)
    #expect(samples(target)[0] == 0.75)
  }
}
