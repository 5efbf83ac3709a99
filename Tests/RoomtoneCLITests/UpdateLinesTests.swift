import HeadsetKit
import TestTraits
import Testing

@testable import RoomtoneCLI

@Suite("Lines of an update off a terminal", .tags(.firmware, .command)) struct UpdateLinesTests {
  @Test("the time is told at once where it is long, every ten seconds in the first minute, then every minute")
  func intervals() {
    let start = ContinuousClock.now
    var lines = UpdateLines(of: "RT-1", from: start)
    var told: [(Int, String)] = []
    for second in 0...200 {
      let estimate = UpdateEstimate(fraction: Double(second) / 400, left: .seconds(400 - second))
      if let line = lines.line(for: estimate, at: start + .seconds(second)) { told.append((second, line)) }
    }
    #expect(told.map(\.0) == [0, 10, 20, 30, 40, 50, 60, 120, 180])
    #expect(told.first?.1 == "updating RT-1: 0 %, about 7 min left")
    #expect(told.last?.1 == "updating RT-1: 45 %, about 4 min left")
  }

  @Test("of a short update nothing is told before it has taken ten seconds")
  func short() {
    let start = ContinuousClock.now
    var lines = UpdateLines(of: "RT-1", from: start)
    #expect(lines.line(for: .init(fraction: 0, left: nil), at: start) == nil)
    #expect(lines.line(for: .init(fraction: 0.2, left: .seconds(4)), at: start + .seconds(1)) == nil)
    let late = lines.line(for: .init(fraction: 0.99, left: nil), at: start + .seconds(11))
    #expect(late == "updating RT-1: 99 %")
  }

  @Test(
    "times are rounded up",
    arguments: [
      (1.0, "5 s"), (32, "35 s"), (54, "55 s"), (56, "1 min"), (61, "2 min"), (5_940, "99 min"),
      (5_941, "1 h 40 min"),
    ])
  func words(seconds: Double, words: String) {
    let estimate = UpdateEstimate(fraction: 0, left: .seconds(seconds))
    #expect(UpdateLines.words(for: estimate) == ", about \(words) left")
  }
}
