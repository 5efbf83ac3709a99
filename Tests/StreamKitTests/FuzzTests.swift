import EventLoop
import StreamCore
import TestSupport
import TestTraits
import Testing

/// Damaged streams: the result does not depend on how they are divided, and memory is bounded.
@Suite("Mutated streams", .waiting, .tags(.stream, .hostile)) struct StreamFuzzTests {
  /// Returns `bytes` with bits changed, and parts removed, doubled or replaced by random bytes.
  private func damaged(_ bytes: [UInt8], _ random: inout SeededRandom) -> [UInt8] {
    var result = bytes
    for _ in 0..<Int.random(in: 1...5, using: &random) {
      let offset = Int.random(in: 0..<result.count, using: &random)
      let length = min(Int.random(in: 0..<300, using: &random), result.count - offset)
      switch Int.random(in: 0..<5, using: &random) {
      case 0: result[offset] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      case 1: result.removeSubrange(offset..<(offset + length))
      case 2: result.insert(contentsOf: result[offset..<(offset + length)], at: offset)
      case 3: result.insert(contentsOf: random.bytes(length), at: offset)
      default: result.insert(contentsOf: [0x49, 0x44, 0x33, 4, 0, 0, 0, 0, 1, 5], at: offset)
      }
      if result.isEmpty { result = [0] }
    }
    return result
  }

  @Test("the framer finds the same in any pieces, in order, and each frame has its bytes") func framer()
    throws
  {
    let sources = try [
      "mp3-cbr128-44k.mp3", "aac-lc-44k.aac", "he-aac-v2-48k.aac", "mp3-mpeg25-32-11k-mono.mp3",
    ]
    .map { try Array(readBytes(Fixtures.path($0)).prefix(3000)) }
    var random = SeededRandom(seed: 11)
    for round in 0..<600 {
      let other = sources[Int.random(in: 0..<4, using: &random)]
      let stream = damaged(sources[round % 4], &random) + (round % 3 == 0 ? damaged(other, &random) : [])
      let whole = StreamFramer.items(of: stream)
      let pieces = StreamFramer.items(of: stream, pieces: Int.random(in: 1...2000, using: &random))
      #expect(whole == pieces, "round \(round)")
      var end = 0
      for case .frame(let frame) in whole {
        let bytes = stream[frame.offset..<(frame.offset + frame.length)]
        #expect(frame.offset >= end && bytes.withUnsafeBytes(FrameHash.of) == frame.hash)
        end = frame.offset + frame.length
      }
    }
  }

  @Test("the de-interleaver finds the same in any pieces, and every byte of audio") func deinterleaver() {
    var random = SeededRandom(seed: 12)
    for round in 0..<500 {
      let stream = random.bytes(Int.random(in: 1...3000, using: &random))
      let interval = round % 10 == 0 ? 0 : Int.random(in: 1...400, using: &random)
      let whole = ICYRun(stream, interval: interval)
      let pieces = ICYRun(stream, interval: interval, pieces: Int.random(in: 1...50, using: &random))
      #expect(whole.audio == pieces.audio && whole.blocks == pieces.blocks)
      #expect(whole.blocks.allSatisfy { $0.bytes.count % 16 == 0 && $0.bytes.count <= 4080 })
    }
  }

  @Test("the parser of titles survives any bytes") func titles() {
    var random = SeededRandom(seed: 13)
    let block = Array("StreamTitle='A - Café d'Or; live';StreamUrl='http://example.org/';".utf8)
    for _ in 0..<2000 {
      let data = ICYMetadata(damaged(block, &random), encoding: .windows1252)
      for text in [data.title, data.url].compactMap(\.self) {
        #expect(text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
      }
    }
    let hostile = ICYMetadata([UInt8](repeating: UInt8(ascii: "'"), count: 100_000))
    #expect(hostile.title == nil)
  }
}
