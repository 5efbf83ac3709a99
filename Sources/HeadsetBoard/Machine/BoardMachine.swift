internal import EventLoop
internal import HeadsetLink

/// The state of a board and its answers to a host's requests, on any link. Time is a parameter.
struct BoardMachine {
  /// The step that follows an answer.
  enum Next: Equatable {
    case stay
    /// Ends the link, and waits for another one.
    case endLink
    /// Restarts with this image.
    case restart(ImageType)
  }

  let profile: BoardProfile
  let options: BoardOptions
  let store: SteppedStore
  var settings: BoardSettings
  var boot: BootRecord
  /// The image that runs.
  var mode = ImageType.application
  /// The moment from which the bootloader accepts an image; nil in the application.
  var readyAt: Instant?
  /// The moment at which the bootloader that is about to start is ready, as reported to the host.
  var promisedAt: Instant?
  /// The deadline for the confirmation of the image on trial; nil without a trial.
  var trialEndsAt: Instant?
  var transfer: BoardTransfer?
  /// The number of requests to start the bootloader that are still ignored.
  var stays: Int
  /// The events that follow the answer.
  var events: [any LinkEvent] = []
  var next = Next.stay
  /// Notes on the firmware, for the log.
  var notes: [String] = []
  /// The last failure of the store.
  var storeFailure: BoardStoreError?

  /// The longest time that an image runs without confirmation.
  static let trialTime = Duration.seconds(60)

  /// Creates a board that has not started, with the state in its store, or the factory state if that is
  /// empty.
  /// - Throws: `state`.
  init(_ options: BoardOptions, store: any BoardStore) throws(BoardError) {
    (profile, self.options, stays) = (options.profile, options, options.faults.stays)
    do throws(BoardStoreError) {
      if try store.read(.boot) == nil { try Self.equip(SteppedStore(store), options) }
      let stepped = SteppedStore(store, dying: options.faults.death)
      guard let boot = try BootRecord.read(stepped), let settings = try BoardSettings.read(stepped) else {
        throw .failed("the board's state is not whole")
      }
      (self.store, self.boot, self.settings) = (stepped, boot, settings)
    } catch { throw BoardError(error) }
    guard settings.fit(profile), boot.confirmed.manifest.model == profile.model else {
      throw BoardError(
        .state, "the state is that of another kind of board than \(profile.name)",
        hint: "give it the profile that it was made with, or another folder")
    }
  }

  /// Writes the factory state; the boot record comes last, so that its presence proves the rest.
  private static func equip(_ store: SteppedStore, _ options: BoardOptions) throws(BoardStoreError) {
    let firmware = try factoryFirmware(options)
    try BoardFlash(store, .a).fill(firmware.image)
    try BoardSettings(options.profile).save(store)
    try TransferJournal().save(store)
    try BootRecord(confirmed: BoardImage(.a, firmware.manifest)).save(store)
  }

  /// The firmware of a new board: a little more than a unit of flash, the same for the same version.
  private static func factoryFirmware(_ options: BoardOptions) throws(BoardStoreError) -> FirmwareFile {
    let dice = FaultDice(BoardFaults())
    let name = Array("\(options.profile.model) \(options.version)\n".utf8)
    let image = name + (name.count..<5_000).map { _ in UInt8(truncatingIfNeeded: dice.next()) }
    do throws(FirmwareFault) {
      return try FirmwareFile(
        image: image, model: options.profile.model, version: options.version, key: .development)
    } catch { throw .failed("the board has no firmware: \(error.reason)") }
  }

  /// Starts the board.
  /// - Throws: the loss of power, or the failure of the store.
  mutating func start(_ target: ImageType, at now: Instant) throws(BoardStoreError) {
    (transfer, readyAt, trialEndsAt, events, next) = (nil, nil, nil, [], .stay)
    boot.boots &+= 1
    if target == .application { try chooseImage() }
    try boot.save(store)
    // A board without an intact image stays in its bootloader.
    mode = .bootloader
    if target == .application, try isWhole(boot.running) { mode = .application }
    if mode == .bootloader {
      readyAt = promisedAt ?? now.advanced(by: options.readyAfter)
      promisedAt = nil
    } else if boot.trial != nil {
      trialEndsAt = now.advanced(by: Self.trialTime)
    }
  }

  /// Tries the image on trial again, or ends its trial.
  private mutating func chooseImage() throws(BoardStoreError) {
    guard let trial = boot.trial else { return }
    let isWhole = try isWhole(trial)
    if isWhole, boot.trials < BootRecord.mostTrials {
      boot.trials += 1
    } else {
      boot.giveUpTrial()
    }
  }

  private func isWhole(_ image: BoardImage) throws(BoardStoreError) -> Bool {
    try BoardFlash(store, image.slot).hash(of: image.manifest.imageSize) == image.manifest.imageHash
  }

  /// Restores the confirmed image when the deadline of the one on trial has passed.
  /// - Returns: `true` if the board restarts.
  mutating func wake(at now: Instant) throws(BoardStoreError) -> Bool {
    guard let trialEndsAt, now >= trialEndsAt else { return false }
    self.trialEndsAt = nil
    boot.giveUpTrial()
    try boot.save(store)
    return true
  }

  /// Returns the notes since the last call, once.
  mutating func drainNotes() -> [String] {
    defer { notes = [] }
    return notes
  }

  /// The description of the board for the answer to HELLO.
  var info: BoardInfo {
    BoardInfo(
      image: mode, capabilities: profile.capabilities,
      longestPayload: UInt16(clamping: options.faults.longestPayload), model: profile.model,
      firmwareVersion: boot.running.manifest.version.description, boots: boot.boots,
      name: options.name ?? "Roomtone \(profile.model)")
  }

  // MARK: Requests

  /// Performs a request.
  /// - Returns: the answer's payload.
  mutating func perform(_ request: LinkFrame, at now: Instant) -> [UInt8] {
    let payload = request.payload
    guard payload.count <= options.faults.longestPayload else { return refusal(LinkRefusal(.badRequest)) }
    switch request.operation {
    case .ping: return answer(payload) { (_: Ping, _) in Done() }
    case .info: return answer(payload) { (_: GetInfo, board) in board.info }
    case .bye:
      return answer(payload) { (_: Bye, board) in
        board.next = .endLink
        return Done()
      }
    case .imageType: return answer(payload) { (_: GetImageType, board) in board.mode }
    case .battery:
      return answer(payload) { (_: GetBattery, board) throws(LinkRefusal) in
        try board.can(.battery)
        return board.settings.battery
      }
    case .reboot:
      return answer(payload) { (request: Reboot, board) in
        board.next = .restart(request.value)
        return Done()
      }
    default: break
    }
    if let answer = performSound(request) ?? performUpdate(request, at: now) { return answer }
    // HELLO and AUTH are not valid in a session, and all other operations are unknown.
    return refusal(LinkRefusal(request.operation == nil ? .unsupported : .badRequest))
  }

  /// Reads a request, performs it and writes the answer.
  mutating func answer<Request: LinkRequest>(
    _ payload: [UInt8], _ body: (Request, inout BoardMachine) throws(LinkRefusal) -> Request.Answer
  ) -> [UInt8] {
    guard let request = try? Request(payload: payload) else { return refusal(LinkRefusal(.badRequest)) }
    do throws(LinkRefusal) {
      let answer = try body(request, &self)
      return (try? LinkReply.done(answer).payload()) ?? refusal(LinkRefusal(.badRequest))
    } catch {
      return refusal(error)
    }
  }

  private func refusal(_ refusal: LinkRefusal) -> [UInt8] {
    // A status and an offset always fit.
    (try? LinkReply<Done>.refused(refusal).payload()) ?? []
  }

  /// Refuses a request for which the board lacks the capability.
  func can(_ capability: Capabilities) throws(LinkRefusal) {
    guard profile.capabilities.contains(capability) else { throw LinkRefusal(.unsupported) }
  }

  /// Drops the events that occurred without a host.
  mutating func dropEvents() { events = [] }

  /// Runs `body` on the store, and refuses the request if that fails.
  mutating func storing<Result>(_ body: () throws(BoardStoreError) -> Result) throws(LinkRefusal) -> Result {
    do throws(BoardStoreError) { return try body() } catch {
      storeFailure = error
      throw LinkRefusal(.flash)
    }
  }
}
