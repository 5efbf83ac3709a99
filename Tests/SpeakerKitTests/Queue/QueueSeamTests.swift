import AudioCore
import EventLoop
import Glibc
import SpeakerKit
import TestSupport
import TestTraits
import Testing

@Suite(
  "The seams between the files of a queue, sample by sample", .waiting, .tags(.speaker, .queue, .rendering))
struct QueueSeamTests {
  /// Plays a queue of parts to its end, and returns what the speaker rendered.
  private func played(_ parts: [Sound], isVirtual: Bool = true, loops: Int = 1) throws -> Sound {
    let harness = try HouseHarness.run(isVirtual: isVirtual) { harness in
      let paths = try parts.enumerated().map { index, part in
        let path = harness.folder.file("\(index).wav")
        try part.write(to: path)
        return path
      }
      let entries = (0..<loops).flatMap { _ in paths.map { QueueEntry(path: $0) } }
      try await harness.house.session.play(try #require(FileQueue(entries)))
      #expect(try await harness.house.session.finish() == .ended(.finished))
    }
    return try harness.played("A")
  }

  /// Cuts a sound before these frames.
  private func cut(_ sound: Sound, _ frames: [Int]) -> [Sound] {
    zip([0] + frames, frames + [sound.frameCount]).map { sound[$0..<$1] }
  }

  private func noise(_ rate: Int, frames: Int, channels: Int = 2) -> Sound {
    Sound(
      sampleRate: rate,
      channels: (0..<channels).map { Signal.noise(seed: UInt64($0 + 1), amplitude: 0.9, frames: frames) })
  }

  @Test(
    "at the session's rate every sample of every file is heard once, in its place",
    arguments: [
      // Odd places, a block of the renderer and of the decoder, files of one sample, and more files than a block has.
      [20_011], [960, 1_920, 30_000], [1_024, 2_048], [1, 2, 3, 24_000], [30_000, 30_001],
      Array(stride(from: 100, to: 3_000, by: 100)),
    ])
  func exact(cuts: [Int]) throws {
    let whole = noise(48_000, frames: 40_000)
    let reference = try played([whole])
    #expect(reference.frameCount == 40_000)
    #expect(try played(cut(whole, cuts)) == reference)
  }

  @Test("on threads, in real time, as well")
  func threads() throws {
    let whole = noise(48_000, frames: 60_000)
    let reference = try played([whole])
    #expect(try played(cut(whole, [1_000, 1_500, 20_011]), isVirtual: false) == reference)
  }

  @Test(
    "files of another rate are resampled as one: the seam is not to be found",
    arguments: [44_100, 96_000, 8_000])
  func resampled(rate: Int) throws {
    let whole = noise(rate, frames: 40_000)
    let reference = try played([whole])
    #expect(try played(cut(whole, [1, 7_777, 20_011, 39_000])) == reference)
  }

  @Test("mono follows stereo without a gap or a lost sample", arguments: [48_000, 44_100])
  func channels(rate: Int) throws {
    let mono = noise(rate, frames: 30_000, channels: 1)
    let stereo = Sound(sampleRate: rate, channels: [mono.channels[0], mono.channels[0]])
    let reference = try played([stereo])
    #expect(try played([stereo[0..<10_007], mono[10_007..<20_011], stereo[20_011..<30_000]]) == reference)
  }

  @Test("a queue that repeats has no gap between the rounds")
  func rounds() throws {
    let whole = noise(48_000, frames: 10_007)
    let once = try played([whole])
    let thrice = try played(cut(whole, [5_003]), loops: 3)
    #expect(thrice.frameCount == 30_021)
    for round in 0..<3 { #expect(thrice[(round * 10_007)..<((round + 1) * 10_007)] == once) }
  }

  @Test(
    "a tone that goes on in a file of another rate has no click at the seam",
    arguments: [(44_100, 48_000), (48_000, 44_100), (44_100, 96_000), (22_050, 44_100)], [0, 5, 11])
  func rates(rates: (Int, Int), phase: Int) throws {
    // Cut at every phase of the wave, its peak too, where a step would be the largest.
    let seconds = 0.5 + Double(phase) / 11 / 1_000
    func tone(_ rate: Int, from start: Double, seconds: Double) -> Sound {
      let samples: [Float] = (0..<Int((seconds * Double(rate)).rounded())).map { frame in
        let turns = 1_000 * (start + Double(frame) / Double(rate))
        return Float(0.5 * sin(2 * Double.pi * turns))
      }
      return Sound(sampleRate: rate, channels: [samples, samples])
    }
    let first = tone(rates.0, from: 0, seconds: seconds)
    let start = Double(first.frameCount) / Double(rates.0)
    let sound = try played([first, tone(rates.1, from: start, seconds: 0.5)])
    // The curvature of a tone of 1 kHz at 48 kHz is 0.0086 at the most; a click of half the amplitude has 0.25.
    let samples = sound.channels[0]
    let seam = Int(start * 48_000)
    let curvature: [Float] = ((seam - 200)..<(seam + 200)).map { index in
      let neighbours: Float = samples[index - 1] + samples[index + 1]
      return abs(neighbours - 2 * samples[index])
    }
    #expect(curvature.max() ?? 1 < 0.02, "\(curvature.max() ?? 1)")
    #expect(abs(sound.frameCount - seam - 24_000) <= 1)
  }
}
