import EventLoop
import TestSupport
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

@Suite("The update of an emulated board") struct UpdateJourneyTests {
  @Test("an update ends with the new image, confirmed, after the time that the board named") func whole()
    throws
  {
    let bench = try UpdateBench()
    bench.expectUpdated(try bench.run())
    #expect(bench.loop.now > Instant.start.advanced(by: .seconds(5)))
    #expect(!bench.log.contains { $0.contains("busy") })
  }

  @Test("a board that stays in its application is asked three times, then the error names the step")
  func stays()
    throws
  {
    let bench = try UpdateBench(.with { $0.faults.stays = 3 })
    guard case .failed(let error) = try bench.run() else { throw TestFailure("it was updated") }
    #expect(error.code == "headset.update_failed" && error.text("step") == "enter")
    #expect(bench.report?.version == "1.0.0" && bench.report?.transfer == nil)
    #expect(bench.loop.now > Instant.start.advanced(by: .seconds(15)))
    let other = try UpdateBench(.with { $0.faults.stays = 2 })
    other.expectUpdated(try other.run())
  }

  @Test("firmware by another key is refused by the host, and by the board when the host trusts it")
  func keys()
    throws
  {
    let other = try #require(SigningKey(seed: [UInt8](repeating: 3, count: 32)))
    for (trusted, step) in [(VerifyingKey.development, "check"), (other.verifyingKey, "begin")] {
      let bench = try UpdateBench(key: other)
      guard case .failed(let error) = try bench.run(trusting: trusted) else { throw TestFailure("updated") }
      #expect(error.code == "headset.update_failed" && error.text("step") == step)
      #expect(bench.report?.version == "1.0.0" && bench.report?.transfer == nil)
      // It does not stay where nobody hears it.
      #expect(bench.log.contains("disconnected (rebooting)") == (step == "begin"))
    }
    let trusting = try UpdateBench(.with { $0.trusted = other.verifyingKey }, key: other)
    trusting.expectUpdated(try trusting.run(trusting: other.verifyingKey))
  }

  @Test("a low battery refuses to begin") func battery() throws {
    let bench = try UpdateBench(.with { $0.battery = 29 })
    guard case .failed(let error) = try bench.run() else { throw TestFailure("it was updated") }
    #expect(error.text("step") == "battery" && bench.report?.mode == "application")
  }

  @Test("a version that is there is not written again, unless that is wanted") func there() throws {
    let version = try #require(FirmwareVersion("1.1.0"))
    let bench = try UpdateBench(.with { $0.version = version })
    #expect(try bench.run() == .updated(.alreadyThere(version: "1.1.0")))
    let forced = try UpdateBench(.with { $0.version = version })
    forced.expectUpdated(try forced.run(isForced: true))
  }

  @Test("the link may end at any byte") func disconnects() throws {
    var random = SeededRandom(seed: 4)
    var places = [1, 2, 30, 100, 200, 300, 400, 500, 600]
    places += (0..<25).map { _ in Int.random(in: 1...13_000, using: &random) }
    for place in places {
      let bench = try UpdateBench(.with { $0.faults.disconnectAt = place })
      bench.expectUpdated(try bench.run(), "byte \(place)")
    }
  }

  @Test("the power may be lost between flash and journal") func journal() throws {
    for entry in 1...8 {
      let bench = try UpdateBench(.with { $0.faults.death.journalEntry = entry })
      bench.store.keepsUnflushed = entry.isMultiple(of: 2)
      let end = try bench.run()
      #expect(bench.afterLosses.allSatisfy { $0.confirmed.isWhole && $0.version == "1.0.0" })
      bench.expectUpdated(end, "entry \(entry)")
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
      func chance(_ most: Double) -> Double {
        Bool.random(using: &random) ? Double.random(in: 0...most, using: &random) : 0
      }
      (faults.drop, faults.duplicate, faults.corrupt) = (chance(0.1), chance(0.2), chance(0.1))
      (faults.delay, faults.split, faults.merge) = (chance(0.2), chance(0.3), chance(0.3))
      faults.disconnect = chance(0.03)
      let bench = try UpdateBench(.with { $0.faults = faults })
      let end = try bench.run()
      switch end {
      case .updated:
        bench.expectUpdated(end, "\(faults)")
        updated += 1
      case .failed(let error):
        #expect(error.code == "headset.update_failed" && error.text("step") != nil, "\(faults): \(error)")
        #expect(bench.report?.confirmed.isWhole == true)
      case .cancelled: Issue.record("\(faults)")
      }
      #expect(bench.loop.now < Instant.start.advanced(by: .seconds(1_200)), "\(faults)")
    }
    #expect(updated >= 28, "\(updated)")
  }

  @Test("a cancelled update is gone on from by the next one") func cancel() throws {
    let bench = try UpdateBench(size: 60_000)
    bench.cancelAt = 0.5
    let (first, second) = try bench.runTwice()
    #expect(first == .cancelled)
    bench.expectUpdated(second)
    #expect(bench.progress.first.map { $0 >= 0.5 } == true)
  }
}
