internal import EventLoop
internal import SpeakerKit

/// The routines from which the last commands to speakers and sessions came, by `LuaRoutine.origin`, as commands take
/// effect later.
struct TimelineOrigins {
  private var moves: [String: String] = [:]
  private var playing: [SessionID: String] = [:]
  private var sounds: [SessionID: String] = [:]
  private var players: [SessionID: CommandAuthor] = [:]

  /// Keeps the origin of a command.
  mutating func keep(_ command: HouseCommand, from author: CommandAuthor) {
    set(command, author.origin)
    if case .play(let session) = command { players[session.id] = author }
  }

  /// Forgets the origin of the command before, for one that no routine has given.
  mutating func forget(_ command: HouseCommand) { set(command, nil) }

  private mutating func set(_ command: HouseCommand, _ origin: String?) {
    switch command {
    case .move(let device): moves[device.id] = origin
    case .play(let session), .stop(let session): playing[session.id] = origin
    case .sound(let session): sounds[session.id] = origin
    case .level, .resume, .edit: break
    }
  }

  /// Returns the author of the last command to play on a session.
  func player(of session: Session) -> CommandAuthor? { players[session.id] }
  func job(moving device: Device) -> String? { Self.job(moves[device.id]) }
  func job(playing session: Session) -> String? { Self.job(playing[session.id]) }
  func job(changing session: Session) -> String? { Self.job(sounds[session.id]) }

  /// Returns the name of the job that an origin is; nil for any other.
  static func job(_ origin: String?) -> String? {
    guard let origin, origin.hasPrefix("job \""), origin.hasSuffix("\"") else { return nil }
    return String(origin.dropFirst(5).dropLast())
  }
}

/// A routine that commands speakers and sessions.
struct CommandAuthor: Hashable {
  /// `LuaRoutine.origin`.
  let origin: String
  /// The script of the routine; nil once it has ended.
  let script: ObjectIdentifier?

  /// `true` if two authors may not know of each other: two routines, unless one of them is that of a trigger in the
  /// script of the other.
  func isRival(of other: CommandAuthor) -> Bool {
    guard origin != other.origin else { return false }
    let isOwnTrigger = script != nil && script == other.script
    return !isOwnTrigger || ![origin, other.origin].contains { $0.hasPrefix("trigger \"") }
  }
}

/// The latest changes of each room by each routine, which show when two of them have the same room. Conflicts of two
/// routines at one moment are one warning, whatever they change in whichever rooms.
struct TimelineRivals {
  /// A change that one routine makes and another one may undo.
  enum Change {
    case volume, source
    /// The end of a source, which hinders nobody who plays afterwards.
    case end
  }

  private enum Relation {
    /// The changes are that far apart.
    case within(Duration)
    /// The first routine plays in the room, at a volume of its own.
    case playing
  }

  private struct Conflict {
    let first: String
    let second: String
    let relation: Relation
    var isOfVolume = false
    var isOfSource = false
    var rooms: [String] = []

    var event: TimelineEvent {
      let last = rooms.last ?? ""
      let places = rooms.count > 1 ? rooms.dropLast().joined(separator: ", ") + " and " + last : last
      let text: String
      switch relation {
      case .within(let distance):
        let changes =
          !isOfVolume
          ? "what plays in \(places)"
          : "the volume of \(places)" + (isOfSource ? " and what plays there" : "")
        let time = distance == .zero ? "at the same moment" : "within \(TimelineEvent.text(of: distance))"
        text = "\(first) and \(second) both change \(changes), \(time)"
      case .playing:
        text = "\(second) changes the volume of \(places), where \(first) plays: it stays so until that ends"
      }
      return .warning(text, jobs: [first, second].compactMap { TimelineOrigins.job($0) })
    }
  }

  /// The time within which two changes are too near each other.
  private static let limit = Duration.seconds(60)
  /// The time for which a warning about two routines is not repeated.
  private static let silence = Duration.seconds(3600)

  private struct Key: Hashable {
    let room: String
    let isVolume: Bool
  }

  private var last: [Key: [(author: CommandAuthor, time: Instant)]] = [:]
  private var warned: [Set<String>: Instant] = [:]
  private var conflicts: [Conflict] = []

  /// `true` if there are conflicts that `removeWarnings` returns.
  var hasWarnings: Bool { !conflicts.isEmpty }

  /// Adds a change, which is a conflict if another routine has changed the same less than a minute ago.
  mutating func add(_ change: Change, from author: CommandAuthor, in room: String, at now: Instant) {
    // A listener answers what another routine does.
    guard !author.origin.hasPrefix("on ") else { return }
    let key = Key(room: room, isVolume: change == .volume)
    var recent = (last[key] ?? []).filter { $0.time.duration(to: now) <= Self.limit }
    let rival = recent.last { $0.author.isRival(of: author) }
    recent.removeAll { $0.author == author }
    if change != .end { recent.append((author, now)) }
    last[key] = recent
    guard let rival else { return }
    note(rival.author, author, .within(rival.time.duration(to: now)), change, in: room, at: now)
  }

  /// Adds a change of the volume of a room in which another routine plays, at a volume of its own, over what else plays
  /// there.
  mutating func add(
    volumeFrom author: CommandAuthor, in room: String, of player: CommandAuthor, at now: Instant
  ) {
    guard !author.origin.hasPrefix("on "), player.isRival(of: author) else { return }
    note(player, author, .playing, .volume, in: room, at: now)
  }

  private mutating func note(
    _ first: CommandAuthor, _ second: CommandAuthor, _ relation: Relation, _ change: Change, in room: String,
    at now: Instant
  ) {
    let pair: Set = [first.origin, second.origin]
    var index = conflicts.firstIndex { Set([$0.first, $0.second]) == pair }
    if index == nil {
      if let before = warned[pair], before.duration(to: now) < Self.silence { return }
      warned[pair] = now
      conflicts.append(Conflict(first: first.origin, second: second.origin, relation: relation))
      index = conflicts.count - 1
    }
    guard let index else { return }
    if change == .volume { conflicts[index].isOfVolume = true } else { conflicts[index].isOfSource = true }
    if !conflicts[index].rooms.contains(room) { conflicts[index].rooms.append(room) }
  }

  /// Removes and returns the warnings, with their rooms.
  mutating func removeWarnings() -> [(event: TimelineEvent, room: String)] {
    defer { conflicts = [] }
    return conflicts.map { ($0.event, $0.rooms.joined(separator: ", ")) }
  }
}
