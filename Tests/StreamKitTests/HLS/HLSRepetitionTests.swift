import Codecs
import TestTraits
import Testing

@testable import Reception
@testable import StreamCore

@Suite("sound that a list brings again", .tags(.stream, .hls, .stitching)) struct HLSRepetitionTests {
  private static let format = StreamFormat(codec: .aac, sampleRate: 44_100, channels: 2)

  private func frame(_ name: Int) -> StreamFrame {
    StreamFrame(offset: 0, length: 100, hash: UInt64(name), format: Self.format, samples: 1024)
  }

  /// The frames that are delivered of those that come, behind others that were heard; "|" for a join.
  private func delivered(_ frames: [Int], behind heard: [Int]) -> [String] {
    var repetition = HLSRepetition()
    for name in heard { repetition.add(frame(name)) }
    repetition.begin()
    var delivered: [String] = []
    for name in frames {
      switch [UInt8(0)].withUnsafeBytes({ repetition.receive(frame(name), $0, nil) }) {
      case .new(let held):
        delivered += held.map { "\($0.frame.hash)" } + ["\(name)"]
        repetition.add(frame(name))
      case .held, .old: break
      case .last: delivered.append("|")
      }
    }
    return delivered + repetition.drainHeld().map { "\($0.frame.hash)" }
  }

  @Test("what was heard is left out, to the frame, and what follows joins") func repeated() {
    #expect(delivered(Array(80..<105), behind: Array(0..<100)) == ["|"] + (100..<105).map { "\($0)" })
    // Frames that repeat, as those of silence, prove nothing alone.
    let silence = [Int](repeating: 7, count: 20)
    let heard = Array(50..<60) + silence + Array(60..<70)
    #expect(delivered(silence + Array(60..<72), behind: heard) == ["|", "70", "71"])
  }

  @Test("what is new is delivered at once, and from the frame on where it differs") func new() {
    #expect(delivered([200, 201], behind: Array(0..<100)) == ["200", "201"])
    #expect(delivered([50, 51, 200, 201], behind: Array(0..<100)) == ["50", "51", "200", "201"])
    #expect(delivered([50, 51, 52, 53, 200], behind: Array(0..<100)) == ["200"])
    #expect(delivered([1, 2], behind: []) == ["1", "2"])
  }

  @Test("silence that may be another one is delivered, at the latest behind 64 frames") func silence() {
    let silence = [Int](repeating: 7, count: 300)
    #expect(delivered(Array(silence.prefix(200)), behind: silence).count == 200)
    #expect(delivered(Array(silence.prefix(10)), behind: silence).count == 10)
  }
}
