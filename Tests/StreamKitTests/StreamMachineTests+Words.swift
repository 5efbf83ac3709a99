import EventLoop

@testable import Playback
@testable import StreamCore

/// Actions as words that a test compares.
extension StreamMachineTests {
  func words(_ actions: [StreamMachine.Action]) -> [String] { actions.map(words) }

  func words(_ action: StreamMachine.Action) -> String {
    switch action {
    case .connect(let plays): plays ? "connect and play" : "connect"
    case .disconnect: "disconnect"
    case .restart: "restart"
    case .rest: "rest"
    case .reportDry: "report dry"
    case .playReceived: "play received"
    case .leavePlayer: "leave player"
    case .completeBuffer: "complete buffer"
    case .completeSound: "complete sound"
    case .followBuffer: "follow buffer"
    case .keepUnheard(let keeps): keeps ? "keep unheard" : "do not keep unheard"
    case .beginPosition: "begin position"
    case .run: "run"
    case .halt: "halt"
    case .passHeard: "pass heard"
    case .watchReadOut: "watch read out"
    case .pauseTimer(let runs): runs ? "pause timer" : "pause timer off"
    case .forgetListener: "forget listener"
    case .playNext: "play next"
    case .recordNext: "record next"
    case .stop: "stop"
    case .adoptNext: "adopt next"
    case .finishRecordings: "finish recordings"
    case .failRecordings(let error): "fail recordings \(error.code)"
    case .emit(let event): "emit \(event.word)"
    case .announce(let status): "announce \(status.rawValue)"
    case .endStarts(let error): error.map { "end starts \(words($0))" } ?? "end starts"
    case .fail(let waiters, let error): "fail \(waiters.count) \(words(error))"
    }
  }

  func words(_ error: any Error) -> String {
    (error as? StreamError)?.code ?? "\(type(of: error))"
  }
}
