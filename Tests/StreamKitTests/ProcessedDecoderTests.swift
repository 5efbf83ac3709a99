import AudioCore
import Codecs
import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import Playback
@testable import StreamCore

@Suite("The sound of a stream", .waiting, .tags(.stream, .taps, .equalizer))
struct ProcessedDecoderTests {
  private func tone(_ frequency: Double = 440, seconds: Double = 2, rate: Int = 48_000, channels: Int = 2)
    -> Sound
  {
    let sine = Signal.sine(frequency, amplitude: 0.4, frames: Int(seconds * Double(rate)), sampleRate: rate)
    let quieter = sine.map { $0 / 2 }
    return Sound(sampleRate: rate, channels: channels == 1 ? [sine] : [sine, quieter])
  }

  private func scaled(_ sound: Sound, by factor: Float) -> Sound {
    Sound(sampleRate: sound.sampleRate, channels: sound.channels.map { $0.map { $0 * factor } })
  }

  @Test("without taps and gain every bit passes")
  func transparent() throws {
    let tone = tone()
    let harness = SoundHarness(tone)
    try harness.read()
    #expect(harness.sound == tone)
  }

  @Test("effects do what they are called, in the order in which they were added")
  func effects() throws {
    let tone = tone()
    let swapped = SoundHarness(tone)
    _ = swapped.tap(.effect(.swap))
    try swapped.read()
    #expect(swapped.sound.channels == [tone.channels[1], tone.channels[0]])
    #expect(swapped.loop.run(until: { false }) == .idle && swapped.reported == ["1 gets 48000/2"])
    let mono = SoundHarness(tone)
    _ = mono.tap(.effect(.mono))
    try mono.read()
    let mean = zip(tone.channels[0], tone.channels[1]).map { ($0 + $1) * 0.5 }
    #expect(mono.sound.channels == [mean, mean])
    let quieter = SoundHarness(tone)
    _ = quieter.tap(.effect(.gain(-6)))
    try quieter.read()
    #expect(abs(quieter.sound.level - tone.level + 6) < 0.001)
    let filtered = SoundHarness(tone)
    _ = filtered.tap(.effect(.lowpass(440)))
    _ = filtered.tap(.effect(.highpass(440)))
    try filtered.read()
    #expect(abs(filtered.sound[48_000..<96_000].level - tone.level + 6.02) < 0.1)
  }

  @Test("effects are added, reordered and removed without a click, and leave nothing behind")
  func comeAndGo() throws {
    let tone = tone(seconds: 4)
    let harness = SoundHarness(tone)
    try harness.read(20_000)
    let taps = [
      .gain(-12), .equalizer(EqualizerGains.preset("rock") ?? .flat), .mono, .swap, .highpass(1000),
    ]
    .map { harness.tap(.effect($0)) }
    try harness.read(20_000)
    #expect(abs(harness.sound[30_000..<40_000].level - tone.level) > 6)
    for tap in taps {
      tap.remove()
      try harness.read(5_000)
    }
    try harness.read()
    #expect(harness.sound.clicks() == [])
    #expect(harness.sound[0..<20_000] == tone[0..<20_000])
    #expect(harness.sound[70_000..<192_000] == tone[70_000..<192_000])
  }

  @Test("the gain moves without a click, and a limiter keeps what exceeds full scale below it")
  func gain() throws {
    let tone = tone(seconds: 3)
    let harness = SoundHarness(tone)
    for (index, gain) in [0, -20, 6, -90, 12, 0].enumerated() {
      harness.controls.setGain(Double(gain))
      try harness.read(10_000)
      guard gain == -20 else { continue }
      let range = (10_000 * index + 2_000)..<(10_000 * index + 9_000)
      #expect(abs(harness.sound[range].level - tone[range].level + 20) < 0.001)
    }
    try harness.read()
    #expect(harness.sound.clicks() == [])
    #expect(harness.sound.peak <= 0.9661 && harness.sound.peak > 0.9)
    #expect(harness.sound[120_000..<144_000] == tone[120_000..<144_000])
  }

  @Test("a script's taps get every sample once, in order, and their changes are heard")
  func blocks() throws {
    let tone = tone()
    let harness = SoundHarness(tone)
    var seen = 0
    _ = harness.tap(
      .blocks { block in
        seen += block.frames
        block.finish(changed: false)
      })
    _ = harness.tap { $0 + 0.1 }
    _ = harness.tap(.effect(.swap))
    _ = harness.tap { $0 / 2 }
    try harness.read()
    #expect(seen == tone.frameCount && harness.sound.frameCount == tone.frameCount)
    // The constant is added before the gain of one half; both fade in over the first block.
    for (output, input) in zip(harness.sound.channels, tone.channels.reversed()) {
      let wrong = (2_000..<96_000).count { output[$0] != (input[$0] + 0.1) / 2 }
      #expect(wrong == 0)
    }
    #expect(harness.sound.clicks() == [])
    #expect(harness.reported == (1...4).map { "\($0) gets 48000/2" })
  }

  @Test(
    "a script's tap that is removed leaves the sound as it came, without a click, also while blocks are out")
  func removal() throws {
    let tone = tone()
    let harness = SoundHarness(tone)
    let tap = harness.tap { $0 / 2 }
    try harness.read(30_000)
    try harness.read(20_000, isThere: false)
    tap.remove()
    let frames = harness.sound.frameCount
    try harness.read()
    #expect(harness.sound.frameCount == tone.frameCount && harness.sound.clicks() == [])
    #expect(harness.sound[(frames + 4_000)..<96_000] == tone[(frames + 4_000)..<96_000])
    #expect(abs(harness.sound[5_000..<25_000].level - tone[5_000..<25_000].level + 6.02) < 0.01)
    #expect(harness.reported == ["1 gets 48000/2", "1 ended 48000/2"])
    harness.turn()  // pending work of the loop keeps it alive
  }

  @Test(
    "while the loop is blocked the sound continues unchanged, at the pace of hearing, reported once; no gap, no click"
  )
  func overrun() throws {
    let tone = tone(seconds: 6)
    let harness = SoundHarness(tone)
    let tap = harness.tap { $0 / 2 }
    try harness.read(48_000)
    // The player is full at first, then reads again and again.
    harness.now += .milliseconds(700)
    var delivered = try harness.read(96_000, isThere: false)
    #expect(delivered < 6_000)
    for _ in 0..<12 {
      harness.now += .milliseconds(20)
      delivered += try harness.read(96_000, isThere: false)
    }
    #expect(delivered < 6_000 && tap.overruns == 0)
    for _ in 0..<50 {
      harness.now += .milliseconds(20)
      delivered += try harness.read(96_000, isThere: false)
    }
    // The limit is a second in all, and a quarter so that the loop has some time when it responds again.
    #expect((50_000...70_000).contains(delivered), "\(delivered)")
    harness.turn()
    #expect(tap.overruns == 1 && harness.reported.count == 2)
    let start = harness.sound.frameCount
    try harness.read()
    #expect(harness.sound.frameCount == tone.frameCount && harness.sound.clicks() == [])
    #expect(harness.sound[60_000..<90_000] == tone[60_000..<90_000])
    #expect(harness.sound[(start + 9_000)..<288_000] == scaled(tone, by: 0.5)[(start + 9_000)..<288_000])
    #expect(tap.overruns == 1)
  }

  @Test("a late block that was passed on stays whole for the tap that still has it")
  func lateBlock() throws {
    let tone = tone()
    let harness = SoundHarness(tone)
    var kept: TapBlock?
    _ = harness.tap(
      .blocks { block in
        if kept == nil { kept = block } else { block.finish(changed: false) }
      })
    try harness.read(1)
    harness.turn()
    let block = try #require(kept)
    let frames = block.frames
    for _ in 0..<50 {
      harness.now += .milliseconds(20)
      try harness.read(4_800, isThere: false)
    }
    #expect(!block.isWanted && harness.sound.frameCount > frames)
    #expect(block.frames == frames && frames > 0 && block.view.frames == frames)
    block.view.clear()
    block.finish(changed: true)
    try harness.read()
    #expect(harness.sound == tone)
  }

  @Test("a tap that is slower than its blocks is passed by, so that the sound keeps its pace")
  func slow() throws {
    let tone = tone(seconds: 20)
    let harness = SoundHarness(tone)
    var waiting: [TapBlock] = []
    let tap = harness.tap(.blocks { waiting.append($0) })
    var delivered = 0
    // Blocks of 40 ms return every 60 ms.
    for step in 0..<1000 {
      harness.now += .milliseconds(10)
      if step % 6 == 0, !waiting.isEmpty { waiting.removeFirst().finish(changed: true) }
      harness.turn()
      waiting.removeAll { !$0.isWanted }
      delivered += try harness.read(min(4_800, 480 * (step + 1) - delivered))
    }
    #expect(Double(delivered) / 48_000 > 9.2)
    #expect(tap.overruns > 0)
  }

  @Test("with a new format effects follow, and taps are notified; no sample is lost")
  func formats() throws {
    let pieces = [tone(), tone(rate: 22_050, channels: 1), tone(rate: 44_100)]
    let harness = SoundHarness(pieces[0], pieces[1], pieces[2])
    _ = harness.tap(.effect(.lowpass(440)))
    _ = harness.tap { $0 }
    try harness.read()
    harness.turn()
    #expect(harness.sounds.map(\.format) == pieces.map(\.format))
    #expect(harness.sounds.map(\.frameCount) == pieces.map(\.frameCount))
    for (output, input) in zip(harness.sounds, pieces) {
      let rest = (input.sampleRate)..<(2 * input.sampleRate)
      #expect(abs(output[rest].level - input[rest].level + 3.01) < 0.05)
    }
    for tap in 1...2 {
      #expect(
        harness.reported.filter { $0.hasPrefix("\(tap)") } == [
          "\(tap) gets 48000/2", "\(tap) ended 48000/2", "\(tap) gets 22050/1", "\(tap) ended 22050/1",
          "\(tap) gets 44100/2",
        ])
    }
  }

  @Test("sound that has not come is waited for, and late sound passes through")
  func waits() throws {
    let tone = tone()
    let harness = SoundHarness(tone[0..<10_000])
    harness.inner.isComplete = false
    _ = harness.tap { $0 / 2 }
    try harness.read()
    #expect(harness.sound.frameCount > 5_000 && harness.sound.frameCount < 10_000)
    harness.inner.pieces.append(tone[10_000..<96_000])
    harness.inner.isComplete = true
    try harness.read()
    #expect(harness.sound.frameCount == 96_000)
    #expect(harness.sound[2_000..<96_000] == scaled(tone, by: 0.5)[2_000..<96_000])
  }

  @Test("values of a file that are no numbers are silence, so that filters recover after them")
  func noNumbers() throws {
    final class Pieces: FrameSource {
      var pieces: [[Float]]
      init(_ pieces: [[Float]]) { self.pieces = pieces }
      func nextFrame() -> [UInt8]? {
        pieces.isEmpty ? nil : pieces.removeFirst().withUnsafeBytes { [UInt8]($0) }
      }
    }
    let format = AudioFormat(sampleRate: 44_100, channels: 1)
    let odd: [Float] = [0.5, .nan, .infinity, -.infinity, -3e38, 0.25]
    let decoder = PCMStreamDecoder(
      Pieces([odd, [Float](repeating: 0.5, count: 1000)]), format: format, width: 4)
    let block = PCMBlock(format: format, frames: 1000)
    #expect(try decoder.read(into: block.view.buffer) == 6)
    #expect(Array(block.view.buffer.prefix(6)) == [0.5, 0, 0, 0, 0, 0.25])
    let filter = SoundEffect.lowpass(1000).processor(for: block.format)
    filter.process(block.view.prefix(6))
    #expect(try decoder.read(into: block.view.buffer) == 1000)
    filter.process(block.view)
    #expect(abs(block.view.samples[999] - 0.5) < 0.01)
  }

  @Test("levels are those of what is heard, not of what was decoded last")
  func levels() throws {
    let (loud, quiet) = (tone(seconds: 1), scaled(tone(seconds: 1), by: 0.1))
    let harness = SoundHarness(loud, quiet)
    try harness.read()
    let first = try #require(harness.levels.reading(heard: 0.5))
    #expect(abs(first.left.rmsDBFS + 10.97) < 0.1 && abs(first.right.rmsDBFS + 16.99) < 0.1)
    #expect(abs(first.left.peakDBFS + 7.96) < 0.05)
    let second = try #require(harness.levels.reading(heard: 1.5))
    #expect(abs(second.left.rmsDBFS + 30.97) < 0.1)
    #expect(harness.levels.reading(heard: 2.5) == nil)
  }
}
