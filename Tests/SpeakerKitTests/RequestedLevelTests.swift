import TestTraits
import Testing

@testable import SpeakerKit

/// A level that is never muted.
private struct Level: ServerLevel, ExpressibleByIntegerLiteral {
  var volume: Int
  var isMuted = false

  init(volume: Int) { self.volume = volume }
  init(integerLiteral volume: Int) { self.volume = volume }
}

@Suite("A level that is requested of a speaker behind a server", .tags(.speaker, .drivers, .volume))
struct RequestedLevelTests {
  private typealias Machine = RequestedLevel<Level>

  /// Returns a machine whose request of a level is under way.
  private func sent(_ level: Level) -> Machine {
    var machine = Machine()
    _ = machine.want(level)
    _ = machine.send()
    return machine
  }

  @Test("one request is under way at a time; the newest level is the next one, and each answer is reported")
  func newest() {
    var machine = Machine()
    #expect(machine.want(10) == [.request] && machine.want(11) == [])
    #expect(machine.send() == 11 && machine.isUnderWay)
    #expect(machine.want(20) == [] && machine.want(30) == [])
    #expect(machine.confirmed(11, shown: 5) == [.report(11), .request])
    #expect(machine.send() == 30 && machine.send() == nil)
    #expect(machine.confirmed(30, shown: 11) == [.report(30)])
    #expect(!machine.isUnderWay && machine.requested == nil)
  }

  @Test("a level that is shown ahead of its answer is reported once")
  func shownAhead() {
    var machine = sent(10)
    #expect(machine.settle(shown: 5) == [.report(10)] && machine.isAhead)
    #expect(machine.settle(shown: 10) == [])
    #expect(machine.confirmed(10, shown: 10) == [] && !machine.isAhead)
  }

  @Test("a shown level holds while an older one is answered, also if the older one is requested again")
  func overtaken() {
    var machine = sent(10)
    _ = machine.want(20)
    #expect(machine.settle(shown: 5) == [.report(20)])
    #expect(machine.confirmed(10, shown: 20) == [.request] && machine.isAhead)
    #expect(machine.send() == 20)
    #expect(machine.confirmed(20, shown: 20) == [])
    machine = sent(10)
    _ = machine.want(20)
    _ = machine.settle(shown: 5)
    #expect(machine.want(10) == [] && machine.confirmed(10, shown: 20) == [.report(10)])
  }

  @Test("a refusal gives the level of the server back, as it was or as it has been observed since")
  func refusal() {
    var machine = sent(10)
    #expect(machine.refused(shown: 5) == [])
    machine = sent(10)
    _ = machine.settle(shown: 5)
    machine.observed(7)
    #expect(machine.refused(shown: 10) == [.report(7)] && machine.requested == nil && !machine.isAhead)
  }

  @Test("the refusal of an older level does not drop the newer one")
  func olderRefused() {
    var machine = sent(10)
    _ = machine.want(20)
    #expect(machine.refused(shown: 5) == [.request] && machine.send() == 20)
    #expect(machine.confirmed(20, shown: 5) == [.report(20)])
  }

  @Test("a lost request is made again when the server is back, with the newest level")
  func loss() {
    var machine = sent(10)
    _ = machine.want(20)
    machine.lost()
    #expect(!machine.isUnderWay && machine.want(30) == [] && machine.send() == nil)
    #expect(machine.back() == [.request] && machine.send() == 30)
    #expect(machine.confirmed(30, shown: 5) == [.report(30)])
    #expect(machine.back() == [])
  }

  @Test("a level that a server has forgotten is restored without a report; one that it has is not requested")
  func restored() {
    var machine = Machine()
    machine.lost(restoring: 10)
    #expect(machine.isAhead && machine.back(with: 10) == [] && !machine.isAhead)
    machine.lost(restoring: 10)
    machine.lost(restoring: 12)
    #expect(machine.back(with: 40) == [.request] && machine.send() == 10)
    #expect(machine.confirmed(10, shown: 10) == [] && !machine.isAhead)
  }

  @Test("a mute that is under way when its server is lost is restored with the volume that the speaker shows")
  func restoredMute() {
    var machine = RequestedLevel<SnapcastLevel>()
    let shown = SnapcastLevel(percent: 40, isMuted: false)
    _ = machine.want(SnapcastLevel(percent: nil, isMuted: true))
    #expect(machine.send()?.percent == nil)
    machine.lost()
    machine.lost(restoring: shown)
    #expect(machine.back(with: SnapcastLevel(percent: 100, isMuted: true)) == [.request])
    #expect(machine.send() == SnapcastLevel(percent: 40, isMuted: true))
  }
}
