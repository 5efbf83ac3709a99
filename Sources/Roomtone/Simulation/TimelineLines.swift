internal import EventLoop
internal import Scheduling

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

  private struct VolumeMove: Equatable {
    let from: Int
    var to: Int
    var last: Instant
  }

  private enum Content: Equatable {
    case text(String)
    case printed(String)
    /// Nil as `over` while the volume may move on.
    case volume(VolumeMove, over: Instant?)
    case runs(of: String, count: Int, last: LocalDateTime)
  }

  private struct Line {
    let time: LocalDateTime
    let offset: Int
    let moment: Instant
    var subject: Subject
    var content: Content

    var isPrinted: Bool { if case .printed = content { true } else { false } }
  }

  /// Seconds without a change after which the next change of a volume is another line.
  private static let restsAtMost = Duration.seconds(3)
  /// Lines that may wait; what is more than that is published as it is.
  private static let most = 10_000

  private var lines: [Line] = []
  /// Lines so far, those among them that were published.
  private(set) var count = 0

  /// Adds what happens to something that has a name; empty for what concerns no room.
  mutating func add(_ text: String, room: String, at time: (LocalDateTime, Int, Instant)) {
    append(.text(text), .named(room), time)
  }

  /// Adds what the script printed or wrote.
  mutating func addPrinted(_ text: String, at time: (LocalDateTime, Int, Instant)) {
    append(.printed(text), .named(""), time)
  }

  /// Adds what happens to a speaker of a room.
  mutating func add(_ text: String, speaker: String, of room: Room, at time: (LocalDateTime, Int, Instant)) {
    for index in lines.indices.reversed() {
      guard lines[index].moment == time.2 else { break }
      guard lines[index].content == .text(text), case .speakers(let names, room) = lines[index].subject
      else { continue }
      if !names.contains(speaker) { lines[index].subject = .speakers(names + [speaker], of: room) }
      return
    }
    append(.text(text), .speakers([speaker], of: room), time)
  }

  /// Adds a change of a speaker's volume, to its move in the same direction if that is not over.
  mutating func addVolume(
    from: Int, to: Int, speaker: String, of room: Room, at time: (LocalDateTime, Int, Instant)
  ) {
    endMoves(before: time.2)
    let own = lines.indices.last { index in
      guard case .volume(_, over: nil) = lines[index].content else { return false }
      return lines[index].subject == .speakers([speaker], of: room)
    }
    if let own, case .volume(var move, _) = lines[own].content {
      if (to - move.to).signum() == (move.to - move.from).signum() {
        (move.to, move.last) = (to, time.2)
        lines[own].content = .volume(move, over: nil)
        return
      }
      lines[own].content = .volume(move, over: time.2)
    }
    append(
      .volume(VolumeMove(from: from, to: to, last: time.2), over: nil), .speakers([speaker], of: room), time)
  }

  /// Adds a run of a job that began then, when nothing has happened since.
  mutating func addRun(of job: String, at time: (LocalDateTime, Int, Instant)) {
    if let last = lines.last, case .runs(job, let count, _) = last.content {
      lines[lines.count - 1].content = .runs(of: job, count: count + 1, last: time.0)
      return
    }
    append(.runs(of: job, count: 1, last: time.0), .named(""), time)
  }

  private mutating func append(
    _ content: Content, _ subject: Subject, _ time: (LocalDateTime, Int, Instant)
  ) {
    count += 1
    lines.append(
      Line(time: time.0, offset: time.1, moment: time.2, subject: subject, content: content))
  }

  private mutating func endMoves(before now: Instant) {
    for index in lines.indices {
      guard case .volume(let move, over: nil) = lines[index].content,
        move.last.duration(to: now) > Self.restsAtMost
      else { continue }
      lines[index].content = .volume(move, over: move.last)
    }
  }

  /// Removes and returns the lines that are complete, up to the first that is not.
  /// - Parameter now: nil at the end, when all are.
  mutating func removeComplete(at now: Instant?) -> [Timeline.Entry] {
    if let now { endMoves(before: now) }
    var entries: [Timeline.Entry] = []
    var index = 0
    while index < lines.count {
      let isForced = now == nil || lines.count - index > Self.most
      guard isForced || isComplete(index, at: now ?? .start) else { break }
      mergeMoves(into: index)
      let line = lines[index]
      entries.append(
        .init(
          time: line.time, offset: line.offset, isPrinted: line.isPrinted, room: line.subject.name,
          text: text(of: line)))
      index += 1
    }
    lines.removeFirst(index)
    return entries
  }

  private func isComplete(_ index: Int, at now: Instant) -> Bool {
    let line = lines[index]
    switch (line.content, line.subject) {
    case (.text, .named), (.printed, _): return true
    case (.text, .speakers): return line.moment < now
    case (.volume(_, let over), _): return over.map { $0 < now } ?? false
    case (.runs, _): return index < lines.count - 1
    }
  }

  /// Puts the speakers of the room whose volumes made the same move into one line.
  private mutating func mergeMoves(into index: Int) {
    guard case .volume(let move, _) = lines[index].content,
      case .speakers(var names, let room) = lines[index].subject
    else { return }
    var others = lines.indices.dropFirst(index + 1).filter { other in
      guard case .volume(move, _) = lines[other].content,
        case .speakers(_, room) = lines[other].subject
      else { return false }
      return lines[other].moment == lines[index].moment
    }
    for other in others {
      if case .speakers(let more, _) = lines[other].subject { names += more }
    }
    lines[index].subject = .speakers(names, of: room)
    while let other = others.popLast() { lines.remove(at: other) }
  }

  private func text(of line: Line) -> String {
    switch line.content {
    case .text(let text), .printed(let text): return text
    case .volume(let move, _):
      // Tenths of a second, rounded: levels take some milliseconds to take effect.
      let tenths = (line.moment.duration(to: move.last).nanoseconds + 50_000_000) / 100_000_000
      return "volume \(move.from) → \(move.to)" + (tenths < 10 ? "" : " over \(tenths / 10).\(tenths % 10) s")
    case .runs(let job, 1, _): return "job \"\(job)\" runs"
    case .runs(let job, let count, let last): return "job \"\(job)\" runs \(count) times, the last at \(last)"
    }
  }
}
