public import EventLoop
public import HeadsetLink

extension Headset {
  // MARK: Noise cancelling

  /// Returns `true` if noise is cancelled.
  public func noiseCancelling() async throws(HeadsetError) -> Bool {
    try await ask(GetNoiseCancelling(), .noiseCancelling)
  }

  /// Turns noise cancelling on or off.
  public func setNoiseCancelling(_ isOn: Bool) async throws(HeadsetError) {
    _ = try await ask(SetNoiseCancelling(isOn), .noiseCancelling)
  }

  // MARK: Ambient sound

  /// Returns the ambient level of each side: how much of the surroundings it lets in.
  public func ambient() async throws(HeadsetError) -> HeadsetAmbient {
    let left = try await ask(GetAmbient(.left), .ambient)
    let right = try await ask(GetAmbient(.right), .ambient)
    let levels = HeadsetAmbient(left: Int(left.level), right: Int(right.level))
    board?.ambientLevels = [.left: levels.left, .right: levels.right]
    return levels
  }

  /// Returns the maximum of the ambient level of each side.
  public func ambientMost() async throws(HeadsetError) -> HeadsetAmbient {
    let limits = try await ask(GetAmbientLimits(), .ambient)
    return HeadsetAmbient(left: Int(limits.left), right: Int(limits.right))
  }

  /// Sets how much of the surroundings one side or both let in.
  /// - Throws: `range` before anything is set.
  public func setAmbient(left: Int?, right: Int?) async throws(HeadsetError) {
    let most = try await ambientMost()
    for (side, level, limit) in [(Side.left, left, most.left), (.right, right, most.right)] {
      guard let level, !(0...limit).contains(level) else { continue }
      throw HeadsetError(
        .range, "set ambient: the \(side == .left ? "left" : "right") side takes 0 to \(limit), not \(level)")
    }
    for (side, level) in [(Side.left, left), (.right, right)] {
      guard let level else { continue }
      _ = try await ask(SetAmbient(AmbientLevel(side: side, level: UInt8(level))), .ambient)
      board?.ambientLevels[side] = level
    }
  }

  // MARK: Battery

  /// Returns the state of the battery.
  public func battery() async throws(HeadsetError) -> HeadsetBattery {
    let battery = try await ask(GetBattery(), .battery)
    return HeadsetBattery(percent: Int(battery.percent), isCharging: battery.isCharging)
  }

  // MARK: All requests

  /// Makes a request that needs a capability of the headset; fails while the headset is reserved.
  func ask<Request: LinkRequest>(
    _ request: Request, _ capability: Capabilities?
  ) async throws(HeadsetError) -> Request.Answer {
    let words = Request.operation.name
    guard !isBusy else {
      throw HeadsetError(.busy, "\(words): the headset at \(address) is being updated or restarted")
    }
    guard driver.isConnected, let board = board?.info else {
      throw HeadsetError(
        .notConnected, "\(words): the headset at \(address) is not connected",
        hint: isKept ? "it is connected again as soon as it is there" : "headset.connect connects it")
    }
    if let capability, !board.capabilities.contains(capability) {
      if board.image == .bootloader {
        throw HeadsetError(
          .wrongMode, "\(words): the headset at \(address) is in its bootloader",
          hint: "h:reboot() starts its firmware")
      }
      throw HeadsetError(.unsupported, "\(words): \(board.model) can't do that")
    }
    return try await driver.request(request)
  }
}

extension Capabilities {
  /// The names of the capabilities that are known here, sorted.
  var names: [String] {
    [
      (Capabilities.ambient, "ambient"), (.battery, "battery"), (.equalizer, "equalizer"),
      (.firmwareUpdate, "firmware_update"), (.noiseCancelling, "noise_cancelling"),
    ]
    .filter { contains($0.0) }.map(\.1)
  }
}
