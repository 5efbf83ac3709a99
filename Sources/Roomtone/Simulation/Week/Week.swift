public import Home
public import Scheduling

/// A simulated time as days, with their sounds and events; the content of a `WeekPage`. Moments are seconds
/// since the epoch.
public struct Week: Sendable {
  /// The number of days that a page can show.
  public static let mostDays = 31

  /// The names of the scripts.
  public let title: String
  /// The name of the zone whose clocks count.
  public let zone: String
  /// The first moment that was simulated.
  public let start: Int
  /// The clocks of the zone.
  let clocks: any LocalZone
  /// The moment at which the simulation ended.
  public let end: Int
  /// `true` if the whole time was simulated; `false` if the script ended before.
  public let isWhole: Bool
  /// The days with a simulated moment.
  public let days: [WeekDay]
  /// The sounds, in the order in which they began.
  public let sounds: [WeekSound]
  /// The entries of the time line other than its summary, in their order.
  public let entries: [JournalEntry]
  /// The entries of the summary of the time line.
  public let summary: [JournalEntry]

  /// The lanes of all days: rooms in which something happened, then headsets, recordings and routines.
  private(set) var lanes: [Lane]
  /// The lanes of each of `entries`.
  private(set) var places: [[Lane.Place]]

  /// A row of a day: a room, or a place for entries that concern no room.
  struct Lane: Sendable, Hashable {
    enum Place: Sendable, Hashable {
      case room(String)
      case headset, recorder, routine
    }

    let place: Place
    /// The name for readers.
    var name: String {
      switch place {
      case .room(let name): name
      case .headset: "Headset"
      case .recorder: "Recorder"
      case .routine: "Routine"
      }
    }
  }

  /// The names of the alarms that have rung, which their interruptions have too.
  let alarms: Set<String>
  /// The room of each speaker, by name.
  private let roomOfSpeaker: [String: String]
  private let rooms: Set<String>

  /// A week.
  /// - Parameters:
  ///   - rooms: the rooms of the house, in their order.
  ///   - roomOfSpeaker: the room of each speaker, by name.
  ///   - entries: all entries of the time line, with the summary at their end.
  public init(
    title: String, zone: any LocalZone, start: Int, end: Int, isWhole: Bool, rooms: [String],
    roomOfSpeaker: [String: String], sounds: [WeekSound], entries: [JournalEntry]
  ) {
    (self.title, self.zone, self.start, self.end, self.isWhole) = (title, zone.name, start, end, isWhole)
    (self.sounds, self.roomOfSpeaker, self.rooms, clocks) = (sounds, roomOfSpeaker, Set(rooms), zone)
    days = WeekDay.days(from: start, to: end, in: zone)
    self.entries = entries.filter { $0.kind != .summary }
    summary = entries.filter { $0.kind == .summary }
    alarms = Set(
      entries.compactMap { entry in
        guard entry.kind == .alarm, let message = entry.detail,
          let end = message.firstRange(of: " rings with ")
        else { return nil }
        return String(message[..<end.lowerBound])
      })
    (lanes, places) = ([], [])
    places = self.entries.map { findPlaces(of: $0) }
    var used = Set(sounds.map { Lane.Place.room($0.room) })
    for (entry, places) in zip(self.entries, places) where entry.mark != nil || entry.kind.isOfRecording {
      used.formUnion(places)
    }
    lanes =
      (rooms.map { .room($0) } + [.headset, .recorder, .routine]).filter(used.contains).map {
        Lane(place: $0)
      }
  }

  /// Returns the lanes to which an entry belongs: those of its rooms, or of the rooms of its speakers.
  private func findPlaces(of entry: JournalEntry) -> [Lane.Place] {
    if let lane = place(named: entry.room) { return [lane] }
    switch entry.kind {
    case .headset: return [.headset]
    case .recording, .recorded, .unrecorded: return [.recorder]
    default: break
    }
    var places: [Lane.Place] = []
    // Names may contain commas, so the longest text that is a name counts.
    var rest = entry.room.split(separator: ", ", omittingEmptySubsequences: true)[...]
    while !rest.isEmpty {
      let found = rest.indices.reversed().lazy.compactMap { last in
        place(named: rest[...last].joined(separator: ", ")).map { ($0, last) }
      }.first
      if let (place, last) = found {
        if !places.contains(place) { places.append(place) }
        rest = rest[(last + 1)...]
      } else {
        rest = rest.dropFirst()
      }
    }
    return places.isEmpty ? [.routine] : places
  }

  private func place(named name: String) -> Lane.Place? {
    if rooms.contains(name) { return .room(name) }
    return roomOfSpeaker[name].map { .room($0) }
  }

  /// Numbers for the head of a page.
  struct Figures: Equatable {
    var runs = 0, alarms = 0, announcements = 0, recordings = 0, fallbacks = 0, failures = 0, warnings = 0
    /// The seconds in which at least one room had sound.
    var soundingSeconds = 0
  }

  /// The figures of all days.
  var figures: Figures { figures(of: entries, sounds, start..<max(start, end)) }

  /// Returns the figures of a day.
  func figures(of day: WeekDay) -> Figures {
    figures(of: entries(of: day).map { entries[$0] }, sounds, day.start..<day.end)
  }

  private func figures(
    of entries: [JournalEntry], _ sounds: [WeekSound], _ span: Range<Int>
  ) -> Figures {
    var figures = Figures()
    for entry in entries {
      if entry.kind == .run { figures.runs += entry.count }
      if entry.kind == .recording { figures.recordings += 1 }
      switch entry.mark {
      case .failure: figures.failures += 1
      case .warning: figures.warnings += 1
      case .fallback: figures.fallbacks += 1
      case .alarm: figures.alarms += 1
      case .announcement: figures.announcements += 1
      case .trigger, .run, .setting, .note, nil: break
      }
    }
    var until = span.lowerBound
    for sound in sounds.sorted(by: { ($0.start, $0.end) < ($1.start, $1.end) }) where sound.end > until {
      guard sound.start < span.upperBound else { break }
      let end = min(sound.end, span.upperBound)
      figures.soundingSeconds += max(0, end - max(until, sound.start))
      until = max(until, end)
    }
    return figures
  }

  /// Returns the indices of the entries of a day.
  func entries(of day: WeekDay) -> Range<Int> {
    let first = index(at: day.start)
    return first..<max(first, index(at: day.end))
  }

  /// Returns the index of the first entry at a moment or after it; the count if there is no such entry.
  /// Entries are in order of time.
  func index(at moment: Int) -> Int {
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].moment >= moment { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
