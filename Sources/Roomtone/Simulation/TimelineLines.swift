internal import EventLoop
internal import Home
internal import JSONText
internal import SpeakerKit

/// The lines of a time line that have not been published, in order of the moments at which they began.
///
/// A line that concerns speakers waits for the end of its moment, as the other speakers of the room may do
/// the same: then they are one line, under the room's name. A fade waits for its end, a small step of a
/// volume for the steps that continue it, a job that runs repeatedly for the next other event. Knows no house
/// and no clock.
struct TimelineLines {
  /// A group, or a speaker without a group, at an event of one of its speakers.
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

  private enum Move {
    /// Something happened at one moment.
    case none
    /// A move of the volume of a speaker, by its id.
    case volume(VolumeMove, of: String)
    /// The gain of a session moves until its entry comes again.
    case gain
  }

  private struct Line {
    var entry: JournalEntry
    let instant: Instant
    var subject: Subject
    var move = Move.none
  }

  /// The most lines that wait; above that, lines are published as they are.
  private static let most = 10_000

  private var lines: [Line] = []
  /// Moves of volumes that are not over.
  private var openMoves = 0

  /// Adds an entry with a name; `room` is empty for an entry that concerns no room.
  mutating func add(_ entry: JournalEntry, room: String, at now: Instant) {
    if entry.kind == .unrecorded { removeCause(entry, at: now) }
    lines.append(Line(entry: entry, instant: now, subject: .named(room)))
  }

  /// Removes the failure of a station for which a recording fails at the same moment: the recording's line says it all.
  private mutating func removeCause(_ failure: JournalEntry, at now: Instant) {
    let cause = lines.lastIndex { line in
      line.instant == now && line.subject == .named("") && line.entry.kind == .error
        && line.entry.detail == failure.fact("message")?.text
        && line.entry.fact("code")?.text == failure.fact("code")?.text
    }
    if let cause { lines.remove(at: cause) }
  }

  /// Adds an entry about a speaker of a room.
  mutating func add(_ entry: JournalEntry, speaker: String, of room: Room, at now: Instant) {
    for index in lines.indices.reversed() {
      guard lines[index].instant == now else { break }
      guard case .none = lines[index].move, lines[index].entry.says(entry),
        lines[index].entry.job == entry.job, case .speakers(let names, room) = lines[index].subject
      else { continue }
      if !names.contains(speaker) { lines[index].subject = .speakers(names + [speaker], of: room) }
      return
    }
    lines.append(Line(entry: entry, instant: now, subject: .speakers([speaker], of: room)))
  }

  /// Removes the lines of a moment in which these speakers leave or join playing sessions.
  mutating func removeMoves(of speakers: [String], at now: Instant) {
    for index in lines.indices.reversed() {
      guard lines[index].instant == now else { break }
      guard case .speakers(let names, let room) = lines[index].subject,
        [.leave, .join].contains(lines[index].entry.kind)
      else { continue }
      let rest = names.filter { !speakers.contains($0) }
      if rest.isEmpty { lines.remove(at: index) } else { lines[index].subject = .speakers(rest, of: room) }
    }
  }

  // MARK: Volumes and gains

  /// Adds a volume that a command sets, to the small steps before it if it continues them.
  /// - Parameter entry: the entry of the line, without its levels.
  mutating func addVolume(
    from: Int, to: Int, of id: String, called speaker: String, in room: Room, _ entry: JournalEntry,
    at now: Instant
  ) {
    endMoves(at: now)
    if let (index, move) = openMove(of: id) {
      var move = move
      let isContinued = lines[index].entry.job == entry.job && move.add(to, at: now)
      if !isContinued { move.end(at: now) }
      replace(index, by: move, of: id)
      if isContinued { return }
    }
    let move = VolumeMove(from: from, to: to, at: now)
    if !move.isOver { openMoves += 1 }
    lines.append(
      Line(
        entry: entry, instant: now, subject: .speakers([speaker], of: room), move: .volume(move, of: id)))
  }

  /// Adds the beginning of a fade of a speaker, which is one line from its beginning to its end.
  /// - Parameter entry: the entry of the line, without its levels.
  mutating func addFade(
    _ fade: LevelFade, from: Int, of id: String, called speaker: String, in room: Room,
    _ entry: JournalEntry, at now: Instant
  ) {
    endMove(of: id, at: now)
    openMoves += 1
    lines.append(
      Line(
        entry: entry, instant: now, subject: .speakers([speaker], of: room),
        move: .volume(VolumeMove(from: from, fade, at: now), of: id)))
  }

  /// Adds a step to the fade of a speaker.
  /// - Returns: `false` if no fade is in progress.
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
    lines[index].move = .volume(move, of: id)
    if move.isOver { openMoves -= 1 }
  }

  private func openMove(of id: String) -> (index: Int, move: VolumeMove)? {
    guard openMoves > 0 else { return nil }
    for index in lines.indices.reversed() {
      if case .volume(let move, id) = lines[index].move { return move.isOver ? nil : (index, move) }
    }
    return nil
  }

  /// Adds a change of the gain of a session, which is one line from its beginning to the end that its entry has when it
  /// comes again.
  /// - Parameter isNew: `false` for an end, which is dropped when its line has been printed already.
  mutating func addGain(_ entry: JournalEntry, room: String, at now: Instant, isNew: Bool) {
    if let index = lines.lastIndex(where: { $0.entry.number == entry.number && $0.entry.kind == .gain }) {
      (lines[index].entry.to, lines[index].entry.facts) = (entry.to, entry.facts)
      lines[index].move = .none
    } else if isNew {
      let isMoving = entry.fact("over")?.line != JSON.decimal(0).line
      lines.append(Line(entry: entry, instant: now, subject: .named(room), move: isMoving ? .gain : .none))
    }
  }

  /// Adds a run of a job, or a round of a looped queue, to the line of the one before when nothing has happened since.
  mutating func addRepetition(_ entry: JournalEntry, room: String, at now: Instant) {
    guard let last = lines.last, last.entry.says(entry), last.entry.name == entry.name,
      last.subject == .named(room)
    else {
      return lines.append(Line(entry: entry, instant: now, subject: .named(room)))
    }
    lines[lines.count - 1].entry.count += 1
    lines[lines.count - 1].entry.until = entry.at
  }

  /// Ends the moves that nothing continues in time, or `all`.
  private mutating func endMoves(at now: Instant, all: Bool = false) {
    guard openMoves > 0 else { return }
    for index in lines.indices {
      guard case .volume(var move, let id) = lines[index].move, !move.isOver, all || move.isAtRest(at: now)
      else { continue }
      move.end(at: now)
      replace(index, by: move, of: id)
    }
  }

  /// Ends all moves, at the levels that they have reached.
  mutating func endAllMoves(at now: Instant) { endMoves(at: now, all: true) }

  /// Removes and returns the lines that are complete, up to the first that is not.
  /// - Parameter now: nil at the end, when all are.
  mutating func removeComplete(at now: Instant?) -> [JournalEntry] {
    if let now { endMoves(at: now) }
    var entries: [JournalEntry] = []
    var index = 0
    while index < lines.count {
      let isForced = now == nil || lines.count - index > Self.most
      guard isForced || isComplete(index, at: now ?? .start) else { break }
      mergeMoves(into: index)
      let line = lines[index]
      if case .volume(let move, _) = line.move, !move.isOver { openMoves -= 1 }
      if let entry = Self.entry(of: line) { entries.append(entry) }
      index += 1
    }
    lines.removeFirst(index)
    return entries
  }

  private func isComplete(_ index: Int, at now: Instant) -> Bool {
    let line = lines[index]
    switch (line.move, line.subject) {
    // Other speakers of the room may complete the same move at the same moment.
    case (.volume(let move, _), _): return move.ended.map { $0 < now } ?? false
    case (.gain, _): return false
    case (.none, .speakers): return line.instant < now
    case (.none, .named(let room)):
      switch line.entry.kind {
      case .run, .round: return index < lines.count - 1
      // A recording may fail because of this error.
      case .error where room.isEmpty: return line.instant < now
      default: return true
      }
    }
  }

  /// Puts the speakers of the room whose volumes made the same move into one line.
  private mutating func mergeMoves(into index: Int) {
    guard case .volume(let move, _) = lines[index].move,
      case .speakers(var names, let room) = lines[index].subject
    else { return }
    var others = lines.indices.dropFirst(index + 1).filter { other in
      guard lines[other].entry.job == lines[index].entry.job, case .speakers(_, room) = lines[other].subject,
        case .volume(move, _) = lines[other].move
      else { return false }
      return true
    }
    for other in others {
      if case .speakers(let more, _) = lines[other].subject { names += more.filter { !names.contains($0) } }
    }
    lines[index].subject = .speakers(names, of: room)
    while let other = others.popLast() {
      if case .volume(let own, _) = lines[other].move, !own.isOver { openMoves -= 1 }
      lines.remove(at: other)
    }
  }

  /// Returns the entry of a line; nil for a fade that has changed nothing.
  private static func entry(of line: Line) -> JournalEntry? {
    var entry = line.entry
    entry.room = line.subject.name
    switch line.move {
    case .volume(let move, _):
      guard move.from != move.to else { return nil }
      (entry.from, entry.to) = (.number(move.from), .number(move.to))
      entry.facts = [.init("over", .decimal(move.duration.inSeconds))]
      if move.steps > 1 { entry.facts.append(.init("steps", .number(move.steps))) }
    case .gain, .none: if entry.kind == .gain, entry.from == entry.to { return nil }
    }
    return entry
  }
}
