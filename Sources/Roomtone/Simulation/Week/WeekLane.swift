internal import EventLoop
internal import Home
internal import JSONText

/// The kind of a mark in the picture of a week, the most urgent first.
enum WeekMarkKind: Int, Sendable, CaseIterable, Comparable {
  case failure, warning, fallback, alarm, announcement, trigger, run, setting, note

  /// `true` if `a` is more urgent than `b`.
  static func < (a: WeekMarkKind, b: WeekMarkKind) -> Bool { a.rawValue < b.rawValue }
}

extension JournalEntry {
  /// The moment in seconds since the epoch.
  var moment: Int { Int(at.seconds) }

  /// The mark of the entry in the picture; nil for an entry without a mark, as the picture itself shows
  /// sounds, their volumes and recordings.
  var mark: WeekMarkKind? {
    switch kind {
    case .failure, .error, .failed, .unrecorded: .failure
    case .headset: fact("change")?.text == "error" ? .failure : .setting
    case .log:
      switch fact("level")?.text {
      case LogLevel.error.rawValue: .failure
      case LogLevel.warn.rawValue: .warning
      default: .note
      }
    case .warning, .missed, .away, .skipped: .warning
    case .fallback: .fallback
    case .alarm: .alarm
    case .announcement: .announcement
    case .trigger: .trigger
    case .run: .run
    case .print, .sunless, .omitted: .note
    default: nil
    }
  }
}

extension JournalEntry.Kind {
  /// `true` for the beginning, the end and the failure of a recording.
  var isOfRecording: Bool { self == .recording || self == .recorded || self == .unrecorded }
}

/// A bar of a lane: a sound in a room, or a recording.
struct WeekBar: Sendable, Equatable {
  enum Style: String, Sendable { case music, alarm, announcement, interruption, recording }

  let style: Style
  let title: String
  /// The moments at which it begins and ends, which may be on other days.
  let start, end: Int
  /// The volumes, as in `WeekSound`; empty for a recording.
  let levels: [WeekSound.Level]
}

/// A mark of a lane: entries that are too close to each other for marks of their own.
struct WeekMark: Sendable, Equatable {
  /// The moment of the first.
  let moment: Int
  /// The most urgent kind among them.
  var kind: WeekMarkKind
  /// Indices in `Week.entries`, in order of time; not empty.
  var entries: [Int]

  /// Returns marks that are at least `distance` seconds apart.
  /// - Parameter all: marks in order of time.
  static func merged(_ all: [WeekMark], distance: Int) -> [WeekMark] {
    var marks: [WeekMark] = []
    for mark in all {
      guard let last = marks.last, mark.moment - last.moment < distance else {
        marks.append(mark)
        continue
      }
      marks[marks.count - 1].kind = min(last.kind, mark.kind)
      marks[marks.count - 1].entries += mark.entries
    }
    return marks
  }
}

/// The lanes of a day.
extension Week {
  /// The content of a lane on a day.
  struct Row: Sendable, Equatable {
    let lane: Lane
    /// In order of their beginning.
    let bars: [WeekBar]
    /// A mark per entry, in order of time.
    let marks: [WeekMark]

    var isEmpty: Bool { bars.isEmpty && marks.isEmpty }
  }

  /// The number of lanes up to which each day has all of them, so that the days look alike.
  static let mostLanesOfAllDays = 10
  /// The name of the library's announcements.
  private static let announcement = "announcement"

  /// Returns the rows of a day: all lanes of the week if they are few, else those with an event; an empty
  /// list for a day without events.
  func rows(of day: WeekDay) -> [Row] {
    var marks: [Lane.Place: [WeekMark]] = [:]
    for index in entries(of: day) {
      guard let kind = entries[index].mark else { continue }
      for place in places[index] {
        marks[place, default: []].append(
          WeekMark(moment: entries[index].moment, kind: kind, entries: [index]))
      }
    }
    let rows = lanes.map { lane in
      Row(lane: lane, bars: bars(of: lane, on: day), marks: marks[lane.place] ?? [])
    }
    if rows.allSatisfy(\.isEmpty) { return [] }
    return lanes.count <= Self.mostLanesOfAllDays ? rows : rows.filter { !$0.isEmpty }
  }

  private func bars(of lane: Lane, on day: WeekDay) -> [WeekBar] {
    switch lane.place {
    case .room(let name):
      return sounds.filter { $0.room == name && $0.start < day.end && $0.end > day.start }.map { sound in
        WeekBar(
          style: style(of: sound), title: sound.title, start: sound.start, end: sound.end,
          levels: sound.levels)
      }
    case .recorder: return recordings.filter { $0.start < day.end && $0.end > day.start }
    case .headset, .routine: return []
    }
  }

  /// Recordings, from their first frame on; up to the end of the simulation if they have no end.
  private var recordings: [WeekBar] {
    var bars: [(path: String, start: Int, end: Int?)] = []
    for entry in entries {
      guard entry.kind.isOfRecording else { continue }
      if entry.kind == .recording {
        bars.append((entry.name, entry.moment, nil))
      } else if let index = bars.lastIndex(where: { $0.path == entry.name && $0.end == nil }) {
        bars[index].end = max(entry.moment, bars[index].start + 1)
      }
    }
    return bars.map { bar in
      WeekBar(style: .recording, title: bar.path, start: bar.start, end: bar.end ?? end, levels: [])
    }
  }

  /// Returns the style of a sound: an interruption's by its name, otherwise the style of music.
  private func style(of sound: WeekSound) -> WeekBar.Style {
    guard let name = sound.interruption else { return .music }
    if name == Self.announcement { return .announcement }
    return alarms.contains(name) ? .alarm : .interruption
  }
}
