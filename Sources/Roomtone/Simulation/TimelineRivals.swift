internal import EventLoop
internal import Home
internal import SpeakerKit

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
    /// The end of a source, which does not disturb a later playback.
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

    var text: String {
      let last = rooms.last ?? ""
      let places = rooms.count > 1 ? rooms.dropLast().joined(separator: ", ") + " and " + last : last
      switch relation {
      case .within(let distance):
        let changes =
          !isOfVolume
          ? "what plays in \(places)"
          : "the volume of \(places)" + (isOfSource ? " and what plays there" : "")
        let time = distance == .zero ? "at the same moment" : "within \(JournalText.text(of: distance))"
        return "\(first) and \(second) both change \(changes), \(time)"
      case .playing:
        return "\(second) changes the volume of \(places), where \(first) plays: it stays so until that ends"
      }
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
  private var players: [SessionID: CommandAuthor] = [:]

  /// `true` if there are conflicts that `removeWarnings` returns.
  var hasWarnings: Bool { !conflicts.isEmpty }

  /// Adds a change, which is a conflict if another routine has changed the same less than a minute ago.
  mutating func add(_ change: Change, from author: CommandAuthor, in room: String, at now: Instant) {
    // A listener only reacts to changes by another routine.
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

  /// Adds a change of the volume of a room in which another routine plays over the sessions there, at a
  /// separate volume.
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
  mutating func removeWarnings() -> [(text: String, jobs: [String], room: String)] {
    defer { conflicts = [] }
    return conflicts.map { conflict in
      (
        conflict.text, [conflict.first, conflict.second].compactMap(Cause.job(of:)),
        conflict.rooms.joined(separator: ", ")
      )
    }
  }

  /// Keeps the author of the last command to play on a session.
  mutating func keep(_ author: CommandAuthor, playing session: SessionID) { players[session] = author }

  /// Returns the author of the last command to play on a session.
  func player(of session: SessionID) -> CommandAuthor? { players[session] }
}
