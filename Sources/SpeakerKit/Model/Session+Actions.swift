internal import AudioCore
internal import EventLoop

/// Performs the machine's actions, and reports the seconds heard.
extension Session {
  /// Ends a cue that the driver has rendered to its end.
  ///
  /// The session stops when the last second has been reported: its listeners find the source, position and
  /// length of that moment. Routines of scripts begin in the turn after the event.
  func ended(cue: Int, failure: (any CodedError)?) {
    if machine.current?.cue.id == cue {
      tellSeconds()
      applyTurns(isEnd: true)
    }
    house?.events.afterEvents { [self] in
      loop.next { [self] in perform(machine.ended(cue: cue, failure: failure)) }
    }
  }

  /// Stops the session after its last member has left.
  func lastMemberLeft() { perform(machine.stop(.noDevices)) }

  /// Performs actions of the machine, then reports which speakers play.
  func perform(_ actions: [SessionMachine.Action]) {
    for action in actions {
      switch action {
      case .start(let cue, let paused):
        if let stream { driver.start(cue, in: stream, paused: paused || isSuspended) }
        armSeconds()
      case .pause:
        if !isSuspended, let stream { driver.pause(stream) }
      case .resume:
        if !isSuspended, let stream { driver.resume(stream) }
      case .stop:
        seeking.end()
        lastStop = loop.now
        if let stream { driver.stop(stream) }
      case .reportState(let state):
        house?.events.emit(.state(state, self, source: source))
        runningChanged()
      case .reportEnded(let source, let reason):
        house?.events.emit(.ended(self, source: source, reason: reason))
        finishing.settle(.success(.ended(reason)))
      case .reportFailure(let error):
        house?.events.emit(.error(code: error.code, message: error.message, device: nil, session: self))
      }
    }
    house?.reportPlaying()
  }

  /// The timeout after which a session without an available member stops.
  private static let silenceLimit = Duration.seconds(30)

  /// Arms the timer that stops a running session without an available member, or cancels it. To be called
  /// after every change of its state, its members and their availability.
  func watchSilence() {
    guard isRunning, !hasAvailableMember else {
      silenceTimer?.cancel()
      silenceTimer = nil
      return
    }
    guard silenceTimer == nil else { return }
    silenceTimer = loop.after(Self.silenceLimit) { [weak self] in
      guard let self else { return }
      silenceTimer = nil
      perform(machine.stop(.noDevices))
    }
  }

  /// Opens the source anew at `frame`, and replaces the current cue with it.
  /// - Parameter passage: the sound of a queue from there on; nil for another source.
  func reposition(_ current: SessionMachine.Current, toFrame frame: Int, in passage: QueuePassage? = nil) {
    let number = seeking.begin(toFrame: frame, in: passage)
    let sound = passage.map { SourceRequest($0, name: current.request.name) } ?? current.request
    let request = sound.starting(at: Double(frame) / Double(format.sampleRate))
    loop.start { [self] in
      do {
        guard let house else { return }
        let opened: Cue? = try await house.openings.perform(on: loop) {
          // A later seek has another target.
          seeking.opens(number) ? try await driver.load(request) : nil
        }
        guard let cue = opened else { return }
        guard seeking.opens(number), let now = machine.current,
          let actions = machine.repositioned(cue, for: request, from: now.cue.id)
        else { return driver.discard(cue) }
        seeking.end()
        reportedSeconds = (timedSound == nil ? frame : position) / format.sampleRate
        perform(actions)
        applyTurns()
      } catch {
        guard seeking.opens(number), let now = machine.current else { return }
        while let (turn, _) = passage?.nextTurn(heard: .max) { report(turn.failures) }
        let failure = (error as? any CodedError) ?? SpeakerError(.noSeek, "seek failed: \(error)")
        ended(cue: now.cue.id, failure: failure)
      }
    }
  }

  /// Arms the timer for the next whole second of the source, while it plays.
  /// - Parameter hasResumed: `true` for a session that runs again: after a pause shorter than a block, the next one begins
  ///   before the one so far is over, and the position advances by the rest of that.
  func armSeconds(hasResumed: Bool = false) {
    secondTimer?.cancel()
    secondTimer = nil
    guard isRunning else { return }
    guard house?.events.wantsSeconds == true else {
      // A source without an end keeps the loop alive, in virtual time too.
      secondTimer = loop.after(Self.idleLook) { [weak self] in self?.armSeconds() }
      return
    }
    let rate = format.sampleRate
    let missing = (reportedSeconds + 1) * rate - elapsed
    var nanoseconds = (Int64(max(missing, 1)) * 1_000_000_000 + Int64(rate) - 1) / Int64(rate)
    if hasResumed { nanoseconds = min(nanoseconds, 20_000_000) }
    // While the driver's position does not move (it starts a block later, or waits for its disk) this fires
    // again soon.
    secondTimer = loop.after(.nanoseconds(max(nanoseconds, 1_000_000))) { [weak self] in
      guard let self, isRunning else { return }
      tellSeconds()
      armSeconds()
    }
  }

  /// The interval of the timer of a running session whose seconds have no listener.
  private static let idleLook = Duration.seconds(3600)

  /// Begins to report seconds, as a listener wants them: the next whole one is the first.
  func secondsAreWanted() {
    guard isRunning else { return }
    if seeking.target == nil { reportedSeconds = max(reportedSeconds, elapsed / format.sampleRate) }
    armSeconds()
  }

  /// Reports seconds from the position on, if that is far before the seconds reported last.
  func restartSeconds() {
    guard seeking.target == nil else { return }
    let seconds = elapsed / format.sampleRate
    if seconds == 0 || seconds + 1 < reportedSeconds { reportedSeconds = min(seconds, reportedSeconds) }
    armSeconds()
  }

  /// The number of frames of the source heard by now, over all repetitions when it loops.
  private var elapsed: Int {
    timedSound == nil && passage == nil ? framesHeard : position
  }

  /// Emits the number of whole seconds heard by now, unless that was reported already.
  func tellSeconds() {
    guard seeking.target == nil else { return }
    let seconds = elapsed / format.sampleRate
    guard seconds > reportedSeconds else { return }
    reportedSeconds = seconds
    house?.events.emit(.time(elapsed: seconds, self))
  }
}

/// The seek of a session that is opening its cue; a newer one ends an older one.
struct SeekState {
  /// The aim of a seek: the frame, and the passage of a queue that it opens there; nil for another source.
  struct Target {
    fileprivate let number: Int
    let frame: Int
    let passage: QueuePassage?
  }

  /// The aim of the seek that is opening; nil for none.
  private(set) var target: Target?
  private var count = 0

  /// Begins a seek, in place of one that is still opening.
  /// - Returns: its number.
  mutating func begin(toFrame frame: Int, in passage: QueuePassage?) -> Int {
    count += 1
    target = Target(number: count, frame: frame, passage: passage)
    return count
  }

  /// Returns `true` while the seek with a number is opening.
  func opens(_ number: Int) -> Bool { target?.number == number }

  /// Ends the seek.
  mutating func end() { target = nil }
}
