@testable import SpeakerKit

extension HouseEvent {
  /// Returns the event in a few words, `*` in front of what another controller has caused; nil for events that tests with
  /// servers do not compare: time, tracks, and that a speaker plays.
  func text(isByController: Bool) -> String? {
    let mark = isByController ? "*" : ""
    switch self {
    case .device(_, .playing), .time, .track, .suspension: return nil
    case .device(let device, let reason): return "\(mark)\(device.id) \(reason.rawValue)"
    case .volume(let device, let volume, let muted, _, _, _):
      return "\(mark)\(device.id) \(volume)\(muted ? " muted" : "")"
    case .state(let state, _, _): return state.rawValue
    case .ended(_, _, let reason): return "ended \(reason.rawValue)"
    case .error(let code, _, _, _): return "error \(code)"
    }
  }
}
