import EventLoop
import Roomtone
import TestSupport
import TestTraits
import Testing

/// The processor time of sound that goes through a tap, in virtual time, in which one thread does everything.
@Suite("the cost of a tap", .waiting, .tags(.stream, .taps))
struct TapCostTests {
  /// A source of twenty minutes of sound, and where it plays.
  enum Case: String, CaseIterable, CustomTestStringConvertible {
    case station, file, session
    var testDescription: String { rawValue }

    func code(_ file: String) -> String {
      let source =
        self == .file ? "stream.file \"\(file)\"" : "stream.new \"http://radio.example/live\""
      let start = self == .session ? "speaker.play_stream(radio)" : "radio:start()"
      return """
        local radio = require "stream".\(source.dropFirst("stream.".count))
        local blocks = 0
        radio:tap(function(block) blocks = blocks + 1 end)
        \(start)
        task.sleep "19m"
        print(blocks > 19 * 60 * 20)
        os.exit(0)
        """
    }
  }

  @Test("is the same in the last minutes of twenty as in the first", arguments: Case.allCases)
  func constant(source: Case) throws {
    var harness = try EngineHarness()
    let piece = try readBytes(Fixtures.path("mp3-mpeg25-32-11k-mono.mp3"))
    let file = try harness.folder.write(
      [UInt8]([[UInt8]](repeating: piece, count: 1 + 20 * 60 * 4000 / piece.count).joined()), to: "long.mp3")
    let record = Record()
    harness.prepare = { engine in
      for minute in [1, 5, 14, 18] {
        engine.loop.after(.seconds(minute * 60), keepsAlive: false) {
          record.times.append(ownProcessorTime())
        }
      }
    }
    #expect(try harness.printed(source.code(file)) == ["true"])
    try #require(record.times.count == 4)
    let (early, late) = (record.times[1] - record.times[0], record.times[3] - record.times[2])
    #expect(late < 2.5 * early, "four minutes took \(early) s, and \(late) s later")
  }

  @Test("of five hundred taps each receives its blocks, and a tap costs what one of fifty costs")
  func many() throws {
    let piece = try readBytes(Fixtures.path("mp3-mpeg25-32-11k-mono.mp3"))
    func seconds(_ count: Int) throws -> Double {
      let harness = try EngineHarness()
      let file = try harness.folder.write(
        [UInt8]([[UInt8]](repeating: piece, count: 1 + 120 * 4000 / piece.count).joined()), to: "long.mp3")
      let begun = ownProcessorTime()
      let lines = try harness.printed(
        """
        local radio, counts = require "stream".file "\(file)", {}
        for i = 1, \(count) do
          counts[i] = 0
          radio:tap(function(block) counts[i] = counts[i] + 1 end)
        end
        radio:start()
        task.sleep "4s"
        local least, most = math.huge, 0
        for _, n in ipairs(counts) do least, most = math.min(least, n), math.max(most, n) end
        print(least >= 100, most <= 140)
        os.exit(0)
        """)
      #expect(lines == ["true\ttrue"], "\(count) taps")
      return ownProcessorTime() - begun
    }
    let (few, many) = (try seconds(50), try seconds(500))
    #expect(many < 40 * few, "fifty took \(few) s, five hundred \(many) s")
  }

  private final class Record { var times: [Double] = [] }
}
