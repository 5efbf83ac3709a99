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
      // The link was lost with the answer to COMMIT. A board that was started since knows by the manifest alone.
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
      if renewals >= Self.mostTries { return fail(.write, "the headset loses what was written to it") }
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

  /// The next action after one that was done.
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

  // MARK: When the board says no

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
      // It has gone over to something else meanwhile.
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

  /// Begins the transfer again, a little later.
  mutating func beginAgain(_ reason: String, _ now: Instant) -> Action {
    headway.failed(reason)
    if transfer.hasBegun { transfer = .interrupted }
    return begin(after: headway.retry.next(), now)
  }

  private mutating func notEntering(_ refusal: LinkRefusal, _ reason: String, _ now: Instant) -> Action {
    if board?.image == .bootloader {
      // It does not tell how long it takes, so it gets the usual time.
      readyAt = now.advanced(by: Self.usualDelay)
      return begin(after: .zero, now)
    }
    return refusal.status == .unsupported ? fail(.enter, reason) : .connect(after: Self.pause)
  }

  private mutating func notConfirmed(
    _ refusal: LinkRefusal, _ reason: String, _ now: Instant
  ) -> Action {
    if refusal.status == .busy { return .confirm(after: Self.pause) }
    // One that was not written now needs no word of a board that has no trials.
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
  /// Writes under way at once: those that the board grants, fewer after the link was lost among them.
  func width(of transfer: TransferPlan) -> Int { min(Int(transfer.window), narrowed ?? .max) }
}
