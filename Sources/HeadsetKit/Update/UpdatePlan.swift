internal import EventLoop

/// What an update does next, by what has happened so far: values alone, neither link nor clock.
///
/// A link that is lost is no end: it is made anew, and what the board says of itself then tells where to go on. The
/// update ends when it has got no further for as long as `patience`.
struct UpdatePlan {
  /// What to do; what comes of it goes to `take`.
  enum Action: Equatable {
    /// Ask the board that is connected who it is.
    case ask
    /// Connect, after a time.
    case connect(after: Duration)
    /// Ask how full the battery is.
    case battery
    /// Ask the board to go over to its bootloader; in its bootloader it tells how long it still needs.
    case enter
    /// Begin the transfer, after a time.
    case begin(after: Duration)
    /// Ask how far the transfer is.
    case status
    /// Give the transfer up.
    case abort(UInt32)
    /// Write the image from this offset on.
    case write(TransferPlan, from: Int)
    case verify(UInt32)
    case commit(UInt32)
    /// Start the application.
    case reboot
    /// Have the board keep the image, after a time.
    case confirm(after: Duration)
    case succeed(UpdateOutcome)
    case fail(HeadsetError)
  }

  /// What came of an action.
  enum Event: Equatable {
    /// Who the board is: of `ask` and `connect`.
    case connected(BoardInfo)
    case battery(Battery)
    /// How long the board takes until its bootloader is ready: of `enter`.
    case entering(Delay)
    case began(TransferPlan)
    case status(TransferStatus)
    /// All is written, or what was asked was done.
    case done
    /// The board does not get any further with what is written.
    case stuck
    /// The board says no.
    case refused(LinkRefusal)
    /// There is no answer, or no link.
    case lost(HeadsetError)
  }

  /// How long an update goes on without getting any further.
  static let patience = Duration.seconds(120)
  /// How long a bootloader takes to be ready that does not tell.
  static let usualDelay = Duration.seconds(5)
  /// The longest that a board may take.
  static let longestDelay = Duration.seconds(60)
  /// The least battery to begin with, unless it is being charged.
  static let leastBattery = 30
  /// How often what did not help is done in all.
  static let mostTries = 3
  /// How often a board may lose what was written before.
  static let mostSetbacks = 100
  /// How long to wait for a board that is busy or starting.
  static let pause = Duration.seconds(1)

  /// The headset, as messages show it.
  let name: String
  let manifest: FirmwareManifest
  let image: [UInt8]
  /// Whether the same version is written again.
  let isForced: Bool
  let patience: Duration

  /// What is being done.
  var step = UpdateStep.check
  /// What was done last, and is answered next.
  var action = Action.ask
  /// When it got further the last time.
  var progressAt: Instant
  var retry = RetryDelay()
  var board: BoardInfo?
  var isChecked = false
  var isBatteryKnown = false
  /// How often the board was asked to enter its bootloader, to begin anew, to reboot; wrong keys; failures of its flash.
  var enters = 0
  var renewals = 0
  var reboots = 0
  var wrongKeys = 0
  var flashFailures = 0
  /// When the bootloader is ready; nil when nobody has told.
  var readyAt: Instant?
  /// Which start of the board it was that its bootloader was seen in.
  var bootloaderBoots: UInt32?
  var transfer: TransferPlan?
  /// The most bytes that the board has had of this image, and how often they became fewer.
  var most = 0
  var setbacks = 0
  /// Whether anything of the image was sent.
  var hasBegun = false
  /// Whether COMMIT was sent, and whether the board is known to have done it.
  var isCommitSent = false
  var isCommitted = false
  var progress: UpdateProgress
  /// What is to be told of the progress, once.
  var news: Double?

  init(
    _ file: FirmwareFile, name: String, isForced: Bool, patience: Duration = UpdatePlan.patience,
    at now: Instant
  ) {
    (self.name, manifest, image) = (name, file.manifest, file.image)
    (self.isForced, self.patience, progressAt) = (isForced, patience, now)
    progress = UpdateProgress(of: file.image.count)
  }

  /// The first action.
  mutating func begin(isConnected: Bool) -> Action {
    action = isConnected ? .ask : .connect(after: .zero)
    return action
  }

  /// Takes what came of the last action.
  /// - Returns: the next one.
  mutating func take(_ event: Event, at now: Instant) -> Action {
    action = next(event, now)
    return action
  }

  /// The board has so many bytes of the image.
  mutating func acknowledged(_ bytes: Int, at now: Instant) {
    if bytes > most {
      most = bytes
      gotFurther(now)
    }
    if let told = progress.acknowledged(bytes) { news = told }
  }

  /// What is to be told of the progress since this was asked last.
  mutating func takeNews() -> Double? {
    defer { news = nil }
    return news
  }

  private mutating func next(_ event: Event, _ now: Instant) -> Action {
    switch event {
    case .connected(let board): return connected(board, now)
    case .battery(let battery): return known(battery, now)
    case .entering(let delay): return entering(delay, now)
    case .began(let plan): return began(plan, now)
    case .status(let status): return compare(status, now)
    case .done: return done(now)
    case .stuck: return beginAgain("the headset asks for the same part again and again", now)
    case .refused(let refusal): return refused(refusal, now)
    case .lost(let error): return lost(error, now)
    }
  }

  // MARK: Failing, and trying again

  mutating func gotFurther(_ now: Instant) {
    progressAt = now
    retry = RetryDelay()
    wrongKeys = 0
  }

  func fail(_ step: UpdateStep, _ reason: String, hint: String? = nil, cause: HeadsetError? = nil) -> Action {
    .fail(HeadsetError(update: name, at: step, reason, hint: hint, cause: cause))
  }

  func fail(_ fault: FirmwareFault) -> Action { fail(.check, fault.reason, hint: fault.hint) }

  /// Whether it has got no further for too long.
  func isOver(_ now: Instant) -> Bool { progressAt.duration(to: now) >= patience }

  private mutating func lost(_ error: HeadsetError, _ now: Instant) -> Action {
    let hint = "run the update again when the headset is there: it goes on where it was broken off"
    if error.kind == .auth || error.kind == .challengeLength {
      wrongKeys += 1
      if wrongKeys >= Self.mostTries { return fail(step, error.message, hint: error.hint, cause: error) }
    }
    // Nothing was sent, and nothing will be by connecting again.
    if error.kind == .writeFailed { return fail(step, error.message, hint: error.hint, cause: error) }
    if isOver(now) { return fail(step, "the link is lost: \(error.message)", hint: hint, cause: error) }
    return .connect(after: retry.next())
  }
}
