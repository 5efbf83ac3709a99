import Codecs
import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("Resampler of a variable rate", .tags(.cards)) struct VariableResamplerTests {
  /// Returns the output for `samples`, a block of 960 frames at a time, with a ratio for each block.
  private func run(
    _ resampler: VariableResampler, _ samples: [Float], ratio: (_ block: Int) -> Double
  ) throws -> [Float] {
    var (output, room) = ([Float](), [Float](repeating: 0, count: 1_920))
    for (block, start) in stride(from: 0, to: samples.count, by: 960).enumerated() {
      var rest = samples[start..<min(samples.count, start + 960)]
      while !rest.isEmpty {
        let result = try rest.withUnsafeBufferPointer { input in
          try room.withUnsafeMutableBufferPointer {
            try resampler.process(input, ratio: ratio(block), into: $0)
          }
        }
        output += room[..<result.produced]
        rest = rest.dropFirst(result.consumed)
      }
    }
    return output
  }

  @Test("a sine whose ratio moves keeps its level and phase, as `position` says, within −70 dB")
  func sine() throws {
    let step = 2 * Double.pi * 1_000 / 48_000
    let samples = (0..<192_000).map { Float(0.5 * sin(step * Double($0))) }
    let resampler = try VariableResampler(channels: 1)
    let start = resampler.position
    let output = try run(resampler, samples) { 1 + 200e-6 * sin(Double($0) / 20) }
    #expect(abs(output.count - 192_000) < 400)
    #expect(abs(resampler.position - Double(192_000 - 240)) < 4)
    // The phase of the end follows from the position.
    let last = Array(output.suffix(480))
    var (sines, cosines) = (0.0, 0.0)
    let first = resampler.position - 480
    for (index, sample) in last.enumerated() {
      sines += Double(sample) * sin(step * (first + Double(index)))
      cosines += Double(sample) * cos(step * (first + Double(index)))
    }
    #expect(abs(hypot(sines, cosines) / 120 - 1) < 0.001)
    #expect(abs(atan2(cosines, sines)) / step < 0.1, "frames")
    // A sample follows from the two before it.
    let factor = Float(2 * cos(step))
    let residual = (20_000..<output.count - 2).map {
      abs(output[$0 + 2] - factor * output[$0 + 1] + output[$0])
    }
    #expect(20 * log10((residual.max() ?? 1) / 0.5) < -70)
    #expect(start < 0 && start > -3)
  }

  @Test("after a reset the next input is the start of a new stream")
  func reset() throws {
    let noise = Signal.noise(seed: 3, frames: 9_600)
    let resampler = try VariableResampler(channels: 1)
    let once = try run(resampler, noise) { _ in 1.0001 }
    let position = resampler.position
    try resampler.reset()
    #expect(try run(resampler, noise) { _ in 1.0001 } == once)
    #expect(resampler.position == position)
  }
}
