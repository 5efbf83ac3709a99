internal import EventLoop
internal import HeadsetLink

// The transfer of the image, from its beginning to its end.

extension UpdatePlan {
  mutating func began(_ plan: TransferPlan, _ now: Instant) -> Action {
    (transfer, hasBegun) = (plan, true)
    return plan.resumeOffset > 0 ? .status : write(from: 0)
  }

  /// Compares the board's part with the beginning of this image, and resumes or restarts the transfer.
  mutating func compare(_ status: TransferStatus, _ now: Instant) -> Action {
    if isCommitSent, status.state == .committed { return committed(now) }
    guard let transfer, !isCommitSent else {
      // The link was lost with the answer to COMMIT. A board that was started since knows by the manifest alone.
      isCommitSent = false
      return begin(after: .zero, now)
    }
    let count = Int(status.nextOffset)
    guard count <= image.count, CRC32.of(image[..<count]) == status.prefixChecksum else {
      return renew(
        .begin, "the headset keeps another image than the one in the file", .abort(transfer.transfer))
    }
    acknowledged(count, at: now)
    return status.state == .committed ? committed(now) : write(from: count)
  }

  /// Restarts the transfer at the first byte.
  private mutating func renew(_ step: UpdateStep, _ reason: String, _ action: Action) -> Action {
    renewals += 1
    (most, headwayBytes) = (0, 0)
    return renewals < Self.mostTries ? action : fail(step, reason)
  }

  private mutating func write(from offset: Int) -> Action {
    step = .write
    guard let transfer else { return fail(.write, "there is no transfer") }
    if most - offset > Self.mostLost {
      renewals += 1
      headwayBytes = offset
      if renewals >= Self.mostTries { return fail(.write, "the headset loses what was written to it") }
    }
    most = offset
    return .write(transfer, from: offset)
  }

  private mutating func committed(_ now: Instant) -> Action {
    (isCommitSent, isCommitted) = (true, true)
    gotFurther(now)
    if let fraction = progress.verified() { unreported = fraction }
    return reboot(now)
  }

  /// The next action after one that was done.
  mutating func done(_ now: Instant) -> Action {
    switch action {
    case .write(let plan, _):
      step = .verify
      return .verify(plan.transfer)
    case .verify(let transfer):
      gotFurther(now)
      if let fraction = progress.verified() { unreported = fraction }
      (step, isCommitSent) = (.commit, true)
      return .commit(transfer)
    case .commit: return committed(now)
    case .reboot: return .connect(after: Self.pause)
    case .confirm:
      let version = manifest.version.description
      return .succeed(hasBegun ? .updated(version: version) : .alreadyThere(version: version))
    default: return .begin(after: .zero)  // after `abort`
    }
  }

  // MARK: When the board says no

  mutating func refused(_ refusal: LinkRefusal, _ now: Instant) -> Action {
    let reason = "the board \(refusal.status?.meaning ?? "says \(refusal.code), which is not known here")"
    trouble = (reason, nil)
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
      return .connect(after: retry.next())
    case .wrongOffset:
      guard case .verify = action, let offset = refusal.nextOffset, Int(offset) < image.count else {
        return beginAgain(reason, now)
      }
      return write(from: Int(offset))
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
    trouble = (reason, nil)
    (transfer, isCommitSent) = (nil, false)
    return begin(after: retry.next(), now)
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
    if !hasBegun, refusal.status == .unsupported {
      return .succeed(.alreadyThere(version: manifest.version.description))
    }
    return fail(.confirm, reason)
  }
}

extension UpdatePlan {
  /// The most bytes of a write, by the board's terms and its longest payload.
  func chunk(of transfer: TransferPlan) -> Int {
    let room = Int(board?.longestPayload ?? 0) - (LinkFrame.longestPayload - WriteTransfer.longestData)
    return max(1, min(Int(transfer.chunk), room, WriteTransfer.longestData))
  }
  /// Writes under way at once: those that the board grants, fewer after the link was lost among them.
  func width(of transfer: TransferPlan) -> Int { min(Int(transfer.window), narrowed ?? .max) }
}
