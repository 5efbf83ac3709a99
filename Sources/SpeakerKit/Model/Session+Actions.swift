internal import AudioCore
internal import EventLoop

/// Carries out what the machine decides, and keeps the seconds that it tells.
extension Session {
  /// The driver has heard a cue to its end.
  ///
  /// The session stops when the last second has been reported: its listeners find source, position and length as they
  /// were then. Routines of scripts begin in the turn after the event.
  func ended(cue: Int, failure: (any CodedError)?) {
    if machine.current?.cue.id == cue { tellSeconds() }
    house?.events.afterEvents { [self] in
      loop.next { [self] in perform(machine.ended(cue: cue, failure: failure)) }
    }
  }

  /// No speaker is left.
  func lastMemberLeft() { perform(machine.stop(.noDevices)) }

  /// Does what the machine says, then reports which speakers play.
  func perform(_ actions: [SessionMachine.Action]) {
    for action in actions {
      switch action {
      case .start(let cue, let paused):
        driver.start(cue, in: id, paused: paused || isSuspended)
        armSeconds()
      case .pause:
        if !isSuspended { driver.pause(id) }
      case .resume:
        if !isSuspended { driver.resume(id) }
      case .stop:
        seekTarget = nil
        driver.stop(id)
      case .tellState(let state):
        house?.events.tell(.state(state, self))
        runningChanged()
      case .tellEnded(let source, let reason):
        house?.events.tell(.ended(self, source: source, reason: reason))
        finishing.wake(.ended(reason))
      case .tellFailure(let error):
        house?.events.tell(.error(code: error.code, message: error.message, device: nil, session: self))
      }
    }
    house?.reportPlaying()
  }

  /// How long it plays on when no member can be reached.
  private static let silenceLimit = Duration.seconds(30)

  /// Sees to it that a session that nobody can hear stops after a while. After every change of its state, its
  /// members and their availability.
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

  /// Opens the source anew at `frame`, and lets it take the place of what sounds.
  func reposition(_ current: SessionMachine.Current, toFrame frame: Int) {
    seekCount += 1
    let number = seekCount
    seekTarget = (number, frame)
    let request = current.request.starting(at: Double(frame) / Double(format.sampleRate))
    loop.start { [self] in
      do {
        let cue = try await driver.load(request)
        guard seekTarget?.number == number, let now = machine.current,
          let actions = machine.repositioned(cue, from: now.cue.id)
        else { return driver.discard(cue) }
        seekTarget = nil
        toldSeconds = (timedSound == nil ? frame : position) / format.sampleRate
        perform(actions)
      } catch {
        guard seekTarget?.number == number, let now = machine.current else { return }
        let failure = (error as? any CodedError) ?? SpeakerError(.noSeek, "seek failed: \(error)")
        ended(cue: now.cue.id, failure: failure)
      }
    }
  }

  /// Sets the timer for the next whole second of the source, while it plays.
  func armSeconds() {
    secondTimer?.cancel()
    secondTimer = nil
    guard isRunning else { return }
    let rate = format.sampleRate
    let missing = (toldSeconds + 1) * rate - elapsed
    let nanoseconds = (Int64(max(missing, 1)) * 1_000_000_000 + Int64(rate) - 1) / Int64(rate)
    // While the driver stands still (it starts a block later, or waits for its disk) this asks again soon.
    secondTimer = loop.after(.nanoseconds(max(nanoseconds, 1_000_000))) { [weak self] in
      guard let self, isRunning else { return }
      tellSeconds()
      armSeconds()
    }
  }

  /// Frames of the source by now, over all its rounds when it loops.
  private var elapsed: Int {
    timedSound == nil ? driver.position(of: id) : position
  }

  /// Tells the whole seconds heard by now, once.
  private func tellSeconds() {
    guard seekTarget == nil else { return }
    let seconds = elapsed / format.sampleRate
    guard seconds > toldSeconds else { return }
    toldSeconds = seconds
    house?.events.tell(.time(elapsed: seconds, self))
  }
}
