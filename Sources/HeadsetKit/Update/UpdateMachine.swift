internal import EventLoop
internal import HeadsetLink

/// The state machine of an update: returns the next action by the events so far. Has no link and no clock.
///
/// A lost link does not end the update: it is made again, and the board's state then determines where to
/// resume. An update without headway ends: after `stall` if the board answers, after `timeout` if the link is
/// lost.
struct UpdateMachine {
  /// A step that the owner of the machine performs; its outcome goes to `receive`.
  enum Action: Equatable {
    /// Ask the connected board for its description.
    case ask
    /// Connect, after a time.
    case connect(after: Duration)
    /// Ask for the charge of the battery.
    case battery
    /// Ask the board to start its bootloader; a bootloader answers with the time until it is ready.
    case enter
    /// Begin the transfer, after a time.
    case begin(after: Duration)
    /// Ask for the state of the transfer.
    case status
    /// Give the transfer up.
    case abort(UInt32)
    /// Write the image from this offset on.
    case write(TransferPlan, from: Int)
    case verify(UInt32)
    case commit(UInt32)
    /// Start the application.
    case reboot
    /// Make the board keep the image, after a time.
    case confirm(after: Duration)
    case succeed(UpdateOutcome)
    case fail(HeadsetError)

    /// `true` if nothing is left to do.
    var isEnd: Bool {
      switch self {
      case .succeed, .fail: true
      default: false
      }
    }

    /// The step that the action begins or is part of; nil for an action that belongs to the previous step.
    var step: UpdateStep? {
      switch self {
      case .ask, .connect, .status, .abort, .succeed, .fail: nil
      case .battery: .battery
      case .enter: .enter
      case .begin: .begin
      case .write: .write
      case .verify: .verify
      case .commit: .commit
      case .reboot: .reboot
      case .confirm: .confirm
      }
    }
  }

  /// The state of the transfer, by the board's answers.
  enum Transfer {
    /// No transfer has begun; the board may have the version already.
    case notBegun
    /// A transfer was begun, and another one is to follow.
    case interrupted
    /// A transfer was begun under these terms, and the image is not committed.
    case running(TransferPlan)
    /// COMMIT was sent, and the board has not answered it.
    case commitSent
    /// The board has confirmed COMMIT: it starts the image next.
    case committed

    /// `true` once a transfer was begun.
    var hasBegun: Bool { if case .notBegun = self { false } else { true } }
    var isCommitted: Bool { if case .committed = self { true } else { false } }
    /// `true` if the board may start the image next.
    var mayBeCommitted: Bool {
      switch self {
      case .notBegun, .interrupted, .running: false
      case .commitSent, .committed: true
      }
    }
  }

  /// The outcome of an action.
  enum Event: Equatable {
    /// The description of the board, after `ask` and `connect`.
    case connected(BoardInfo)
    case battery(Battery)
    /// The time until the bootloader is ready, after `enter`.
    case entering(Delay)
    case began(TransferPlan)
    case status(TransferStatus)
    /// The request was done, or the whole image is written.
    case done
    /// The board's answers to writes allow no headway, for this reason.
    case stuck(String)
    /// The board refuses.
    case refused(LinkRefusal)
    /// The answer or the link is missing.
    case lost(HeadsetError)
  }

  /// The longest time without headway while the link is lost and made again.
  static let timeout = Duration.seconds(120)
  /// The longest time without headway while the board answers.
  static let stall = Duration.seconds(30)
  /// The most bytes that a board may lose with its power; after a greater loss the transfer counts as
  /// restarted.
  static let mostLost = 65_536
  /// The number of losses without headway from which on a link counts as bad.
  static let mostLosses = 3
  /// The time until a bootloader is ready, if it does not report that.
  static let usualDelay = Duration.seconds(5)
  /// The longest time that a board may report until its bootloader is ready.
  static let longestDelay = Duration.seconds(60)
  /// The least charge in percent to begin with, unless the battery is being charged.
  static let leastBattery = 30
  /// The most attempts at a step that fails.
  static let mostTries = 3
  /// The wait for a board that is busy or starting.
  static let pause = Duration.seconds(1)

  /// The headset, as messages show it.
  let name: String
  let manifest: FirmwareManifest
  let image: [UInt8]
  /// `true` if the same version is written again.
  let isForced: Bool
  let timeout: Duration

  /// The current step.
  private(set) var step = UpdateStep.check
  /// The last action, to which the next event belongs.
  private(set) var action = Action.ask
  var headway: UpdateHeadway
  /// The description of the board; nil until it was connected in this update.
  var board: BoardInfo?
  var isBatteryKnown = false
  /// The numbers of attempts to start the bootloader, to restart the transfer and to reboot, and of failures
  /// of the flash.
  var enters = 0
  var renewals = 0
  var reboots = 0
  var flashFailures = 0
  /// The moment at which the bootloader is ready; nil while it is unknown.
  var readyAt: Instant?
  /// The start counter of the board when its bootloader was seen.
  var bootloaderBoots: UInt32?
  var transfer = Transfer.notBegun
  /// Bytes of this image that the board has acknowledged.
  var most = 0
  /// The limit of writes under way at once, halved at each loss during writes; nil before the first loss.
  var narrowed: Int?
  var progress: UpdateProgress

  init(
    _ file: FirmwareFile, name: String, isForced: Bool, timeout: Duration = UpdateMachine.timeout,
    at now: Instant
  ) {
    (self.name, manifest, image) = (name, file.manifest, file.image)
    (self.isForced, self.timeout, headway) = (isForced, timeout, UpdateHeadway(at: now))
    progress = UpdateProgress(of: file.image.count)
  }

  /// Returns the first action.
  mutating func begin(isConnected: Bool) -> Action {
    action = isConnected ? .ask : .connect(after: .zero)
    return action
  }

  /// Applies the outcome of the last action.
  /// - Returns: the next action.
  mutating func receive(_ event: Event, at now: Instant) -> Action {
    note(event, now)
    let next = next(event, now)
    step = next.step ?? step
    action = next.isEnd ? next : overdue(now) ?? next
    return action
  }

  /// Applies the number of bytes of the image that the board has.
  mutating func acknowledged(_ bytes: Int, at now: Instant) {
    most = max(most, bytes)
    headway.acknowledged(bytes, of: image.count, at: now)
    progress.acknowledged(bytes)
  }

  /// Returns the progress since the last call, once.
  mutating func drainProgress() -> Double? { progress.drain() }

  private mutating func next(_ event: Event, _ now: Instant) -> Action {
    switch event {
    case .connected(let board): return connected(board, now)
    case .battery(let battery): return known(battery, now)
    case .entering(let delay): return entering(delay, now)
    case .began(let plan): return began(plan, now)
    case .status(let status): return compare(status, now)
    case .done: return done(now)
    case .stuck(let reason): return beginAgain(reason, now)
    case .refused(let refusal): return refused(refusal, now)
    case .lost(let error): return lost(error)
    }
  }

  // MARK: Failing, and trying again

  private mutating func note(_ event: Event, _ now: Instant) {
    guard case .lost(let error) = event else { return headway.answered(at: now) }
    headway.lost(error)
    if case .write(let transfer, _) = action { narrowed = max(1, width(of: transfer) / 2) }
  }

  func fail(_ step: UpdateStep, _ reason: String, hint: String? = nil, cause: HeadsetError? = nil) -> Action {
    .fail(HeadsetError(update: name, at: step, reason, hint: hint, cause: cause))
  }

  func fail(_ fault: FirmwareFault) -> Action { fail(.check, fault.reason, hint: fault.hint) }

  /// `true` if the board answers, but there has been no headway for too long.
  func isStalled(_ now: Instant) -> Bool {
    headway.isStalled(for: min(Self.stall, timeout), notBefore: readyAt, at: now)
  }

  /// Returns the failure of an update that has had no headway for too long.
  private func overdue(_ now: Instant) -> Action? {
    let hint = "run the update again when the headset is there: it resumes at the offset it has reached"
    let (trouble, losses) = (headway.trouble, headway.losses)
    if isStalled(now) {
      let reason = trouble?.reason ?? "the headset answers and does not get any further"
      return fail(
        step, "\(reason); no headway for \(Self.stall.components.seconds) s", hint: hint,
        cause: trouble?.cause)
    }
    guard headway.last.duration(to: now) >= timeout else { return nil }
    let (reason, seconds) = (trouble?.reason ?? "the link was lost", timeout.components.seconds)
    guard losses >= Self.mostLosses else {
      return fail(step, "the link is lost: \(reason)", hint: hint, cause: trouble?.cause)
    }
    return fail(
      step,
      "the link is too bad: lost \(losses) times in \(seconds) s without headway, at last: \(reason)",
      hint: "bring the headset nearer and run the update again: it resumes at the offset it has reached",
      cause: trouble?.cause)
  }

  private mutating func lost(_ error: HeadsetError) -> Action {
    if headway.wrongKeys >= Self.mostTries {
      return fail(step, error.message, hint: error.hint, cause: error)
    }
    // A new connection does not help against requests that can't be sent and answers that can't be read.
    if error.kind == .writeFailed || error.kind == .noData {
      return fail(step, error.message, hint: error.hint, cause: error)
    }
    return .connect(after: headway.retry.next())
  }
}
