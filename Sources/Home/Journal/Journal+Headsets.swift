internal import EventLoop
public import HeadsetKit
internal import HeadsetLink
internal import JSONText

/// The events of headsets, with the causes of the commands for them.
extension Journal {
  /// Keeps the cause of a command to a headset, whose event comes later.
  public func commands(_ headset: Headset) { origins.keep(headset: headset, by: current, at: loop.now) }

  /// Keeps the cause of an event of a headset for its listeners, and records one that changes something. To be called
  /// before any other listener.
  func receive(_ event: HeadsetEvent, of headset: Headset) {
    let cause = origins.headset(headset, at: loop.now) ?? Cause(.driver, "headset", at: loop.wallNow)
    delivered = cause
    // The other listeners receive it in this turn.
    loop.next { [weak self] in self?.delivered = nil }
    let name = headset.name ?? "headset"
    func facts() -> [JournalEntry.Fact] {
      [.init("name", .optional(headset.name))] + event.facts.map { .init($0.name, $0.value) }
    }
    switch event {
    // Progress is reported all the time, and a release follows an end that was recorded.
    case .progress, .released: break
    case .bootloader, .battery: report(.headset, of: .headset, name, detail: event.text, facts: facts())
    default: record(.headset, of: .headset, name, detail: event.text, facts: facts(), cause: cause)
    }
  }
}

extension HeadsetEvent {
  /// The event in words; nil for an event that is not reported.
  fileprivate var text: String? {
    switch self {
    case .connected: "connected"
    case .disconnected(let reason): reason == "disconnected" ? reason : "disconnected: \(reason)"
    case .noiseCancelling(let isOn): "noise cancelling \(isOn ? "on" : "off")"
    case .ambient(let left, let right): "ambient \(left) left, \(right) right"
    case .equalizer(let preset, let values):
      "equalizer \(Headset.presetName(preset) ?? "\(preset)"): "
        + values.map { $0 > 0 ? "+\($0)" : "\($0)" }.joined(separator: " ")
    case .bootloader: "goes over to its bootloader"
    case .updateCompleted(let version): "firmware \(version) runs"
    case .battery(let battery): "battery \(battery.percent) %" + (battery.isCharging ? ", charging" : "")
    case .error(let error): "\(error.message) (\(error.code))"
    case .progress, .released: nil
    }
  }

  /// The event as members of an object: `change` with its name, and its values.
  fileprivate var facts: [(name: String, value: JSON)] {
    switch self {
    case .connected: [("change", "connected")]
    case .disconnected(let reason): [("change", "disconnected"), ("reason", .string(reason))]
    case .noiseCancelling(let isOn): [("change", "noise_cancelling"), ("on", .bool(isOn))]
    case .ambient(let left, let right):
      [("change", "ambient"), ("left", .number(left)), ("right", .number(right))]
    case .equalizer(let preset, let values):
      [
        ("change", "equalizer"), ("preset", .string(Headset.presetName(preset) ?? "\(preset)")),
        ("values", .array(values.map { .number($0) })),
      ]
    case .bootloader: [("change", "bootloader")]
    case .updateCompleted(let version): [("change", "firmware"), ("version", .string(version))]
    case .battery(let battery):
      [("change", "battery"), ("percent", .number(battery.percent)), ("charging", .bool(battery.isCharging))]
    case .error(let error):
      [("change", "error"), ("message", .string(error.message)), ("code", .string(error.code))]
    case .progress, .released: []
    }
  }
}
