import TestTraits
import Testing

@testable import RecordingKit

@Suite(.tags(.stream, .recording)) struct RecordingMachineTests {
  private struct Full: Error {}
  private struct Lost: Error {}
  private struct Silent: Error {}

  private func words(_ actions: [RecordingMachine.Action]) -> [String] { actions.map(word) }

  private func word(_ action: RecordingMachine.Action) -> String {
    func word(_ result: Result<Void, any Error>) -> String {
      switch result {
      case .success: "success"
      case .failure(let error): "\(type(of: error))"
      }
    }
    return switch action {
    case .detach: "detach"
    case .requestEnd: "request end"
    case .leaveStream: "leave"
    case .reportStopped(let error): "stopped \(type(of: error))"
    case .reportFinished: "finished"
    case .endBeginning(let result): "beginning \(word(result))"
    case .endEnding(let result): "ending \(word(result))"
    }
  }

  @Test("a recording begins with its first frame, and is finished when its end is written")
  func whole() {
    var machine = RecordingMachine()
    #expect(machine.state == .recording && machine.beginning == nil)
    #expect(words(machine.began()) == ["beginning success"])
    #expect(words(machine.finish()) == ["detach", "request end"])
    #expect(machine.finish().isEmpty && machine.state == .recording && machine.result == nil)
    #expect(
      words(machine.finished(silence: Silent()))
        == ["detach", "leave", "finished", "beginning success", "ending success"])
    #expect(machine.state == .finished)
    #expect(machine.finish().isEmpty && machine.fail(Lost()).isEmpty && machine.state == .finished)
  }

  @Test("the first failure of the stream is the recording's, also across a wait for room")
  func failures() throws {
    var machine = RecordingMachine()
    _ = machine.began()
    #expect(words(machine.fail(Lost())) == ["detach", "request end"])
    machine.paused()
    #expect(machine.state == .waiting && machine.fail(Full()).isEmpty)
    machine.continued()
    #expect(machine.state == .recording)
    #expect(
      words(machine.finished(silence: Silent()))
        == ["detach", "leave", "stopped Lost", "beginning success", "ending Lost"])
    #expect(machine.state == .failed)
    #expect(throws: Lost.self) { try machine.result?.get() }
  }

  @Test("a disk that fails ends the recording at once")
  func disk() {
    var machine = RecordingMachine()
    #expect(
      words(machine.stopped(Full()))
        == ["detach", "leave", "stopped Full", "beginning Full", "ending Full"])
    #expect(machine.state == .failed && machine.finished(silence: Silent()).isEmpty)
    #expect(machine.stopped(Lost()).isEmpty, "a report that comes late")
  }

  @Test("without a frame, the calls that wait for one have the failure, or are cancelled by an end")
  func frameless() {
    var machine = RecordingMachine()
    #expect(
      words(machine.finished(silence: Silent())) == ["detach", "leave", "beginning Silent", "ending Silent"])
    machine = RecordingMachine()
    _ = machine.finish()
    #expect(
      words(machine.finished(silence: Silent()))
        == ["detach", "leave", "beginning CancellationError", "ending success"])
    #expect(machine.state == .finished)
  }
}
