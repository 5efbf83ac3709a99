internal import EventLoop

/// The streams of the driver, on each of which one session at a time sounds.
///
/// A session has a stream from its first need on, and keeps it in silence, so that its next sound begins at once. When
/// no stream is left, that of a silent session goes to the one that is about to sound: of one without speakers first,
/// then of the one that was stopped first, whose last sound is over. Where all sound or are paused, one of lower priority
/// is replaced: an alarm is not silent for want of a stream.
extension House {
  /// Gives a session a stream, with its members, priority, gain and equalizer. Does nothing when it has one.
  /// - Parameter devices: the speakers of an interruption: a session that has no others is replaced before others are.
  /// - Throws: `speaker.no_stream` when sessions that can't be replaced have all streams.
  func takeStream(
    for session: Session, priority: Int, on devices: [Device] = []
  ) throws(SpeakerError) {
    guard session.stream == nil else { return }
    if let stream = freeStream { return give(stream, to: session) }
    let silent = silentSessions
    let donor =
      silent.first(where: \.devices.isEmpty) ?? silent.min { $0.lastStop < $1.lastStop }
      ?? replaceable(by: priority, on: devices)
    guard let donor, let stream = donor.stream else { throw noStream }
    // An interruption goes on without a sound; an alarm rings again as soon as it can.
    if donor.source != nil { donor.perform(donor.machine.stop(.replaced)) }
    withdrawStream(of: donor)
    give(stream, to: session)
  }

  /// Gives a session a stream if one is left.
  func takeFreeStream(for session: Session) {
    if let stream = freeStream { give(stream, to: session) }
  }

  /// Checks that one more session could sound.
  /// - Parameter priority: that of the session.
  /// - Throws: `speaker.no_stream`.
  func requireStream(priority: Int) throws(SpeakerError) {
    guard freeStream == nil, silentSessions.isEmpty, replaceable(by: priority) == nil else { return }
    throw noStream
  }

  /// Checks that a session could sound after it has taken speakers from others: one that loses all of its speakers stops.
  /// An interruption keeps its stream to its end.
  /// - Throws: `speaker.no_stream`.
  func requireStream(for session: Session, priority: Int, taking devices: [Device]) throws(SpeakerError) {
    guard session.stream == nil, freeStream == nil, silentSessions.isEmpty else { return }
    let others = sessions(within: devices).filter {
      $0 !== session && $0.stream != nil && !$0.isSuspended && !isInterruption($0)
    }
    if others.isEmpty, replaceable(by: priority) == nil { throw noStream }
  }

  /// Returns the session that one of `priority` replaces when all streams are taken; nil for none. On a driver with one
  /// session at a time that is the one that sounds, unless its priority is higher; on others one of lower priority: a
  /// paused one first, then one that has no other speakers than `devices`, then the lowest; one of an interruption last,
  /// and only by a higher priority, so that two alarms do not replace each other all the time.
  private func replaceable(by priority: Int, on devices: [Device] = []) -> Session? {
    guard capabilities.contains("sessions") else {
      return sessions.first {
        $0.stream != nil
          && (isInterruption($0) ? $0.priority < priority : $0.source != nil && $0.priority <= priority)
      }
    }
    let within = sessions(within: devices)
    func cost(_ session: Session) -> (Int, Int, Int, Int) {
      let isWithin = within.contains { $0 === session }
      return (
        isInterruption(session) ? 1 : 0, session.state == .paused ? 0 : 1, isWithin ? 0 : 1, session.priority
      )
    }
    return sessions.filter { $0.stream != nil && $0.priority < priority }
      .min { cost($0) < cost($1) }
  }

  /// The lowest stream that no session has; nil for none.
  private var freeStream: DriverStream? {
    let taken = Set(sessions.compactMap(\.stream))
    return (0..<max(driver.sessionLimit, 1)).first { !taken.contains($0) }
  }

  /// The sessions that have a stream and do not need it.
  private var silentSessions: [Session] {
    sessions.filter { $0.stream != nil && $0.source == nil && !isInterruption($0) }
  }

  private func give(_ stream: DriverStream, to session: Session) {
    session.stream = stream
    driver.setPriority(session.priority, of: stream)
    if capabilities.contains("gain") {
      driver.setGain(session.gainState.heard, over: .zero, of: stream)
    }
    if capabilities.contains("equalizer") { driver.setEqualizer(session.equalizer, of: stream) }
    for device in devices {
      if device.session === session { driver.setSession(stream, ofDevice: device.id) }
      if device.overlay?.session === session { renderOverlay(of: device) }
    }
  }

  private func withdrawStream(of session: Session) {
    session.stream = nil
    for device in devices where device.session === session { driver.setSession(nil, ofDevice: device.id) }
  }

  private var noStream: SpeakerError {
    let sounding = sessions.filter { $0.stream != nil }
    let names = sounding.map { session in
      let rooms = rooms(of: session.devices)
      return "\"\(session.name)\"" + (rooms.isEmpty ? "" : " in \(rooms.joined(separator: ", "))")
    }
    return SpeakerError(
      .noStream,
      "\(sounding.count) \(sounding.count == 1 ? "session plays" : "sessions play"), and the driver has no stream for one more",
      hint: [
        "stop \(names.count == 1 ? "" : "one of: ")\(names.joined(separator: ", "))", driver.moreSessionsHint,
      ].compactMap { $0 }.joined(separator: "; "),
      facts: [.init("limit", .int(driver.sessionLimit))])
  }
}
