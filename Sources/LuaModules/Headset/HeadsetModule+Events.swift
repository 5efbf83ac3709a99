internal import EventLoop
internal import HeadsetKit
internal import HeadsetLink
internal import Home
internal import LuaRuntime

/// The events of headsets for scripts: one payload for each event, the same for all listeners.
extension HeadsetModule {
  private static let names = [
    "connected", "disconnected", "noise_cancelling", "ambient", "equalizer", "bootloader", "progress",
    "update_completed", "battery", "error",
  ]

  /// A headset's own events. They end when the headset is disconnected for good.
  func headsetEvents() -> EventSource<Headset> {
    EventSource(names: Self.names, cause: listenerCause()) { [unowned self] headset, name, deliver, closed in
      let loop = script.loop
      var isWanted = true
      let close = { loop.next { if isWanted { closed() } } }
      guard headset.isInUse else {
        close()
        return { isWanted = false }
      }
      let end = headset.listen { [unowned self] event in
        let (known, payload) = content(of: event, headset)
        if known == name { deliver(payload) }
        if !headset.isInUse { close() }
      }
      return {
        isWanted = false
        end()
      }
    }
  }

  /// `headset.on`, `headset.once`, `headset.wait`: the events of all headsets.
  func events(_ events: ScriptEvents) -> [LuaFunction] {
    let source = EventSource<HeadsetService>(names: Self.names, cause: listenerCause()) {
      [unowned self] service, name, deliver, _ in
      service.headsets.listen { [unowned self] headset, event in
        let (known, payload) = content(of: event, headset)
        if known == name { deliver(payload) }
      }
    }
    let service = service
    return [
      LuaFunction("on", arity: 2) { call in try events.on(service, call, 1, source, once: false) },
      LuaFunction("once", arity: 2) { call in try events.on(service, call, 1, source, once: true) },
      LuaFunction("wait", arity: 2) { call in try events.wait(service, call, 1, source) },
    ]
  }

  /// Returns the cause of a listener's actions: the event of a headset, caused by a command or by the wearer.
  private func listenerCause<Object>() -> (Object, String, LuaSite?, WallTime) -> Cause {
    { [service] _, event, place, now in
      Cause(
        .event, event, detail: service.reporting?.name ?? "headset", script: place?.file,
        line: place?.line ?? 0, at: now, parent: service.journal?.delivered)
    }
  }

  private func content(of event: HeadsetEvent, _ headset: Headset) -> (name: String, payload: LuaValue) {
    let (name, fields) = Self.fields(event, of: headset)
    return (name, .record([("headset", value(headset))] + fields))
  }

  private static func fields(
    _ event: HeadsetEvent, of headset: Headset
  ) -> (String, [(name: String, value: LuaValue)]) {
    switch event {
    case .connected: ("connected", [("name", .optional(headset.name))])
    case .disconnected(let reason): ("disconnected", [("reason", .string(reason))])
    // Scripts can't listen to this event: it ends the waiting for others, which can't come any more.
    case .released: ("released", [])
    case .noiseCancelling(let isOn): ("noise_cancelling", [("enabled", .bool(isOn))])
    case .ambient(let left, let right): ("ambient", [("left", .int(left)), ("right", .int(right))])
    case .equalizer(let preset, let values):
      (
        "equalizer",
        [
          ("preset", .int(preset)), ("preset_name", .optional(Headset.presetName(preset))),
          ("values", .list(values.map { .int($0) })),
        ]
      )
    case .bootloader: ("bootloader", [])
    case .progress(let fraction): ("progress", [("fraction", .number(fraction))])
    case .updateCompleted(let version): ("update_completed", [("version", .string(version))])
    case .battery(let battery):
      ("battery", [("percent", .int(battery.percent)), ("charging", .bool(battery.isCharging))])
    case .error(let error):
      (
        "error",
        [
          ("code", .string(error.code)), ("message", .string(error.message)),
          ("error", .error(LuaError(error))),
        ]
      )
    }
  }
}
