import AudioCore
import Codecs
import TestSupport
import TestTraits
import Testing

@Suite("Resampler", .tags(.rendering)) struct ResamplerTests {
  /// Returns the output of `resampler` for `samples`, `inputPiece` frames in and `outputPiece` out at a time.
  private func run(
    _ resampler: Resampler, _ samples: [Float], inputPiece: Int = 1024, outputPiece: Int = 960
  ) throws -> [Float] {
    var output: [Float] = []
    var room = [Float](repeating: 0, count: outputPiece * resampler.channels)
    var start = 0
    while start < samples.count {
      let end = min(samples.count, start + inputPiece * resampler.channels)
      let result = try samples[start..<end].withUnsafeBufferPointer { input in
        try room.withUnsafeMutableBufferPointer { try resampler.process(input, into: $0) }
      }
      #expect(result.consumed > 0 || result.produced > 0)
      start += result.consumed * resampler.channels
      output += room[..<(result.produced * resampler.channels)]
    }
    while true {
      let produced = try room.withUnsafeMutableBufferPointer { try resampler.flush(into: $0) }
      if produced == 0 { return output }
      output += room[..<(produced * resampler.channels)]
    }
  }

  @Test(
    "n frames become n times the ratio, rounded",
    arguments: [(44_100, 48_000), (48_000, 44_100), (22_050, 48_000), (11_025, 48_000), (96_000, 48_000)])
  func length(from: Int, to: Int) throws {
    for frames in [0, 1, 2, 3, 146, 147, 148, 1000, 44_101] {
      let noise = Signal.noise(seed: 1, frames: 2 * frames)
      let output = try run(Resampler(from: from, to: to, channels: 2), noise)
      let exact = Int((Double(frames) * Double(to) / Double(from)).rounded())
      #expect(output.count == 2 * exact, "\(frames) frames")
      #expect(Resampler.length(of: frames, from: from, to: to) == exact)
    }
  }

  @Test(
    "a sine comes out pure and where it was",
    arguments: [(44_100, 48_000), (48_000, 44_100), (22_050, 48_000), (11_025, 48_000)])
  func purity(from: Int, to: Int) throws {
    for frequency in [100.0, 997, 4000] {
      let sine = Signal.sine(frequency, amplitude: 0.5, frames: from, sampleRate: from)
      let output = try run(Resampler(from: from, to: to, channels: 1), sine)
      let reference = Signal.sine(frequency, amplitude: 0.5, frames: to, sampleRate: to)
      // The edges hold the filter's answer to a tone that starts and ends suddenly.
      let range = 2000..<(to - 2000)
      let error = Sound(sampleRate: to, channels: [output])[range]
        .errorToSignal(against: Sound(sampleRate: to, channels: [reference])[range])
      #expect(error < -110, "\(frequency) Hz")
    }
  }

  @Test("frequencies beyond the lower rate are removed, not folded down") func aliasing() throws {
    let sine = Signal.sine(23_500, amplitude: 0.5, frames: 48_000, sampleRate: 48_000)
    let output = try run(Resampler(from: 48_000, to: 44_100, channels: 1), sine)
    #expect(Sound(sampleRate: 44_100, channels: [output])[2000..<42_000].level < -100)
  }

  @Test("the sizes of the pieces make no difference, and channels stay apart") func pieces() throws {
    let left = Signal.sine(500, amplitude: 0.5, frames: 20_000, sampleRate: 44_100)
    let stereo: [Float] = left.flatMap { [$0, 0] as [Float] }
    let whole = try run(Resampler(from: 44_100, to: 48_000, channels: 2), stereo)
    let parts = try run(
      Resampler(from: 44_100, to: 48_000, channels: 2), stereo, inputPiece: 17, outputPiece: 5)
    let same = whole == parts
    #expect(same)
    let right = Sound(interleaved: whole, format: .session).channels[1]
    #expect(right.allSatisfy { $0 == 0 })
  }

  @Test("after a reset it starts as if it were new") func reset() throws {
    let resampler = try Resampler(from: 44_100, to: 48_000, channels: 1)
    let noise = Signal.noise(seed: 3, frames: 5000)
    let first = try run(resampler, noise)
    try resampler.reset()
    let second = try run(resampler, noise)
    let same = first == second
    #expect(same)
  }

  @Test("invalid rates are refused", arguments: [(0, 48_000, 2), (48_000, 0, 2), (48_000, 44_100, 0)])
  func refuses(from: Int, to: Int, channels: Int) {
    #expect(throws: AudioError.self) { try Resampler(from: from, to: to, channels: channels) }
  }
}
