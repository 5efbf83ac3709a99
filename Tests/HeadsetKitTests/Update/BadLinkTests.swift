import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

@Suite("The update over a link that is bad", .tags(.headset, .link, .firmware)) struct BadLinkTests {
  /// Runs an update of 200 KB.
  /// - Parameter delay: of each frame, in milliseconds.
  private func run(
    drop: Double, corrupt: Double, disconnect: Double, delay: Int = 0, seed: UInt64
  ) throws -> (end: UpdateHarness.End, harness: UpdateHarness, time: Duration) {
    var faults = BoardFaults()
    (faults.delay, faults.delayTime) = (delay > 0 ? 1 : 0, .milliseconds(delay))
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

  @Test(
    "the time that is left is told before the first byte and each second, and is about right",
    arguments: [4, 6, 7], [0, 0.01])
  func estimates(seed: UInt64, disconnect: Double) throws {
    // What is lost without an end of the link is steady enough to be foreseen.
    let isSteady = disconnect == 0
    let (end, harness, _) =
      isSteady
      ? try run(drop: 0.1, corrupt: 0, disconnect: 0, delay: 60, seed: seed)
      : try run(drop: 0.2, corrupt: 0.1, disconnect: disconnect, seed: seed)
    harness.expectUpdated(end)
    let told = harness.estimates.compactMap { at, estimate in
      estimate.left.map { (at: at, fraction: estimate.fraction, left: $0.inSeconds) }
    }
    let written = try #require(told.last).at
    #expect(told.first?.fraction == 0)
    for (at, fraction, left) in told where isSteady && fraction < 0.8 {
      let real = at.duration(to: written).inSeconds
      let factor = fraction < 0.2 ? 6.0 : 3
      #expect(left < real * factor && left > real / factor, "\(fraction): \(left) s told, \(real) s taken")
    }
    let moments = harness.estimates.map(\.at)
    #expect(zip(moments, moments.dropFirst()).allSatisfy { $0.duration(to: $1) <= .seconds(1) })
    #expect(harness.estimates.last?.estimate.left == nil)
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
