internal import AudioCore
internal import EventLoop
internal import LuaRuntime
internal import SpeakerKit

/// Functions that change the properties of a speaker, or read them again.
extension SpeakerModule {
  /// The methods that rename a speaker, change its group, its role and its balance.
  func defineDeviceEditing() {
    devices.field("wifi_strength", changedBy: "refresh_wifi") { device, call in
      call.return(device.wifiStrength.map { .string($0.rawValue) } ?? .nil)
    }
    devices.method("refresh_wifi", arity: 0) { device, call in
      try call.suspend {
        try await device.refreshWifi()
        return [device.wifiSignal.map { .int($0) } ?? .nil]
      }
    }
    devices.method("set_name", arity: 1) { device, call in
      let name = try call.string(2, .name)
      return try call.suspend {
        try await device.setName(name)
        return []
      }
    }
    devices.method("set_group", arity: 1) { device, call in
      let name = try call.string(2, .name)
      return try call.suspend {
        try await device.setGroup(name)
        return []
      }
    }
    devices.method("leave_group", arity: 0) { device, call in
      try call.suspend {
        try await device.leaveGroup()
        return []
      }
    }
    devices.method("set_role", arity: 1) { device, call in
      let name = try call.name(2, of: "role", ChannelRole.allCases.map(\.rawValue))
      guard let role = ChannelRole(rawValue: name) else { throw call.problem(2, "no role") }
      try device.setRole(role)
      return .none
    }
    devices.method("set_balance", arity: 1) { device, call in
      try device.setBalance(try call.int(2, in: -6...6))
      return .none
    }
  }

  /// `refresh` and `watch`.
  func refreshing() -> [LuaFunction] {
    [
      withHouse("refresh", arity: 0) { house, call in
        try call.suspend {
          try await house.refresh()
          return []
        }
      },
      withHouse("watch", arity: 1) { house, call in
        try house.watch(try call.bool(1))
        return .none
      },
    ]
  }

  /// The speakers of an option such as `devices`: a speaker, a group or the name of one, or a list of them.
  func targets(_ options: LuaOptions, _ name: String, _ house: House) throws -> [Device]? {
    guard let value = options[name] else { return nil }
    if let single = try target(value, house) { return single }
    guard let values = script.state.list(value, limit: 1000) else {
      throw options.wrong(name, "speaker, group, name or list of these")
    }
    return try values.enumerated().flatMap { index, value in
      guard let found = try target(value, house) else {
        throw options.problem(
          name,
          "element \(index + 1): speaker, group or name expected, got \(script.state.typeName(value))")
      }
      return found
    }
  }

  /// The speakers that a value stands for; nil for any other value.
  private func target(_ value: LuaValue, _ house: House) throws -> [Device]? {
    if let device = devices.object(of: value) { return [device] }
    if let group = groups.object(of: value) { return try group.present().devices }
    guard case .string(let name) = value else { return nil }
    return try house.speakers(in: name)
  }
}
