internal import AudioCore
internal import EventLoop

extension House {
  /// Borrows speakers from their sessions, plays on them, and restores the changed state: membership, volume,
  /// mute, and, where it borrowed all speakers of a session, that session's position. Returns when that is
  /// done.
  ///
  /// Changes that others made meanwhile remain. A session that loses some speakers plays on with the rest;
  /// one that loses all is suspended, see `Session.isSuspended`. On a driver without the capability `interrupt`, whose
  /// one session can't wait, the one that sounds stops instead: `ended`, reason `replaced`. Interruptions nest: each restores the state
  /// that it found, in whatever order they end, also when `play` throws or is cancelled.
  /// - Parameters:
  ///   - devices: the speakers, borrowed all or none.
  ///   - priority: sessions with a higher one keep their speakers; with equal priorities the later one wins.
  ///   - volume: the speakers' level meanwhile, nil for their own; unmutes.
  ///   - fade: duration of suspended sessions' fade out before, and fade in after.
  ///   - restore: `false` restores nothing at the end: sessions without speakers have stopped, the speakers
  ///     are in none.
  ///   - name: display name of the interruption's session.
  ///   - play: called with a session of the speakers; closing that session ends the interruption early.
  /// - Throws: `speaker.outranked`, `speaker.no_active_device` without an available speaker,
  ///   `speaker.no_stream`, `speaker.range`, `speaker.unsupported`, `speaker.closed`, `script.flooded` with a thousand
  ///   sessions, `CancellationError`, errors of `play`.
  public func interrupt(
    devices: [Device], priority: Int = 100, volume: Int? = nil, fade: Duration = .zero, restore: Bool = true,
    name: String = "interruption", play: (Session) async throws -> Void
  ) async throws {
    loop.assertOnLoop()
    guard isOpen else { throw Self.closedError }
    try requireInterruptions()
    if let volume { try Self.check(volume: volume) }
    guard devices.contains(where: \.isAvailable) else {
      throw SpeakerError(.noActiveDevice, "interrupt: no speaker that can be reached", hint: "name one")
    }
    let devices = Self.eachOnce(devices)
    for device in devices { try check(device, mayGoTo: priority) }
    let session = try makeInterruptingSession(name: name, priority: priority, on: devices)
    let interruption = Interruption(self, session, devices, fade: fade, restores: restore)
    interruptions.append(interruption)
    let outcome: Result<Void, any Error>
    do {
      try await interruption.begin(volume: volume)
      try await play(session)
      outcome = .success(())
    } catch { outcome = .failure(error) }
    interruption.end()
    // Restored levels have taken effect when this returns, unless its task was cancelled.
    do { try await driver.awaitChanges() } catch {}
    try outcome.get()
  }

  /// Returns the speakers that a session has, or will have again when interruptions return them; in the order
  /// of the house.
  public func speakers(of session: Session) -> [Device] {
    devices.filter { hasSpeaker($0, session) }
  }

  /// Returns `true` if a session has a speaker, or will have it again when interruptions return it.
  func hasSpeaker(_ device: Device, _ session: Session) -> Bool {
    device.session === session || lender(of: device, to: session) != nil
  }

  /// Returns the interruption that has borrowed a speaker from a session, if the one that has it now, and those from which
  /// that has borrowed it, return it; nil for none.
  private func lender(of device: Device, to session: Session) -> Interruption? {
    var holder = device.session
    while let one = interruptions.first(where: { $0.session === holder }) {
      holder = one.heir(of: device)
      if holder === session { return one }
    }
    return nil
  }

  /// Returns the speakers that interruptions have borrowed from a session and will return, in the order of the house.
  public func speakers(lentBy session: Session) -> [Device] {
    speakers(of: session).filter { $0.session !== session }
  }

  /// Removes a speaker from a session, which does not want it any more, or keeps it from returning there.
  func remove(_ device: Device, from session: Session) {
    session.wanted.removeAll { $0 === device }
    if device.session === session { move(device, to: nil) }
    for interruption in interruptions { interruption.keep(device, from: session) }
  }

  /// Ends the suspensions of a session that has got a speaker that no interruption has, and that can be reached: it is heard
  /// there, and its other speakers return when the interruptions end.
  func resumeSuspended(_ session: Session) {
    guard session.isSuspended, session.hasAvailableMember else { return }
    for interruption in interruptions { interruption.resume(session) }
  }

  /// Suspends a session that has lost all other speakers, if an interruption will return one.
  /// - Returns: `true` if so.
  func suspend(waiting session: Session) -> Bool {
    guard session.source != nil, capabilities.contains("interrupt") else { return false }
    for device in devices {
      guard let lender = lender(of: device, to: session) else { continue }
      lender.suspend(session)
      return true
    }
    return false
  }

  /// Returns `true` for the session of an interruption, or of a sound over others.
  public func isInterruption(_ session: Session?) -> Bool {
    session != nil
      && (interruptions.contains { $0.session === session } || overlays.contains { $0.session === session })
  }

  /// Returns `true` if an interruption plays on a speaker at a volume of its own.
  public func isLevelOfInterruption(_ device: Device) -> Bool {
    interruptions.contains { $0.session === device.session && $0.setsLevel(of: device) }
  }

  /// A driver that plays can at least replace what sounds.
  private func requireInterruptions() throws(SpeakerError) {
    if !capabilities.contains("play") { try require("interrupt", for: "interruptions") }
  }

  /// Checks that a file can be played, by opening it.
  /// - Parameter priority: of the interruption that is to play it: without a stream for one it is not opened; nil for a
  ///   sound over others, which gets a stream later.
  /// - Throws: `audio.not_found`, `audio.unreadable`, `speaker.no_stream`, `speaker.unsupported`, `CancellationError`.
  public func check(file path: String, interruptingAt priority: Int? = nil) async throws {
    if priority != nil { try requireInterruptions() }
    try await openings.perform(on: loop) {
      if let priority { try requireStream(priority: priority) }
      driver.discard(try await driver.load(SourceRequest(path: path)))
    }
  }
}

/// The suspension of a session that has lost all its speakers, shared by the interruptions that have them:
/// the first that returns one ends it. Confined to the loop.
final class Suspension {
  let session: Session
  /// The duration of the fade in afterwards, equal to that of the fade out before.
  let fade: Duration
  /// `true` if the suspension has ended.
  var isOver = false

  init(of session: Session, fade: Duration) { (self.session, self.fade) = (session, fade) }
}

/// An interruption: the speakers that it borrowed and their former state. Confined to the loop.
final class Interruption {
  private struct Loan {
    let device: Device
    /// The session to which the speaker returns.
    weak var from: Session?
    /// The values of `Device.lastMove` before and after the speaker was borrowed.
    let before: Int
    let since: Int
    /// The level before; nil when it was not changed.
    var level: FormerLevel?
  }

  let session: Session
  private unowned let house: House
  private let devices: [Device]
  private let fade: Duration
  private let restores: Bool
  private var loans: [Loan] = []
  private var suspensions: [Suspension] = []
  /// The number of its levels among the borrowed ones of the house; nil without a level.
  private var borrowed: Int?
  private var hasEnded = false

  init(_ house: House, _ session: Session, _ devices: [Device], fade: Duration, restores: Bool) {
    self.house = house
    self.session = session
    self.devices = devices
    self.fade = fade
    self.restores = restores
  }

  /// Sessions all of whose speakers the interruption borrows.
  private var wholes: [Session] {
    restores && house.capabilities.contains("interrupt") ? house.sessions(within: devices) : []
  }

  /// Fades out the interrupted sessions, then borrows the speakers.
  func begin(volume: Int?) async throws {
    let fading = wholes
    for other in fading { emit(.suspending, other) }
    if fade > .zero, fading.contains(where: \.isRunning) {
      for other in fading { other.fadeOut(over: fade) }
      let outcome: Result<Void, any Error>
      do {
        try await house.loop.sleep(for: fade)
        // A listener of the event may have closed the session.
        try session.requireOpen()
        for device in devices { try house.check(device, mayGoTo: session.priority) }
        outcome = .success(())
      } catch { outcome = .failure(error) }
      if case .failure = outcome { for other in fading { fadeIn(other, over: fade) } }
      try outcome.get()
    }
    try session.requireOpen()
    borrow(volume)
    for other in fading where !suspensions.contains(where: { $0.session === other }) {
      fadeIn(other, over: fade)
    }
  }

  private func borrow(_ volume: Int?) {
    suspensions = wholes.map { Suspension(of: $0, fade: fade) }
    for suspension in suspensions { begin(suspension) }
    for device in devices where !device.isRemoved {
      let (from, before) = (device.session, device.lastMove)
      house.move(device, to: session)
      loans.append(Loan(device: device, from: from, before: before, since: device.lastMove))
    }
    house.report(.interruption(isBeginning: true, devices: loans.map(\.device.id)), of: session)
    guard let volume else { return }
    // Moving has let pending levels take effect: these are the ones to restore.
    var levels: [(device: Device, change: LevelChange)] = []
    for index in loans.indices where loans[index].device.isAvailable {
      let device = loans[index].device
      loans[index].level = FormerLevel(of: device)
      device.levelCause = .interruption
      levels.append((device, .volume(volume)))
    }
    if restores { keepLevels(meanwhile: volume) }
    let reached = loans.filter { $0.level != nil }.map { ($0.device, LevelCommand.set(volume)) }
    house.report(.level(reached, by: .interruption))
    house.send(levels, for: session)
  }

  /// Keeps the levels from before for the next process, in case this one is killed.
  private func keepLevels(meanwhile volume: Int) {
    borrowed = house.borrow(
      loans.compactMap { loan in
        loan.level.flatMap {
          BorrowedLevel(
            device: loan.device.id, volume: $0.volume, isMuted: $0.isMuted,
            meanwhile: min(volume, loan.device.limit?.lowest ?? volume), volume)
        }
      })
  }

  /// Restores the state that others have not changed. Does nothing the second time.
  func end() {
    guard !hasEnded else { return }
    hasEnded = true
    house.interruptions.removeAll { $0 === self }
    guard house.isOpen else { return }
    session.stop()
    var heirs: [Interruption] = []
    if restores { for loan in loans { if let heir = returnSpeaker(loan) { heirs.append(heir) } } }
    for loan in loans where loan.level != nil { loan.device.fade?.levelIsFree(of: loan.device) }
    for suspension in suspensions where suspension.session.isOpen { release(suspension, to: heirs) }
    // Another interruption may have the rest of a session's speakers: it goes on in this one.
    for loan in loans { if let other = loan.from, other.isOpen { house.resumeSuspended(other) } }
    if !loans.isEmpty {
      house.report(.interruption(isBeginning: false, devices: loans.map(\.device.id)), of: session)
    }
    if let borrowed { house.forget(borrowed: borrowed) }
    session.close()
  }

  /// Returns a speaker to its session, and restores its level.
  /// - Returns: a later interruption that has the speaker now, and returns it instead.
  private func returnSpeaker(_ loan: Loan) -> Interruption? {
    let device = loan.device
    guard !device.isRemoved else { return nil }
    let from = loan.from?.isOpen == true ? loan.from : nil
    let heir = house.interruptions.first { other in
      other.loans.contains { $0.device === device && $0.from === session }
    }
    if device.session === session, device.lastMove == loan.since {
      house.move(device, to: from)
      // As before the move: an earlier interruption may be waiting to return it.
      device.lastMove = loan.before
    }
    if let heir, let index = heir.loans.firstIndex(where: { $0.device === device }) {
      heir.loans[index].from = from
      if let level = loan.level, let later = heir.loans[index].level, later.touches == level.touches {
        heir.loans[index].level = level
        return heir
      }
      if heir.loans[index].level != nil { return heir }
    }
    if let level = loan.level { house.restoreLevel(level, to: device) }
    return heir
  }

  /// Resumes a session, unless other interruptions have all its speakers, which then resume it.
  private func release(_ suspension: Suspension, to heirs: [Interruption]) {
    let other = suspension.session
    guard !suspension.isOver else { return }
    if other.devices.isEmpty {
      for heir in heirs
      where heir.restores && heir.loans.contains(where: { $0.from === other }) && !heir.shares(suspension) {
        heir.suspensions.append(suspension)
      }
      if house.interruptions.contains(where: { $0.shares(suspension) }) { return }
      other.perform(other.machine.stop(.noDevices))
    }
    conclude(suspension)
  }

  private func conclude(_ suspension: Suspension) {
    suspension.isOver = true
    fadeIn(suspension.session, over: suspension.fade)
    if suspension.session.unsuspend() { emit(.resumed, suspension.session) }
  }

  /// Suspends a session that has no other speakers than those that it gets back.
  fileprivate func suspend(_ other: Session) {
    emit(.suspending, other)
    let suspension = Suspension(of: other, fade: .zero)
    suspensions.append(suspension)
    begin(suspension)
  }

  private func begin(_ suspension: Suspension) {
    suspension.session.suspend()
    emit(.suspended, suspension.session)
  }

  /// Ends the suspensions of a session that has a speaker again.
  fileprivate func resume(_ other: Session) {
    for suspension in suspensions where suspension.session === other && !suspension.isOver {
      conclude(suspension)
    }
  }

  /// Returns the session to which the interruption returns a speaker; nil for none.
  fileprivate func heir(of device: Device) -> Session? {
    restores ? loans.first { $0.device === device }?.from : nil
  }

  /// Lets a speaker return to no session in place of `session`.
  fileprivate func keep(_ device: Device, from session: Session) {
    for index in loans.indices where loans[index].device === device && loans[index].from === session {
      loans[index].from = nil
    }
  }

  /// Returns the number of the move that made a speaker a member of the session from which the interruption borrowed it;
  /// nil if it has not borrowed it there.
  func move(of device: Device, from session: Session) -> Int? {
    loans.first { $0.device === device && $0.from === session }?.before
  }

  /// Returns `true` if the interruption has set the level of a speaker that it has, and has borrowed that after a number
  /// of moves of speakers.
  func setsLevel(of device: Device, since moves: Int = 0) -> Bool {
    loans.contains { $0.device === device && $0.level != nil && $0.since > moves }
  }

  private func shares(_ suspension: Suspension) -> Bool { suspensions.contains { $0 === suspension } }

  private func fadeIn(_ other: Session, over fade: Duration) {
    if fade > .zero, other.isOpen { other.fadeIn(over: fade) }
  }

  private func emit(_ phase: SuspensionPhase, _ other: Session) {
    house.events.emit(.suspension(phase, other, by: session))
  }
}
