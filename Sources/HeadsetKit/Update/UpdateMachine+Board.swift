internal import EventLoop
internal import HeadsetLink

// The description of a board, and its way to its bootloader and back.

extension UpdateMachine {
  /// Returns the next action for a board that has just identified itself.
  mutating func connected(_ board: BoardInfo, _ now: Instant) -> Action {
    guard board.model == manifest.model else {
      return fail(.model(firmware: manifest.model, board: board.model))
    }
    let isFirst = self.board == nil
    self.board = board
    if isFirst {
      do throws(FirmwareFault) { try manifest.check(for: board) } catch { return fail(error) }
    }
    switch board.image {
    case .application: return inApplication(board, now)
    case .bootloader: return inBootloader(board, now)
    }
  }

  private mutating func inApplication(_ board: BoardInfo, _ now: Instant) -> Action {
    let isNew = FirmwareVersion(board.firmwareVersion) == manifest.version
    if isNew, transfer.mayBeCommitted || !isForced {
      // An image from an earlier, interrupted update may still be on trial.
      if transfer.hasBegun, step != .confirm { headway.made(at: now) }
      return .confirm(after: .zero)
    }
    if transfer.isCommitted {
      return fail(
        step, "the headset has started \(board.firmwareVersion) in place of \(manifest.version)",
        hint: "run the update again")
    }
    if !isBatteryKnown, board.capabilities.contains(.battery) { return .battery }
    return enter(now)
  }

  private mutating func inBootloader(_ board: BoardInfo, _ now: Instant) -> Action {
    if let seen = bootloaderBoots, seen != board.boots { readyAt = nil }
    if bootloaderBoots == nil { headway.made(at: now) }
    (bootloaderBoots, enters) = (board.boots, 0)
    if transfer.isCommitted { return reboot(now) }
    if !isBatteryKnown, board.capabilities.contains(.battery) { return .battery }
    return transfer.mayBeCommitted ? .status : begin(after: .zero, now)
  }

  /// Begins the transfer as soon as the bootloader is ready; asks the board for that moment if it is unknown.
  mutating func begin(after delay: Duration, _ now: Instant) -> Action {
    guard let readyAt else { return .enter }
    return .begin(after: max(delay, now.duration(to: readyAt)))
  }

  // MARK: Battery

  mutating func known(_ battery: Battery?, _ now: Instant) -> Action {
    isBatteryKnown = true
    if let battery, battery.percent < Self.leastBattery, !battery.isCharging {
      return fail(
        .battery, "the battery has \(battery.percent) % left, and an update needs \(Self.leastBattery) %",
        hint: "charge the headset")
    }
    guard let board else { return .connect(after: .zero) }
    return connected(board, now)
  }

  // MARK: To the bootloader

  private mutating func enter(_ now: Instant) -> Action {
    guard enters < Self.mostTries else {
      return fail(
        .enter, "the headset was asked \(Self.mostTries) times to enter its bootloader, and did not",
        hint: "switch it off and on, then run the update again")
    }
    enters += 1
    return .enter
  }

  mutating func entering(_ delay: Delay, _ now: Instant) -> Action {
    let time = Duration.milliseconds(Int64(delay.milliseconds))
    guard time <= Self.longestDelay else {
      return fail(
        .enter, "the headset wants \(delay.milliseconds) ms to be ready, and the most is \(Self.longestDelay)"
      )
    }
    readyAt = now.advanced(by: time)
    return board?.image == .bootloader ? begin(after: .zero, now) : .connect(after: time)
  }

  // MARK: Back to the application

  mutating func reboot(_ now: Instant) -> Action {
    guard reboots < Self.mostTries else {
      return fail(
        .reboot, "the headset was restarted \(Self.mostTries) times, and stays in its bootloader",
        hint: "switch it off and on, then run the update again")
    }
    reboots += 1
    return .reboot
  }
}
