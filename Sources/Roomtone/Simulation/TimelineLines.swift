internal import EventLoop
internal import Home

/// A moment of a simulation: by the clocks of the house, and on the loop.
struct TimelineMoment {
  let time: TimelineTime
  let instant: Instant
}

/// The lines of a time line that have not been published, in order of the moments at which they began.
///
/// A line that concerns speakers waits for the end of its moment, as the other speakers of the room may do the same:
/// they are one line then, under the room's name. A move of a volume waits until it is over, a job that runs again
/// and again until something else happens. Knows no house and no clock.
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
    case volume(VolumeMove)
    case runs(count: Int, last: TimelineTime)
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
  /// Moves that are not over.
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

  /// Adds a change of a speaker's volume, to its move in the same direction if that is not over.
  mutating func addVolume(
    from: Int, to: Int, speaker: String, of room: Room, job: String?, at moment: TimelineMoment,
    by cause: Cause? = nil
  ) {
    endMoves(before: moment.instant)
    let own = lines.indices.last { index in
      guard case .volume(let move) = lines[index].content, !move.isOver else { return false }
      return lines[index].subject == .speakers([speaker], of: room)
    }
    if let own, case .volume(var move) = lines[own].content {
      let isContinued = lines[own].job == job && move.add(to, at: moment.instant)
      if !isContinued {
        move.end()
        openMoves -= 1
      }
      lines[own].content = .volume(move)
      if isContinued { return }
    }
    openMoves += 1
    lines.append(
      Line(
        moment: moment, job: job, cause: cause, subject: .speakers([speaker], of: room),
        content: .volume(VolumeMove(from: from, to: to, at: moment.instant))))
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

  private mutating func endMoves(before now: Instant) {
    guard openMoves > 0 else { return }
    for index in lines.indices {
      guard case .volume(var move) = lines[index].content, !move.isOver, move.isAtRest(at: now) else {
        continue
      }
      move.end()
      openMoves -= 1
      lines[index].content = .volume(move)
    }
  }

  /// Removes and returns the lines that are complete, up to the first that is not.
  /// - Parameter now: nil at the end, when all are.
  mutating func removeComplete(at now: Instant?) -> [TimelineEntry] {
    if let now { endMoves(before: now) }
    var entries: [TimelineEntry] = []
    var index = 0
    while index < lines.count {
      let isForced = now == nil || lines.count - index > Self.most
      guard isForced || isComplete(index, at: now ?? .start) else { break }
      mergeMoves(into: index)
      let line = lines[index]
      if case .volume(let move) = line.content, !move.isOver { openMoves -= 1 }
      entries.append(
        TimelineEntry(
          time: line.moment.time, room: line.subject.name, job: line.job, event: Self.event(line.content),
          cause: line.cause))
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
    case (.event, .named): return true
    case (.event, .speakers): return line.moment.instant < now
    case (.volume(let move), _): return move.isOver && move.last < now && !mayMerge(index, move)
    case (.runs, _): return index < lines.count - 1
    }
  }

  /// True if another speaker of the room has made the same move so far, and may be through with it too.
  private func mayMerge(_ index: Int, _ move: VolumeMove) -> Bool {
    openMoves > 0
      && lines.indices.dropFirst(index + 1).contains { other in
        guard case .volume(let own) = lines[other].content, !own.isOver else { return false }
        return own.isAbreast(of: move)
      }
  }

  /// Puts the speakers of the room whose volumes made the same move into one line.
  private mutating func mergeMoves(into index: Int) {
    guard case .volume(let move) = lines[index].content,
      case .speakers(var names, let room) = lines[index].subject
    else { return }
    var others = lines.indices.dropFirst(index + 1).filter { other in
      guard lines[other].job == lines[index].job, case .speakers(_, room) = lines[other].subject,
        case .volume(move) = lines[other].content
      else { return false }
      return true
    }
    for other in others {
      if case .speakers(let more, _) = lines[other].subject { names += more }
    }
    lines[index].subject = .speakers(names, of: room)
    while let other = others.popLast() {
      if !move.isOver { openMoves -= 1 }
      lines.remove(at: other)
    }
  }

  private static func event(_ content: Content) -> TimelineEvent {
    switch content {
    case .event(let event): event
    case .volume(let move): .volume(from: move.from, to: move.to, over: move.duration)
    case .runs(let count, let last): .run(count: count, until: last)
    }
  }
}

/// A volume that moves in one direction, in steps that belong together: those within three seconds, and small ones at
/// a pace, as a fade makes them.
struct VolumeMove: Equatable {
  /// The time without a step after which the next one is another move.
  private static let pause = Duration.seconds(3)
  /// The same for small steps, until the pace is known.
  private static let longestGap = Duration.seconds(600)
  /// The seconds by which the levels of speakers that move together may differ.
  private static let tolerance = 0.25
  /// The largest step of a fade.
  private static let largestStep = 2

  let from: Int
  private(set) var to: Int
  private(set) var last: Instant
  private(set) var isOver = false
  private let start: Instant
  private var step: Int
  /// The time between the last two steps, the shortest and the longest such time.
  private var gaps: (last: Duration, least: Duration, most: Duration)?
  private var steps = 1

  init(from: Int, to: Int, at start: Instant) {
    (self.from, self.to, self.start, last, step) = (from, to, start, start, to - from)
  }

  static func == (one: VolumeMove, other: VolumeMove) -> Bool {
    one.isAbreast(of: other) && one.isOver == other.isOver
  }

  /// True if both have made the same move so far, at about the same time: speakers of a room may get their levels one
  /// after the other.
  func isAbreast(of other: VolumeMove) -> Bool {
    func isNear(_ one: Instant, _ other: Instant) -> Bool {
      abs(one.duration(to: other).inSeconds) < Self.tolerance
    }
    return from == other.from && to == other.to && isNear(start, other.start) && isNear(last, other.last)
  }

  /// True if no step that belongs to it can follow.
  func isAtRest(at now: Instant) -> Bool { last.duration(to: now) > longestGap(before: Self.largestStep) }

  /// Returns the time within which a step of that size continues the move.
  private func longestGap(before next: Int) -> Duration {
    guard abs(next) <= Self.largestStep, abs(step) <= Self.largestStep else { return Self.pause }
    return max(Self.pause, gaps.map { min($0.last * 4, Self.longestGap) } ?? Self.longestGap)
  }

  /// Adds a step, unless it is another move.
  mutating func add(_ volume: Int, at now: Instant) -> Bool {
    let (next, gap) = (volume - to, last.duration(to: now))
    guard next.signum() == step.signum(), gap <= longestGap(before: next) else { return false }
    gaps = (gap, min(gaps?.least ?? gap, gap), max(gaps?.most ?? gap, gap))
    (to, last, step, steps) = (volume, now, next, steps + 1)
    return true
  }

  mutating func end() { isOver = true }

  /// The time that it took, rounded to tenths of a second, as levels take some milliseconds to take effect. That of even
  /// steps includes the time before the first one.
  var duration: Duration {
    let span = start.duration(to: last)
    var time = span.inSeconds
    if steps > 2, let gaps, gaps.most.inSeconds <= gaps.least.inSeconds * 1.5 + 0.1 {
      time *= Double(steps) / Double(steps - 1)
    }
    let tenths = (time * 10).rounded()
    return tenths < 10 ? .zero : .milliseconds(Int(tenths) * 100)
  }
}
