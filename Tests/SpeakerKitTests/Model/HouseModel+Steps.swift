import AudioCore

extension HouseModel {
  /// Performs a step, now.
  /// - Returns: the code of the error that it raises.
  mutating func perform(_ step: WalkStep) -> String? {
    switch step {
    case .join(let speaker, let session): return join(speaker, session)
    case .leave(let speaker): leave(speaker)
    case .play(let session, let play): return self.play(session, play)
    case .pause(let session): pause(session)
    case .resume(let session): return resume(session)
    case .stop(let session): stop(session, "stopped")
    case .seek(let session, let frame): return seek(session, to: frame)
    case .volume(let target, let volume): return ask(.volume(volume), of: target)
    case .mute(let target, let isMuted): return ask(.muted(isMuted), of: target)
    case .role(let speaker, let role): return ask(.role(role), of: .speaker(speaker))
    case .balance(let speaker, let balance): return ask(.balance(balance), of: .speaker(speaker))
    case .gain(let session, let gain): return setGain(gain, of: session)
    case .plug(let speaker, let isPlugged): plug(speaker, isPlugged)
    case .interrupt(let request): return interrupt(request)
    case .close(let session): if players[session].isOpen { close(session) }
    case .rename(let speaker, let name): return rename(speaker, name)
    case .regroup(let speaker, let name): return regroup(speaker, name)
    case .powerCut: for speaker in speakers.indices { plug(speaker, false) }
    case .person(let person): return perform(person)
    case .reload: break
    case .restart(let session):
      close(session)
      _ = open(players[session].name, priority: 100)
    }
    return nil
  }

  // MARK: Speakers

  /// Returns `true` if a session of higher priority sounds on a speaker.
  func isOutranked(_ speaker: Int, by priority: Int) -> Bool {
    !mayHave(speaker, sounds: true, priority: priority)
  }

  mutating func leave(_ speaker: Int) {
    if let session = speakers[speaker].session { players[session].wanted.removeAll { $0 == speaker } }
    move(speaker, to: nil)
  }

  private mutating func join(_ speaker: Int, _ session: Int) -> String? {
    guard players[session].isOpen else { return "speaker.closed" }
    if !players[session].wanted.contains(speaker) { players[session].wanted.append(speaker) }
    let sounds = sounds(session)
    if !has(speaker, session), mayHave(speaker, sounds: sounds, priority: players[session].priority) {
      move(speaker, to: session)
    }
    resumeSuspended(session)
    return nil
  }

  /// Returns `true` if a session has a speaker, or will have it again after interruptions.
  func has(_ speaker: Int, _ session: Int) -> Bool {
    speakers[speaker].session == session || lender(of: speaker, to: session) != nil
  }

  /// Returns the interruption that borrowed a speaker from a session, if it and all later ones return it.
  func lender(of speaker: Int, to session: Int) -> Int? {
    var holder = speakers[speaker].session
    while let index = interruptions.firstIndex(where: { $0.player == holder }), interruptions[index].restores
    {
      holder = interruptions[index].loans.first { $0.speaker == speaker }?.from
      if holder == session { return index }
    }
    return nil
  }

  /// Returns `true` if a session gets a speaker that it wants: an idle one, else by priority when it sounds itself.
  private func mayHave(_ speaker: Int, sounds: Bool, priority: Int) -> Bool {
    guard let holder = speakers[speaker].session, self.sounds(holder) else { return true }
    return sounds && priority >= players[holder].priority
  }

  /// Returns `true` if a session has a source, or is that of an interruption.
  private func sounds(_ session: Int) -> Bool {
    players[session].title != nil || interruptions.contains { $0.player == session }
  }

  /// Moves a speaker; a session that loses its last one stops, unless it is suspended by an interruption.
  mutating func move(_ speaker: Int, to session: Int?) {
    let old = speakers[speaker].session
    guard old != session else { return }
    speakers[speaker].session = session
    moveCount += 1
    speakers[speaker].move = moveCount
    flush()
    send(.member(speaker: speaker, session: speakers[speaker].isAvailable ? session : nil))
    if old != nil { reportDevice(speaker, "left") }
    if session != nil { reportDevice(speaker, "joined") }
    if let old {
      if members(of: old).isEmpty, !isSuspended(old), !suspend(waiting: old) { stop(old, "no_devices") }
      follow(old)
    }
    if let session { follow(session) }
    reportPlaying()
  }

  /// Removes a speaker from a session, also one that an interruption would return to it.
  private mutating func remove(_ speaker: Int, from session: Int) {
    if speakers[speaker].session == session { move(speaker, to: nil) }
    for index in interruptions.indices {
      for loan in interruptions[index].loans.indices
      where interruptions[index].loans[loan].speaker == speaker
        && interruptions[index].loans[loan].from == session
      {
        interruptions[index].loans[loan].from = nil
      }
    }
  }

  private mutating func plug(_ speaker: Int, _ isPlugged: Bool) {
    guard speakers[speaker].isAvailable != isPlugged else { return }
    speakers[speaker].isAvailable = isPlugged
    send(.member(speaker: speaker, session: isPlugged ? speakers[speaker].session : nil))
    reportDevice(speaker, isPlugged ? "available" : "unavailable")
    if isPlugged { applyLimit(to: speaker) }
    if isPlugged, let level = speakers[speaker].owed { give(level, to: speaker) }
    if let session = speakers[speaker].session { follow(session) }
    reportPlaying()
  }

  private mutating func rename(_ speaker: Int, _ name: String) -> String? {
    guard speakers[speaker].isAvailable else { return "speaker.unavailable" }
    guard speakers[speaker].name != name else { return nil }
    guard !speakers.contains(where: { $0.name == name }) else { return "speaker.range" }
    silence(speaker)
    ask(.name(speaker, name))
    return nil
  }

  private mutating func regroup(_ speaker: Int, _ name: String) -> String? {
    guard speakers[speaker].isAvailable else { return "speaker.unavailable" }
    guard groupName(of: speaker) != name else { return nil }
    silence(speaker)
    ask(.group(speaker, name))
    return nil
  }

  /// Stops the session of a speaker that gets another name or group, where it plays.
  private mutating func silence(_ speaker: Int) {
    guard let session = speakers[speaker].session, runs(session) else { return }
    report("error speaker.renamed_while_playing \(speakers[speaker].label) \(players[session].name)")
    stop(session, "failed")
  }

  // MARK: Levels

  mutating func ask(_ level: Level, of target: WalkStep.Target) -> String? {
    let wanted: [Int]
    switch (target, level) {
    case (.house, .muted): return ask(level, of: .session(0))
    case (.house, _): wanted = speakers.indices.filter { (speakers[$0].session ?? 0) == 0 }
    case (.session(let session), _):
      guard players[session].isOpen else { return "speaker.closed" }
      wanted = speakers.indices.filter {
        speakers[$0].session == session || players[session].wanted.contains($0)
      }
      if wanted.isEmpty { return "speaker.no_active_device" }
    case (.speaker(let speaker), _):
      guard speakers[speaker].isAvailable else { return "speaker.unavailable" }
      wanted = [speaker]
    }
    switch level {
    case .volume(let volume) where !(0...50).contains(volume): return "speaker.range"
    case .balance(let balance) where !(-6...6).contains(balance): return "speaker.range"
    default: break
    }
    let reached = wanted.filter { speakers[$0].isAvailable }
    guard !reached.isEmpty else { return nil }
    switch level {
    case .volume, .limited, .muted:
      for index in reached {
        speakers[index].touches += 1
        speakers[index].isLevelOfInterruption = false
      }
    case .role, .balance: break
    }
    askLevels(reached.map { ($0, level) })
    return nil
  }

  private mutating func setGain(_ gain: Double, of session: Int) -> String? {
    guard players[session].isOpen else { return "speaker.closed" }
    guard (-90...12).contains(gain) else { return "speaker.range" }
    send(.gain(session))
    return nil
  }

  // MARK: Playing

  mutating func play(_ session: Int, _ play: WalkStep.Play) -> String? {
    guard players[session].isOpen else { return "speaker.closed" }
    if play.first < 0 { return "speaker.range" }
    let asked = play.rooms ?? players[session].wanted
    let priority = play.priority ?? players[session].priority
    var missing = asked.filter { !has($0, session) }
    var taken = missing.filter { mayHave($0, sounds: true, priority: priority) }
    let present = (play.rooms ?? speakers.indices.map { $0 }).filter {
      speakers[$0].session == session && speakers[$0].isAvailable
    }
    if !isSuspended(session), present.isEmpty, !taken.contains(where: { speakers[$0].isAvailable }) {
      // Without any other, it asks for those that interruptions have.
      let lent = speakers.indices.filter {
        speakers[$0].session != session && has($0, session) && play.rooms?.contains($0) ?? true
      }
      missing += lent
      taken += lent.filter { mayHave($0, sounds: true, priority: priority) }
    }
    // Rooms that it names replace those that it has; one that an interruption has counts while it is suspended.
    let keepsSome =
      play.rooms.map { rooms in
        rooms.contains { room in
          has(room, session)
            && (isSuspended(session) || speakers[room].session == session && speakers[room].isAvailable)
        }
      } ?? (canBeHeard(session) || isSuspended(session))
    guard keepsSome || taken.contains(where: { speakers[$0].isAvailable })
    else { return missing.count > taken.count ? "speaker.outranked" : "speaker.no_active_device" }
    let length = WalkStep.lengths[play.title] ?? 0
    guard (0...length).contains(play.first) else { return "speaker.range" }
    for speaker in taken { move(speaker, to: session) }
    if let rooms = play.rooms {
      for speaker in speakers.indices where has(speaker, session) && !rooms.contains(speaker) {
        remove(speaker, from: session)
      }
      players[session].wanted = rooms
    }
    resumeSuspended(session)
    checkSeconds(session)
    if let old = players[session].title { report("ended \(old) replaced \(players[session].name)") }
    players[session].title = play.title
    players[session].length = length
    players[session].loops = play.loops
    players[session].state = "playing"
    begin(session, at: play.first)
    reportState(session)
    reportPlaying()
    if let priority = play.priority { players[session].priority = priority }
    return nil
  }

  private mutating func seek(_ session: Int, to frame: Int) -> String? {
    guard players[session].title != nil else { return "speaker.no_seek" }
    guard (0...players[session].length).contains(frame) else { return "speaker.range" }
    checkSeconds(session)
    begin(session, at: frame)
    return nil
  }

  /// Restarts the session's source at a frame.
  private mutating func begin(_ session: Int, at first: Int) {
    let one = players[session]
    cueCount += 1
    players[session].cue = cueCount
    players[session].first = first
    players[session].second = first / DeckModel.sampleRate
    flush()
    let source = DeckModel.Source(cue: cueCount, first: first, length: one.loops ? nil : one.length)
    send(.start(session, source, stands: !runs(session)))
    players[session].runningSince = nil
    follow(session)
  }

  mutating func pause(_ session: Int) {
    guard players[session].state == "playing" else { return }
    checkSeconds(session)
    players[session].state = "paused"
    if !isSuspended(session) { send(.pause(session)) }
    changed(session)
  }

  mutating func resume(_ session: Int) -> String? {
    guard players[session].state == "paused" else { return "speaker.not_paused" }
    players[session].state = "playing"
    if !isSuspended(session) { send(.resume(session)) }
    changed(session)
    return nil
  }

  private mutating func changed(_ session: Int) {
    reportState(session)
    reportPlaying()
    follow(session)
  }
}
