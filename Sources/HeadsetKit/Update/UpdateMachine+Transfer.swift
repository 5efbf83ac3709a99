internal import EventLoop
internal import HeadsetLink

// The transfer of the image, from its beginning to its end.

extension UpdateMachine {
  mutating func began(_ plan: TransferPlan, _ now: Instant) -> Action {
    transfer = .running(plan)
    return plan.resumeOffset > 0 ? .status : write(plan, from: 0)
  }

  /// Compares the board's part with the beginning of this image, and resumes or restarts the transfer.
  mutating func compare(_ status: TransferStatus, _ now: Instant) -> Action {
    guard case .running(let plan) = transfer else {
      // The answer to COMMIT was lost with the link. A restarted board knows only the manifest.
      if status.state == .committed { return committed(now) }
      transfer = .interrupted
      return begin(after: .zero, now)
    }
    let count = Int(status.nextOffset)
    guard count <= image.count, CRC32.of(image[..<count]) == status.prefixChecksum else {
      return renew(
        .begin, "the headset keeps another image than the one in the file", .abort(plan.transfer))
    }
    acknowledged(count, at: now)
    return status.state == .committed ? committed(now) : write(plan, from: count)
  }

  /// Restarts the transfer at the first byte.
  private mutating func renew(_ step: UpdateStep, _ reason: String, _ action: Action) -> Action {
    renewals += 1
    most = 0
    headway.fellBack(to: 0)
    return renewals < Self.mostTries ? action : fail(step, reason)
  }

  private mutating func write(_ plan: TransferPlan, from offset: Int) -> Action {
    if most - offset > Self.mostLost {
      renewals += 1
      headway.fellBack(to: offset)
      if renewals >= Self.mostTries { return fail(.write, "the headset loses the bytes written to it") }
    }
    most = offset
    return .write(plan, from: offset)
  }

  private mutating func committed(_ now: Instant) -> Action {
    transfer = .committed
    headway.made(at: now)
    progress.verified()
    return reboot(now)
  }

  /// Returns the next action after one that succeeded.
  mutating func done(_ now: Instant) -> Action {
    switch action {
    case .write(let plan, _): return .verify(plan.transfer)
    case .verify(let number):
      headway.made(at: now)
      progress.verified()
      transfer = .commitSent
      return .commit(number)
    case .commit: return committed(now)
    case .reboot: return .connect(after: Self.pause)
    case .confirm:
      let version = manifest.version.description
      return .succeed(transfer.hasBegun ? .updated(version: version) : .alreadyThere(version: version))
    default: return .begin(after: .zero)  // after `abort`
    }
  }

  // MARK: Refusals

  mutating func refused(_ refusal: LinkRefusal, _ now: Instant) -> Action {
    let reason = "the board \(refusal.status?.meaning ?? "says \(refusal.code), which is not known here")"
    headway.failed(reason)
    switch action {
    case .battery: return known(nil, now)
    case .enter: return notEntering(refusal, reason, now)
    case .confirm: return notConfirmed(refusal, reason, now)
    case .abort: return beginAgain(reason, now)
    case .ask, .reboot: return .connect(after: Self.pause)
    default: break
    }
    switch refusal.status {
    case .busy, .noTransfer: return beginAgain(reason, now)
    case .wrongMode:
      // The board has changed its mode meanwhile.
      return .connect(after: headway.retry.next())
    case .wrongOffset:
      guard case .verify = action, case .running(let plan) = transfer, let offset = refusal.nextOffset,
        Int(offset) < image.count
      else { return beginAgain(reason, now) }
      return write(plan, from: Int(offset))
    case .flash:
      flashFailures += 1
      return flashFailures < Self.mostTries ? beginAgain(reason, now) : fail(step, reason)
    case .wrongHash: return renew(step, reason, beginAgain(reason, now))
    case .batteryLow: return fail(.battery, reason, hint: "charge the headset")
    default: return fail(step, reason)
    }
  }

  /// Begins the transfer again, after the retry delay.
  mutating func beginAgain(_ reason: String, _ now: Instant) -> Action {
    headway.failed(reason)
    if transfer.hasBegun { transfer = .interrupted }
    return begin(after: headway.retry.next(), now)
  }

  private mutating func notEntering(_ refusal: LinkRefusal, _ reason: String, _ now: Instant) -> Action {
    if board?.image == .bootloader {
      // The bootloader does not report when it is ready, so the usual delay is assumed.
      readyAt = now.advanced(by: Self.usualDelay)
      return begin(after: .zero, now)
    }
    return refusal.status == .unsupported ? fail(.enter, reason) : .connect(after: Self.pause)
  }

  private mutating func notConfirmed(
    _ refusal: LinkRefusal, _ reason: String, _ now: Instant
  ) -> Action {
    if refusal.status == .busy { return .confirm(after: Self.pause) }
    // An image that was not written by this update needs no confirmation from a board without trials.
    if !transfer.hasBegun, refusal.status == .unsupported {
      return .succeed(.alreadyThere(version: manifest.version.description))
    }
    return fail(.confirm, reason)
  }
}

extension UpdateMachine {
  /// The most bytes of a write, by the board's terms and its longest payload.
  func chunk(of transfer: TransferPlan) -> Int {
    let room = Int(board?.longestPayload ?? 0) - (LinkFrame.longestPayload - WriteTransfer.longestData)
    return max(1, min(Int(transfer.chunk), room, WriteTransfer.longestData))
  }
  /// The number of writes under way at once: as granted by the board, or fewer after losses during writes.
  func width(of transfer: TransferPlan) -> Int { min(Int(transfer.window), narrowed ?? .max) }
}
