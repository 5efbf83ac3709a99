internal import EventLoop
internal import HeadsetKit
internal import HeadsetLink
internal import LuaModules

/// Events of headsets, as lines of the time line.
extension Timeline {
  func follow(_ headsets: Headsets) {
    // Kept as long as the headsets, which the engine has.
    _ = headsets.listen { [weak self] headset, event in
      guard let self, let text = Self.text(event, of: headset) else { return }
      add(text, room: "Headset")
    }
  }

  /// Returns nil for what would be a line every moment.
  private static func text(_ event: HeadsetEvent, of headset: Headset) -> String? {
    switch event {
    case .connected: "connected" + (headset.name.map { ": \($0)" } ?? "")
    case .disconnected(let reason): reason == "disconnected" ? reason : "disconnected: \(reason)"
    case .noiseCancelling(let isOn): "noise cancelling \(isOn ? "on" : "off")"
    case .ambient(let left, let right): "ambient \(left) left, \(right) right"
    case .equalizer(let preset, let values):
      "equalizer \(Headset.presetName(preset) ?? "\(preset)"): "
        + values.map { $0 > 0 ? "+\($0)" : "\($0)" }.joined(separator: " ")
    case .bootloader: "goes over to its bootloader"
    case .progress, .released: nil
    case .updateCompleted(let version): "firmware \(version) runs"
    case .battery(let battery): "battery \(battery.percent) %" + (battery.isCharging ? ", charging" : "")
    case .error(let error): "! \(error.message) (\(error.code))"
    }
  }
}
