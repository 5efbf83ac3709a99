internal import AudioCore
internal import EventLoop
internal import LuaRuntime
internal import SpeakerKit

/// The embedded house's own controls, for tests and demonstrations.
extension SpeakerModule {
  /// `house()`
  func houseControls() -> LuaFunction {
    withHouse("house", arity: 0) { [unowned self] house, call in
      if let known = knownControls, known.0 === house { return call.return(controls(known.1)) }
      let made = try house.controls()
      knownControls = (house, made)
      return call.return(controls(made))
    }
  }

  func defineControls() {
    controls.method("unplug", arity: 1) { [unowned self] controls, call in
      try controls.unplug(try call.object(2, devices))
      return .none
    }
    controls.method("plug", arity: 1) { [unowned self] controls, call in
      try controls.plug(try call.object(2, devices))
      return .none
    }
    controls.method("set_wifi", arity: 2) { [unowned self] controls, call in
      try controls.setWifi(try call.object(2, devices), dBm: try call.int(3, in: -100...0))
      return .none
    }
    controls.method("add", arity: 1) { [unowned self] controls, call in
      let options = try call.options(2, ["name", "group", "role", "volume", "balance"])
      guard let name = try options.string("name", .name) else {
        throw options.problem("name", "a name is missing")
      }
      let given = try options.string("role", .name) ?? ChannelRole.stereo.rawValue
      guard let role = ChannelRole(rawValue: given) else {
        throw options.problem("role", unknown("role", given, among: ChannelRole.allCases.map(\.rawValue)))
      }
      let spec = SpeakerSpec(
        name: name, group: try options.string("group", .name), role: role,
        volume: try options.int("volume", in: House.volumeRange) ?? 25,
        balance: try options.int("balance", in: -6...6) ?? 0)
      return call.return(devices(try controls.add(spec)))
    }
    controls.method("remove", arity: 1) { [unowned self] controls, call in
      try controls.remove(try call.object(2, devices))
      return .none
    }
  }
}
