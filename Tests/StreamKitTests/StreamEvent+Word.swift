import EventLoop
import Playback

extension StreamEvent {
  /// The event in words, without its details.
  var word: String {
    switch self {
    case .connecting: "connecting"
    case .buffering: "buffering"
    case .started: "started"
    case .paused: "paused"
    case .stopped: "stopped"
    case .metadata: "metadata"
    case .failed(let error): "failed \(error.code)"
    case .queueExhausted: "queue exhausted"
    case .fileComplete: "file complete"
    case .reconnected: "reconnected"
    }
  }
}
