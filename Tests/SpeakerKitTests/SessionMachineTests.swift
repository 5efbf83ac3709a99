import EventLoop
import TestTraits
import Testing

@testable import SpeakerKit

@Suite("The rules of a session, without driver and clock", .tags(.speaker, .sessions))
struct SessionMachineTests {
  private func current(_ cue: Int) -> SessionMachine.Current {
    .init(
      source: SourceInfo(path: "\(cue)", title: "\(cue)"), cue: Cue(id: cue, duration: nil),
      request: SourceRequest(path: "\(cue)"))
  }

  private func words(_ actions: [SessionMachine.Action]) -> [String] {
    actions.map { action in
      switch action {
      case .start(let cue, let paused): "start \(cue.id)\(paused ? " paused" : "")"
      case .pause: "pause"
      case .resume: "resume"
      case .stop: "stop"
      case .reportState(let state): "tell \(state.rawValue)"
      case .reportEnded(let source, let reason): "tell \(source.title) \(reason.rawValue)"
      case .reportFailure(let error): "tell \(error.code)"
      }
    }
  }

  @Test("of two plays that open at one time, the later one wins whichever opens first")
  func laterWins() throws {
    var machine = SessionMachine()
    let first = machine.beginOpening()
    let second = machine.beginOpening()
    #expect(words(try machine.opened(second, current(2), hasMembers: true)) == ["start 2", "tell playing"])
    #expect(throws: SpeakerError.self) { try machine.opened(first, current(1), hasMembers: true) }
    #expect(machine.current?.cue.id == 2)
  }

  @Test("a source that opens after the last member has left does not play")
  func membersLeft() throws {
    var machine = SessionMachine()
    let ticket = machine.beginOpening()
    #expect(throws: SpeakerError.self) { try machine.opened(ticket, current(1), hasMembers: false) }
    #expect(machine.state == .stopped)
  }

  @Test("the end of a source that was replaced means nothing")
  func lateEnd() throws {
    var machine = SessionMachine()
    for cue in 1...2 {
      let ticket = machine.beginOpening()
      _ = try machine.opened(ticket, current(cue), hasMembers: true)
    }
    #expect(machine.ended(cue: 1, failure: nil).isEmpty)
    #expect(machine.state == .playing)
    #expect(words(machine.ended(cue: 2, failure: nil)) == ["stop", "tell stopped", "tell 2 finished"])
  }

  @Test("a source that turns bad publishes the error, then stopped, then failed")
  func failed() throws {
    var machine = SessionMachine()
    let ticket = machine.beginOpening()
    _ = try machine.opened(ticket, current(1), hasMembers: true)
    let actions = machine.ended(cue: 1, failure: SpeakerError(.lost, "gone"))
    #expect(words(actions) == ["tell speaker.lost", "stop", "tell stopped", "tell 1 failed"])
  }

  @Test("a seek keeps the state, and is void when another source plays by then")
  func repositioned() throws {
    var machine = SessionMachine()
    let ticket = machine.beginOpening()
    _ = try machine.opened(ticket, current(1), hasMembers: true)
    _ = machine.pause()
    #expect(
      machine.repositioned(Cue(id: 5, duration: nil), for: SourceRequest(path: "a"), from: 1).map(words) == [
        "start 5 paused"
      ])
    #expect(machine.repositioned(Cue(id: 6, duration: nil), for: SourceRequest(path: "a"), from: 1) == nil)
    #expect(machine.state == .paused)
  }

  @Test("a newer seek takes the place of one that is opening, whose cue is unused then")
  func seeks() {
    var seeking = SeekState()
    let first = seeking.begin(toFrame: 100, in: nil)
    #expect(seeking.opens(first) && seeking.target?.frame == 100)
    let second = seeking.begin(toFrame: 200, in: nil)
    #expect(!seeking.opens(first) && seeking.opens(second) && seeking.target?.frame == 200)
    seeking.end()
    #expect(!seeking.opens(second) && seeking.target == nil)
  }
}
