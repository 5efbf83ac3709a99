import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

@Suite("The update of an emulated board", .tags(.headset, .link, .firmware, .board)) struct UpdateJourneyTests
{
  @Test("an update ends with the new image, confirmed, after the time that the board named") func whole()
    throws
  {
    let harness = try UpdateHarness()
    harness.expectUpdated(try harness.run())
    #expect(harness.loop.now > Instant.start.advanced(by: .seconds(5)))
    #expect(!harness.log.contains { $0.contains("busy") })
  }

  @Test("a board that stays in its application is asked three times, then the error names the step")
  func stays()
    throws
  {
    let harness = try UpdateHarness(.with { $0.faults.stays = 3 })
    guard case .failed(let error) = try harness.run() else { throw TestFailure("it was updated") }
    #expect(error.code == "headset.update_failed" && error.text("step") == "enter")
    #expect(harness.report?.version == "1.0.0" && harness.report?.transfer == nil)
    #expect(harness.loop.now > Instant.start.advanced(by: .seconds(15)))
    let other = try UpdateHarness(.with { $0.faults.stays = 2 })
    other.expectUpdated(try other.run())
  }

  @Test("firmware by another key is refused by the host, and by the board when the host trusts it")
  func keys()
    throws
  {
    let other = try #require(SigningKey(seed: [UInt8](repeating: 3, count: 32)))
    for (trusted, step) in [(VerifyingKey.development, "check"), (other.verifyingKey, "begin")] {
      let harness = try UpdateHarness(key: other)
      guard case .failed(let error) = try harness.run(trusting: trusted) else { throw TestFailure("updated") }
      #expect(error.code == "headset.update_failed" && error.text("step") == step)
      #expect(harness.report?.version == "1.0.0" && harness.report?.transfer == nil)
      // It does not stay where nobody hears it.
      #expect(harness.log.contains("disconnected (rebooting)") == (step == "begin"))
    }
    let trusting = try UpdateHarness(.with { $0.trusted = other.verifyingKey }, key: other)
    trusting.expectUpdated(try trusting.run(trusting: other.verifyingKey))
  }

  @Test("a low battery refuses to begin") func battery() throws {
    let harness = try UpdateHarness(.with { $0.battery = 29 })
    guard case .failed(let error) = try harness.run() else { throw TestFailure("it was updated") }
    #expect(error.text("step") == "battery" && harness.report?.mode == "application")
  }

  @Test("a version that is there is not written again, unless that is wanted") func there() throws {
    let version = try #require(FirmwareVersion("1.1.0"))
    let harness = try UpdateHarness(.with { $0.version = version })
    #expect(try harness.run() == .updated(.alreadyThere(version: "1.1.0")))
    let forced = try UpdateHarness(.with { $0.version = version })
    forced.expectUpdated(try forced.run(isForced: true))
  }

  @Test("the link may end at any byte") func disconnects() throws {
    var random = SeededRandom(seed: 4)
    var offsets = [1, 2, 30, 100, 200, 300, 400, 500, 600]
    offsets += (0..<25).map { _ in Int.random(in: 1...13_000, using: &random) }
    for offset in offsets {
      let harness = try UpdateHarness(.with { $0.faults.disconnectAt = offset })
      harness.expectUpdated(try harness.run(), "byte \(offset)")
    }
  }

  @Test("the power may be lost between flash and journal") func journal() throws {
    for entry in 1...8 {
      let harness = try UpdateHarness(.with { $0.faults.death.journalEntry = entry })
      harness.store.keepsUnflushed = entry.isMultiple(of: 2)
      let end = try harness.run()
      #expect(harness.afterLosses.allSatisfy { $0.confirmed.isWhole && $0.version == "1.0.0" })
      harness.expectUpdated(end, "entry \(entry)")
    }
  }

  @Test("frames that are lost, doubled, broken, late, torn or joined, and links that end") func faults()
    throws
  {
    var random = SeededRandom(seed: 500)
    var updated = 0
    for _ in 0..<30 {
      var faults = BoardFaults()
      faults.seed = random.next()
      func probability(_ most: Double) -> Double {
        Bool.random(using: &random) ? Double.random(in: 0...most, using: &random) : 0
      }
      (faults.drop, faults.duplicate, faults.corrupt) = (probability(0.1), probability(0.2), probability(0.1))
      (faults.delay, faults.split, faults.merge) = (probability(0.2), probability(0.3), probability(0.3))
      faults.disconnect = probability(0.03)
      let harness = try UpdateHarness(.with { $0.faults = faults })
      let end = try harness.run()
      switch end {
      case .updated:
        harness.expectUpdated(end, "\(faults)")
        updated += 1
      case .failed(let error):
        #expect(error.code == "headset.update_failed" && error.text("step") != nil, "\(faults): \(error)")
        #expect(harness.report?.confirmed.isWhole == true)
      case .cancelled: Issue.record("\(faults)")
      }
      #expect(harness.loop.now < Instant.start.advanced(by: .seconds(1_200)), "\(faults)")
    }
    #expect(updated >= 28, "\(updated)")
  }

  @Test("a cancelled update is gone on from by the next one") func cancel() throws {
    let harness = try UpdateHarness(size: 60_000)
    harness.cancelAt = 0.5
    let (first, second) = try harness.runTwice()
    #expect(first == .cancelled)
    harness.expectUpdated(second)
    #expect(harness.progress.first.map { $0 >= 0.5 } == true)
  }
}
