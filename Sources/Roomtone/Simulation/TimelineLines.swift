internal import EventLoop
internal import Home
internal import SpeakerKit

/// A moment of a simulation: by the clocks of the house, and on the loop.
struct TimelineMoment {
  let time: TimelineTime
  let instant: Instant
}

/// The lines of a time line that have not been published, in order of the moments at which they began.
///
/// A line that concerns speakers waits for the end of its moment, as the other speakers of the room may do the same:
/// they are one line then, under the room's name. A fade waits for its end, a small step of a volume for the steps that
/// continue it, a job that runs again and again until something else happens. Knows no house and no clock.
struct TimelineLines {
  /// A group, or a speaker in none, when something happened to one of its speakers.
  struct Room: Equatable {
    let name: String
    /// Number of its speakers.
    let size: Int
  }

  private enum Subject: Equatable {
    case named(String)
    case speakers([String], of: Room)

    var name: String {
      switch self {
      case .named(let name): name
      case .speakers(let names, let room):
        names.count == room.size ? room.name : names.joined(separator: ", ")
      }
    }
  }

  private enum Content: Equatable {
    case event(TimelineEvent)
    /// A move of the volume of a speaker, by its id.
    case volume(VolumeMove, of: String)
    /// A move of the gain of a session.
    case gain(GainMove, of: SessionID)
    case runs(count: Int, last: TimelineTime)
    /// Rounds of the looped queue of a session, each of which begins with the file.
    case rounds(title: String, of: SessionID, count: Int, last: TimelineTime)
  }

  private struct Line {
    let moment: TimelineMoment
    let job: String?
    let cause: Cause?
    var subject: Subject
    var content: Content
  }

  /// Lines that may wait; what is more than that is published as it is.
  private static let most = 10_000

  private var lines: [Line] = []
  /// Moves of volumes that are not over.
  private var openMoves = 0

  /// Adds what happens to something that has a name; empty for what concerns no room.
  mutating func add(
    _ event: TimelineEvent, room: String, job: String?, at moment: TimelineMoment, by cause: Cause? = nil
  ) {
    if case .recording(.failure(let message, let code), _) = event {
      removeCause(.error(message: message, code: code), at: moment)
    }
    lines.append(Line(moment: moment, job: job, cause: cause, subject: .named(room), content: .event(event)))
  }

  /// Removes the failure of a station for which a recording fails at the same moment: the recording's line says it all.
  private mutating func removeCause(_ error: TimelineEvent, at moment: TimelineMoment) {
    let cause = lines.lastIndex { line in
      line.moment.instant == moment.instant && line.subject == .named("") && line.content == .event(error)
    }
    if let cause { lines.remove(at: cause) }
  }

  /// Adds what happens to a speaker of a room.
  mutating func add(
    _ event: TimelineEvent, speaker: String, of room: Room, job: String?, at moment: TimelineMoment,
    by cause: Cause? = nil
  ) {
    for index in lines.indices.reversed() {
      guard lines[index].moment.instant == moment.instant else { break }
      guard lines[index].content == .event(event), lines[index].job == job,
        case .speakers(let names, room) = lines[index].subject
      else { continue }
      if !names.contains(speaker) { lines[index].subject = .speakers(names + [speaker], of: room) }
      return
    }
    lines.append(
      Line(
        moment: moment, job: job, cause: cause, subject: .speakers([speaker], of: room),
        content: .event(event)))
  }

  /// Removes the lines of a moment in which these speakers leave what plays or join it.
  mutating func removeMoves(of speakers: [String], at now: Instant) {
    for index in lines.indices.reversed() {
      guard lines[index].moment.instant == now else { break }
      guard case .speakers(let names, let room) = lines[index].subject else { continue }
      switch lines[index].content {
      case .event(.leave), .event(.join):
        let rest = names.filter { !speakers.contains($0) }
        if rest.isEmpty { lines.remove(at: index) } else { lines[index].subject = .speakers(rest, of: room) }
      case .event, .volume, .gain, .runs, .rounds: break
      }
    }
  }

  // MARK: Volumes and gains

  /// Adds a volume that a command sets, to the small steps before it if it continues them.
  mutating func addVolume(
    from: Int, to: Int, of id: String, called speaker: String, in room: Room, job: String?,
    at moment: TimelineMoment, by cause: Cause? = nil
  ) {
    endMoves(at: moment.instant)
    if let (index, move) = openMove(of: id) {
      var move = move
      let isContinued = lines[index].job == job && move.add(to, at: moment.instant)
      if !isContinued { move.end(at: moment.instant) }
      replace(index, by: move, of: id)
      if isContinued { return }
    }
    let move = VolumeMove(from: from, to: to, at: moment.instant)
    if !move.isOver { openMoves += 1 }
    lines.append(
      Line(
        moment: moment, job: job, cause: cause, subject: .speakers([speaker], of: room),
        content: .volume(move, of: id)))
  }

  /// Adds the beginning of a fade of a speaker, which is one line from its beginning to its end.
  mutating func addFade(
    _ fade: LevelFade, from: Int, of id: String, called speaker: String, in room: Room, job: String?,
    at moment: TimelineMoment, by cause: Cause? = nil
  ) {
    endMove(of: id, at: moment.instant)
    openMoves += 1
    lines.append(
      Line(
        moment: moment, job: job, cause: cause, subject: .speakers([speaker], of: room),
        content: .volume(VolumeMove(from: from, fade, at: moment.instant), of: id)))
  }

  /// Adds a step to the fade of a speaker.
  /// - Returns: `false` if none is in progress.
  mutating func addStep(to volume: Int, of id: String, at now: Instant) -> Bool {
    guard let (index, move) = openMove(of: id), move.isFade else { return false }
    var moved = move
    moved.step(to: volume, at: now)
    replace(index, by: moved, of: id)
    return true
  }

  /// Ends the move of a speaker's volume, if there is one.
  mutating func endMove(of id: String, at now: Instant) {
    guard case (let index, var move)? = openMove(of: id) else { return }
    move.end(at: now)
    replace(index, by: move, of: id)
  }

  /// Ends the fade of a speaker, if one is in progress.
  mutating func endFade(of id: String, at now: Instant) {
    if let (_, move) = openMove(of: id), move.isFade { endMove(of: id, at: now) }
  }

  /// Replaces an open move.
  private mutating func replace(_ index: Int, by move: VolumeMove, of id: String) {
    lines[index].content = .volume(move, of: id)
    if move.isOver { openMoves -= 1 }
  }

  private func openMove(of id: String) -> (index: Int, move: VolumeMove)? {
    guard openMoves > 0 else { return nil }
    for index in lines.indices.reversed() {
      if case .volume(let move, id) = lines[index].content { return move.isOver ? nil : (index, move) }
    }
    return nil
  }

  /// Adds a change of the gain of a session, which is one line from its beginning to its end.
  mutating func addGain(
    from: Double, to: Double, over: Duration, of session: SessionID, room: String, job: String?,
    at moment: TimelineMoment, by cause: Cause? = nil
  ) {
    lines.append(
      Line(
        moment: moment, job: job, cause: cause, subject: .named(room),
        content: .gain(GainMove(from: from, to: to, over: over), of: session)))
  }

  /// Ends the fade of a session's gain at the gain that it has reached, after that time.
  mutating func endGain(of session: SessionID, at gain: Double, after time: Duration) {
    for index in lines.indices.reversed() {
      guard case .gain(var move, session) = lines[index].content else { continue }
      move.end(at: gain, after: time)
      lines[index].content = .gain(move, of: session)
      return
    }
  }

  /// Adds a run of a job, to the line of the run before when nothing has happened since.
  mutating func addRun(of job: String, at moment: TimelineMoment, by cause: Cause? = nil) {
    if let last = lines.last, last.job == job, case .runs(let count, _) = last.content {
      lines[lines.count - 1].content = .runs(count: count + 1, last: moment.time)
      return
    }
    lines.append(
      Line(
        moment: moment, job: job, cause: cause, subject: .named(""),
        content: .runs(count: 1, last: moment.time)))
  }

  /// Adds a round of a looped queue, to the line of the round before when nothing has happened since.
  mutating func addRound(of session: SessionID, title: String, room: String, at moment: TimelineMoment) {
    var count = 0
    if let last = lines.last, last.subject == .named(room),
      case .rounds(title, session, let before, _) = last.content
    {
      count = before
    } else {
      lines.append(
        Line(
          moment: moment, job: nil, cause: nil, subject: .named(room),
          content: .rounds(title: title, of: session, count: 0, last: moment.time)))
    }
    lines[lines.count - 1].content = .rounds(
      title: title, of: session, count: count + 1, last: moment.time)
  }

  /// Ends the moves that nothing continues in time, or `all`.
  private mutating func endMoves(at now: Instant, all: Bool = false) {
    guard openMoves > 0 else { return }
    for index in lines.indices {
      guard case .volume(var move, let id) = lines[index].content, !move.isOver, all || move.isAtRest(at: now)
      else { continue }
      move.end(at: now)
      replace(index, by: move, of: id)
    }
  }

  /// Ends all moves, at the levels that they have reached.
  mutating func endAllMoves(at now: Instant) { endMoves(at: now, all: true) }

  /// Removes and returns the lines that are complete, up to the first that is not.
  /// - Parameter now: nil at the end, when all are.
  mutating func removeComplete(at now: Instant?) -> [TimelineEntry] {
    if let now { endMoves(at: now) }
    var entries: [TimelineEntry] = []
    var index = 0
    while index < lines.count {
      let isForced = now == nil || lines.count - index > Self.most
      guard isForced || isComplete(index, at: now ?? .start) else { break }
      mergeMoves(into: index)
      let line = lines[index]
      if case .volume(let move, _) = line.content, !move.isOver { openMoves -= 1 }
      if let event = Self.event(line.content) {
        entries.append(
          TimelineEntry(
            time: line.moment.time, room: line.subject.name, job: line.job, event: event, cause: line.cause))
      }
      index += 1
    }
    lines.removeFirst(index)
    return entries
  }

  private func isComplete(_ index: Int, at now: Instant) -> Bool {
    let line = lines[index]
    switch (line.content, line.subject) {
    // A recording may fail for it.
    case (.event(.error), .named("")): return line.moment.instant < now
    case (.rounds, _): return index < lines.count - 1
    case (.event, .named): return true
    case (.event, .speakers): return line.moment.instant < now
    // Other speakers of the room may be through with the same move at the same moment.
    case (.volume(let move, _), _): return move.ended.map { $0 < now } ?? false
    case (.gain(let move, _), _): return move.isOver
    case (.runs, _): return index < lines.count - 1
    }
  }

  /// Puts the speakers of the room whose volumes made the same move into one line.
  private mutating func mergeMoves(into index: Int) {
    guard case .volume(let move, _) = lines[index].content,
      case .speakers(var names, let room) = lines[index].subject
    else { return }
    var others = lines.indices.dropFirst(index + 1).filter { other in
      guard lines[other].job == lines[index].job, case .speakers(_, room) = lines[other].subject,
        case .volume(move, _) = lines[other].content
      else { return false }
      return true
    }
    for other in others {
      if case .speakers(let more, _) = lines[other].subject { names += more.filter { !names.contains($0) } }
    }
    lines[index].subject = .speakers(names, of: room)
    while let other = others.popLast() {
      if case .volume(let own, _) = lines[other].content, !own.isOver { openMoves -= 1 }
      lines.remove(at: other)
    }
  }

  /// Returns the event of a line; nil for a fade that has changed nothing.
  private static func event(_ content: Content) -> TimelineEvent? {
    switch content {
    case .event(let event): event
    case .volume(let move, _):
      move.from == move.to
        ? nil : .volume(from: move.from, to: move.to, over: move.duration, steps: move.steps)
    case .gain(let move, _): move.changesNothing ? nil : .gain(from: move.from, to: move.to, over: move.over)
    case .runs(let count, let last): .run(count: count, until: last)
    case .rounds(let title, _, let count, let last): .round(title: title, count: count, until: last)
    }
  }
}
