public import EventLoop
public import Home
internal import Scheduling
internal import SpeakerKit

/// A source that sounds in a room for a while, and how loud. Moments are seconds since the epoch.
public struct WeekSound: Sendable, Equatable {
  /// The volume from a moment on.
  public struct Level: Sendable, Equatable {
    /// The moment.
    public let moment: Int
    /// The highest volume among the speakers, 0 to 50; 0 while all are muted.
    public let volume: Int

    /// A volume from a moment on.
    public init(_ moment: Int, _ volume: Int) { (self.moment, self.volume) = (moment, volume) }
  }

  /// The name of the room, or of a speaker without a room.
  public let room: String
  /// The title of the source.
  public internal(set) var title: String
  /// The name of the interruption, such as an announcement; nil for other sounds.
  public let interruption: String?
  /// The moment at which it ends.
  public internal(set) var end: Int
  /// The volumes, in order of time; not empty.
  public internal(set) var levels: [Level]

  /// The moment at which it begins.
  public var start: Int { levels[0].moment }

  /// A sound of a room that begins with the first level.
  public init(room: String, title: String, interruption: String? = nil, end: Int, levels: [Level]) {
    (self.room, self.title, self.interruption) = (room, title, interruption)
    (self.end, self.levels) = (end, levels.isEmpty ? [Level(end, 0)] : levels)
  }
}

/// Collects the content of a simulation's picture: the entries of its time line, and the sound of each room.
///
/// A picture needs the volume of a room at each moment, which the lines, each about a change, do not have: this reads
/// it from the house. Confined to the loop.
public final class WeekRecorder {
  /// A session that plays a source in a room.
  private struct Key: Hashable {
    let room: String
    let session: SessionID
    let source: String
  }

  private let loop: EventLoop
  private let zone: any LocalZone
  private let start: Int
  private weak var house: House?
  private var entries: [JournalEntry] = []
  private var sounds: [WeekSound] = []
  /// Sounds that have not ended: their indices in `sounds`, and when they began.
  private var open: [Key: (index: Int, since: Instant)] = [:]
  private var rooms: [String] = []
  private var roomOfSpeaker: [String: String] = [:]

  /// Follows the house of `engine`, from its opening on.
  public init(_ engine: Engine) {
    loop = engine.loop
    zone = engine.options.zone
    start = Int(engine.loop.wallNow.seconds)
    engine.house.whenOpen { [weak self] in self?.follow($0) }
  }

  /// Adds an entry of the time line.
  public func add(_ entry: JournalEntry) { entries.append(entry) }

  /// Returns the week so far, up to now.
  /// - Parameters:
  ///   - title: the names of the scripts.
  ///   - end: the end of the time that was to be simulated.
  public func week(title: String, until end: WallTime) -> Week {
    let now = Int(loop.wallNow.seconds)
    var sounds = sounds
    for (index, _) in open.values { sounds[index].end = now }
    return Week(
      title: title, zone: zone, start: start, end: max(start, now), isWhole: now >= Int(end.seconds),
      rooms: rooms, roomOfSpeaker: roomOfSpeaker, sounds: sounds.filter { $0.end > $0.start },
      entries: entries)
  }

  private func follow(_ house: House) {
    self.house = house
    readPlaces()
    house.events.on(wantsSeconds: false) { [weak self] event in
      guard let self else { return }
      switch event {
      case .time: break
      case .volume(let device, _, _, _, _, _): read(rooms: [Self.room(of: device)])
      case .device(_, let reason):
        if [.added, .renamed, .regrouped, .removed].contains(reason) { readPlaces() }
        read(rooms: nil)
      case .state, .ended, .track, .suspension, .error: read(rooms: nil)
      }
    }
  }

  private static func room(of device: Device) -> String {
    device.groupName == Group.ungrouped ? device.name : device.groupName
  }

  /// Adds the rooms and speakers that have not been seen.
  private func readPlaces() {
    for device in house?.devices ?? [] {
      let room = Self.room(of: device)
      if !rooms.contains(room) { rooms.append(room) }
      roomOfSpeaker[device.name] = room
    }
  }

  /// Reads the sounds of now, in these rooms or in all: ends and begins sounds, and adds levels.
  private func read(rooms: [String]?) {
    let now = Int(loop.wallNow.seconds)
    var levels: [Key: (volume: Int, session: Session, title: String)] = [:]
    for device in house?.devices ?? [] where device.isPlaying {
      let room = Self.room(of: device)
      guard rooms?.contains(room) ?? true else { continue }
      for session in [device.session, device.overlay?.session].compactMap(\.self) {
        guard session.state == .playing, !session.isSuspended, let source = session.source else { continue }
        let key = Key(room: room, session: session.id, source: source.path)
        levels[key] = (max(device.level(in: session) ?? 0, levels[key]?.volume ?? 0), session, source.title)
      }
    }
    for (key, sound) in open where levels[key] == nil && rooms?.contains(key.room) ?? true {
      // The bar of a sound is at least one second long; a sound that was never heard has no bar.
      let isHeard = sound.since < loop.now
      sounds[sound.index].end = max(now, sounds[sound.index].start + (isHeard ? 1 : 0))
      open[key] = nil
    }
    // The order is fixed, so that it is the same in each run.
    for (key, level) in levels.sorted(by: { ($0.key.room, $0.key.session) < ($1.key.room, $1.key.session) }) {
      let new = WeekSound.Level(now, level.volume)
      guard let index = open[key]?.index else {
        open[key] = (sounds.count, loop.now)
        sounds.append(
          WeekSound(
            room: key.room, title: level.title,
            interruption: house?.isInterruption(level.session) == true ? level.session.name : nil, end: now,
            levels: [new]))
        continue
      }
      sounds[index].title = level.title
      guard let last = sounds[index].levels.last, last.volume != level.volume else { continue }
      if last.moment == now { sounds[index].levels.removeLast() }
      sounds[index].levels.append(new)
    }
  }
}
