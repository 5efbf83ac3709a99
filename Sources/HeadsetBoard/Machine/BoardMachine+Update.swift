internal import EventLoop
internal import HeadsetLink

extension BoardMachine {
  /// The least charge in percent to begin an update, unless the battery is being charged.
  static let leastBattery: UInt8 = 30
  /// The number of writes that may be under way at once.
  static let window: UInt8 = 4

  /// Answers requests about firmware; returns nil for all others.
  mutating func performUpdate(_ request: LinkFrame, at now: Instant) -> [UInt8]? {
    let payload = request.payload
    switch request.operation {
    case .enterBootloader:
      return answer(payload) { (_: EnterBootloader, board) throws(LinkRefusal) in
        try board.enter(at: now)
      }
    case .beginTransfer:
      return answer(payload) { (request: BeginTransfer, board) throws(LinkRefusal) in
        try board.begin(request, at: now)
      }
    case .writeTransfer:
      return answer(payload) { (request: WriteTransfer, board) throws(LinkRefusal) in
        try board.write(request)
      }
    case .transferStatus:
      return answer(payload) { (_: GetTransferStatus, board) throws(LinkRefusal) in
        try board.can(.firmwareUpdate)
        return board.transfer?.status ?? TransferStatus(state: .none, nextOffset: 0, prefixChecksum: 0)
      }
    case .verifyTransfer:
      return answer(payload) { (request: VerifyTransfer, board) throws(LinkRefusal) in
        try board.verify(request.value)
      }
    case .commitTransfer:
      return answer(payload) { (request: CommitTransfer, board) throws(LinkRefusal) in
        try board.commit(request.value)
      }
    case .abortTransfer:
      return answer(payload) { (request: AbortTransfer, board) throws(LinkRefusal) in
        try board.abort(request.value)
      }
    case .confirmImage:
      return answer(payload) { (_: ConfirmImage, board) throws(LinkRefusal) in try board.confirm() }
    default: return nil
    }
  }

  // MARK: Into the bootloader

  private mutating func enter(at now: Instant) throws(LinkRefusal) -> Delay {
    try can(.firmwareUpdate)
    if let readyAt { return Delay(milliseconds: Self.milliseconds(max(.zero, now.duration(to: readyAt)))) }
    if stays > 0 {
      stays -= 1
    } else {
      promisedAt = now.advanced(by: options.readyAfter)
      events.append(JumpingToBootloader())
      next = .restart(.bootloader)
    }
    return Delay(milliseconds: Self.milliseconds(options.readyAfter))
  }

  /// Returns a time in milliseconds, rounded up so that a host that waits that long is not too early.
  private static func milliseconds(_ time: Duration) -> UInt32 {
    UInt32(clamping: (time.nanoseconds + 999_999) / 1_000_000)
  }

  // MARK: The transfer

  private mutating func begin(_ request: BeginTransfer, at now: Instant) throws(LinkRefusal) -> TransferPlan {
    try inBootloader()
    guard let readyAt, now >= readyAt else { throw LinkRefusal(.busy) }
    let manifest = try check(request.manifest)
    guard
      settings.battery.percent >= Self.leastBattery || settings.battery.isCharging
        || !profile.capabilities.contains(.battery)
    else { throw LinkRefusal(.batteryLow) }
    let image = BoardImage(boot.confirmed.slot.other, manifest)
    if transfer?.image != image { transfer = try resumed(image) }
    if transfer == nil { transfer = try begun(image) }
    guard let transfer else { throw LinkRefusal(.noTransfer) }
    notes.append("update to \(manifest.version), from byte \(transfer.next) of \(transfer.size)")
    return TransferPlan(
      transfer: transfer.id, resumeOffset: UInt32(transfer.next), chunk: UInt16(WriteTransfer.longestData),
      eraseUnit: UInt32(SteppedStore.eraseUnit), window: Self.window)
  }

  /// Refuses firmware that is not for this board, before anything is erased.
  private func check(_ bytes: [UInt8]) throws(LinkRefusal) -> FirmwareManifest {
    guard let manifest = try? FirmwareManifest(parsing: bytes) else { throw LinkRefusal(.badRequest) }
    guard manifest.isSigned(by: options.trusted) else { throw LinkRefusal(.badSignature) }
    do throws(FirmwareFault) { try manifest.check(for: info) } catch {
      switch error {
      case .model: throw LinkRefusal(.wrongModel)
      default: throw LinkRefusal(.downgrade)
      }
    }
    return manifest
  }

  /// Returns the transfer in the journal, if it has this image and the flash holds the journal's bytes.
  private mutating func resumed(_ image: BoardImage) throws(LinkRefusal) -> BoardTransfer? {
    let (store, isCommitted) = (store, boot.trial == image)
    return try storing { () throws(BoardStoreError) in
      guard let journal = try? TransferJournal.read(store), journal.image == image,
        journal.offset <= image.manifest.imageSize
      else { return nil }
      let next = Int(journal.offset)
      let checksum = try BoardFlash(store, image.slot).checksum(of: next)
      guard checksum.value == journal.checksum else { return nil }
      return BoardTransfer(
        id: Self.transferID(image), image: image, next: next, checksum: checksum,
        state: isCommitted ? .committed : .writing)
    }
  }

  /// Begins a new transfer. An earlier image in the slot is not tried any more.
  private mutating func begun(_ image: BoardImage) throws(LinkRefusal) -> BoardTransfer {
    let store = store
    if boot.trial != nil {
      var boot = boot
      boot.giveUpTrial()
      try storing { () throws(BoardStoreError) in try boot.save(store) }
      self.boot = boot
    }
    let transfer = BoardTransfer(
      id: Self.transferID(image), image: image, next: 0, checksum: CRC32(), state: .writing)
    try storing { () throws(BoardStoreError) in try transfer.journal.save(store) }
    return transfer
  }

  /// Returns the number of the transfer of an image, never 0: equal for equal images, so that it is known
  /// after a loss of power.
  private static func transferID(_ image: BoardImage) -> UInt32 {
    image.manifest.digest.prefix(4).reduce(0) { $0 << 8 | UInt32($1) } | 1
  }

  private mutating func write(_ request: WriteTransfer) throws(LinkRefusal) -> NextOffset {
    var transfer = try current(request.transfer)
    let (start, count) = (Int(request.offset), request.data.count)
    guard count > 0 else { throw LinkRefusal(.badRequest) }
    guard start <= transfer.next else { throw LinkRefusal(resumeAt: UInt32(transfer.next)) }
    guard start + count <= transfer.size else { throw LinkRefusal(.outOfRange) }
    let flash = BoardFlash(store, transfer.image.slot)
    // Bytes that were written before must be the same.
    let known = min(transfer.next - start, count)
    let there = try storing { () throws(BoardStoreError) in try flash.read(start..<(start + known)) }
    guard there.elementsEqual(request.data.prefix(known)) else {
      throw LinkRefusal(resumeAt: UInt32(transfer.next))
    }
    var rest = request.data.dropFirst(known)
    while !rest.isEmpty {
      let unit = SteppedStore.eraseUnit
      let piece = rest.prefix(unit - transfer.next % unit)
      let offset = transfer.next
      try writing { () throws(BoardStoreError) in try flash.write(piece, at: offset) }
      transfer.checksum.add(piece)
      transfer.next += piece.count
      self.transfer = transfer
      rest = rest.dropFirst(piece.count)
      if transfer.next % unit == 0 || transfer.next == transfer.size { try keep(transfer, flash) }
    }
    return NextOffset(offset: UInt32(transfer.next))
  }

  /// Flushes a full unit, and then enters it into the journal.
  private mutating func keep(_ transfer: BoardTransfer, _ flash: BoardFlash) throws(LinkRefusal) {
    let store = store
    try writing { () throws(BoardStoreError) in
      try flash.flush()
      try transfer.journal.save(store)
    }
    events.append(TransferChanged(transfer.status))
  }

  /// Writes to the flash. After a failure the flash beyond the journal's offset is uncertain: the transfer
  /// resumes at that offset, and erases again.
  private mutating func writing(_ work: () throws(BoardStoreError) -> Void) throws(LinkRefusal) {
    do throws(LinkRefusal) { try storing(work) } catch {
      transfer = nil
      throw error
    }
  }

  private mutating func verify(_ id: UInt32) throws(LinkRefusal) -> Done {
    var transfer = try current(id)
    guard transfer.next == transfer.size else { throw LinkRefusal(resumeAt: UInt32(transfer.next)) }
    let flash = BoardFlash(store, transfer.image.slot)
    let hash = try storing { () throws(BoardStoreError) in try flash.hash(of: transfer.size) }
    let manifest = transfer.image.manifest
    let isIntact = hash == manifest.imageHash
    guard isIntact, manifest.isSigned(by: options.trusted) else {
      transfer.state = .failed
      events.append(TransferChanged(transfer.status))
      try forget()
      notes.append("update: the image is not the one that was announced")
      throw LinkRefusal(isIntact ? .badSignature : .wrongHash)
    }
    if transfer.state == .writing {
      transfer.state = .verified
      self.transfer = transfer
      events.append(TransferChanged(transfer.status))
    }
    return Done()
  }

  private mutating func commit(_ id: UInt32) throws(LinkRefusal) -> Done {
    var transfer = try current(id)
    // An image that was tried but not confirmed gets all its trials again.
    if transfer.state == .committed, boot.trials == 0 { return Done() }
    guard transfer.state == .verified || transfer.state == .committed else { throw LinkRefusal(.wrongMode) }
    let store = store
    var boot = boot
    (boot.trial, boot.trials) = (transfer.image, 0)
    try storing { () throws(BoardStoreError) in try boot.save(store) }
    self.boot = boot
    transfer.state = .committed
    self.transfer = transfer
    notes.append("update: \(transfer.image.manifest.version) is tried at the next start")
    events.append(TransferChanged(transfer.status))
    return Done()
  }

  private mutating func abort(_ id: UInt32) throws(LinkRefusal) -> Done {
    var status = try current(id).status
    if boot.trial != nil {
      let store = store
      var boot = boot
      boot.giveUpTrial()
      try storing { () throws(BoardStoreError) in try boot.save(store) }
      self.boot = boot
    }
    try forget()
    notes.append("update: given up by the host")
    status.state = .none
    events.append(TransferChanged(status))
    return Done()
  }

  /// Drops the transfer: the next one begins at the first byte of its image.
  private mutating func forget() throws(LinkRefusal) {
    transfer = nil
    let store = store
    try storing { () throws(BoardStoreError) in try TransferJournal().save(store) }
  }

  private mutating func confirm() throws(LinkRefusal) -> Done {
    try can(.firmwareUpdate)
    guard mode == .application else { throw LinkRefusal(.wrongMode) }
    guard let trial = boot.trial else { return Done() }
    let store = store
    var boot = boot
    boot.confirmed = trial
    boot.giveUpTrial()
    try storing { () throws(BoardStoreError) in try boot.save(store) }
    (self.boot, trialEndsAt) = (boot, nil)
    notes.append("update: \(trial.manifest.version) is confirmed")
    return Done()
  }

  // MARK: Conditions

  private func inBootloader() throws(LinkRefusal) {
    try can(.firmwareUpdate)
    guard mode == .bootloader else { throw LinkRefusal(.wrongMode) }
  }

  private func current(_ id: UInt32) throws(LinkRefusal) -> BoardTransfer {
    try inBootloader()
    guard let transfer, transfer.id == id else { throw LinkRefusal(.noTransfer) }
    return transfer
  }
}
