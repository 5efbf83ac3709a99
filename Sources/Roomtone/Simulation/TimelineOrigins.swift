internal import EventLoop
internal import SpeakerKit

/// The routines from which the last commands to speakers and sessions came, by `LuaRoutine.origin`, as commands take
/// effect later.
struct TimelineOrigins {
  private var moves: [String: String] = [:]
  private var playing: [SessionID: String] = [:]
  private var sounds: [SessionID: String] = [:]

  /// Keeps the origin of a command.
  mutating func keep(_ command: HouseCommand, from origin: String) { set(command, origin) }

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

  func job(moving device: Device) -> String? { Self.job(moves[device.id]) }
  func job(playing session: Session) -> String? { Self.job(playing[session.id]) }
  func job(changing session: Session) -> String? { Self.job(sounds[session.id]) }

  /// Returns the name of the job that an origin is; nil for any other.
  static func job(_ origin: String?) -> String? {
    guard let origin, origin.hasPrefix("job \""), origin.hasSuffix("\"") else { return nil }
    return String(origin.dropFirst(5).dropLast())
  }
}

/// The latest changes of each room by each routine, which show when two of them have the same room.
struct TimelineRivals {
  /// A change that one routine makes and another one may undo.
  enum Change {
    case volume, source
    /// The end of a source, which hinders nobody who plays afterwards.
    case end

    fileprivate func text(of room: String) -> String {
      self == .volume ? "the volume of \(room)" : "what plays in \(room)"
    }
  }

  /// The time within which two changes are too near each other.
  private static let limit = Duration.seconds(60)
  /// The time for which a warning is not repeated.
  private static let silence = Duration.seconds(3600)

  private struct Key: Hashable {
    let room: String
    let isVolume: Bool
  }

  private struct Pair: Hashable {
    let key: Key
    let origins: Set<String>
  }

  private var last: [Key: [(origin: String, time: Instant)]] = [:]
  private var warned: [Pair: Instant] = [:]

  /// Adds a change.
  /// - Returns: the warning, if another routine has changed the same less than a minute ago.
  mutating func add(
    _ change: Change, from origin: String, in room: String, at now: Instant
  ) -> TimelineEvent? {
    // A listener answers what another routine does.
    guard !origin.hasPrefix("on ") else { return nil }
    let key = Key(room: room, isVolume: change == .volume)
    var recent = (last[key] ?? []).filter { $0.time.duration(to: now) <= Self.limit }
    let rival = recent.last { $0.origin != origin }
    recent.removeAll { $0.origin == origin }
    if change != .end { recent.append((origin, now)) }
    last[key] = recent
    guard let rival else { return nil }
    let pair = Pair(key: key, origins: [origin, rival.origin])
    if let before = warned[pair], before.duration(to: now) < Self.silence { return nil }
    warned[pair] = now
    let distance = TimelineEvent.text(of: rival.time.duration(to: now))
    return .warning(
      "\(rival.origin) and \(origin) both change \(change.text(of: room)), within \(distance)",
      jobs: [rival.origin, origin].compactMap { TimelineOrigins.job($0) })
  }
}
