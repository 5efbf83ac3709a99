import EventLoop
import TestSupport
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

@Suite("The update over a link that is bad") struct BadLinkTests {
  /// Runs an update of 200 KB.
  private func run(drop: Double, corrupt: Double, disconnect: Double, seed: UInt64) throws -> (
    end: UpdateHarness.End, harness: UpdateHarness, time: Duration
  ) {
    var faults = BoardFaults()
    (faults.drop, faults.corrupt, faults.disconnect, faults.seed) = (drop, corrupt, disconnect, seed)
    let harness = try UpdateHarness(.with { $0.faults = faults }, size: 200_000)
    let end = try harness.run()
    return (end, harness, Instant.start.duration(to: harness.loop.now))
  }

  @Test(
    "one that drops 20 % of the frames, corrupts 10 % and ends behind 1 % carries 200 KB within 10 minutes",
    arguments: [4, 6, 7])
  func bad(seed: UInt64) throws {
    let (end, harness, time) = try run(drop: 0.2, corrupt: 0.1, disconnect: 0.01, seed: seed)
    harness.expectUpdated(end)
    #expect(time < .seconds(600))
  }

  @Test("one that is worse ends the update two minutes after the last headway, and is called too bad")
  func worse() throws {
    let (end, harness, time) = try run(drop: 0.35, corrupt: 0.1, disconnect: 0.15, seed: 3)
    guard case .failed(let error) = end else { throw TestFailure("\(end) after \(time)") }
    #expect(error.code == "headset.update_failed" && error.text("step") != nil)
    #expect(error.message.contains("the link is too bad"), "\(error)")
    #expect(harness.report?.confirmed.isWhole == true && harness.report?.version == "1.0.0")
    #expect(time < .seconds(600))
  }
}
