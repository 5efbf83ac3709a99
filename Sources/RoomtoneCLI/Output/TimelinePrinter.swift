internal import EventLoop
internal import Glibc
internal import Home
internal import JSONText
internal import Scheduling
internal import SpeakerKit

/// Prints a time line: a date where a day begins, then a line per entry, the summary at the end; or a JSON object per
/// line.
final class TimelinePrinter {
  private let json: Bool
  private let zone: any LocalZone
  private let text: JournalText
  /// `true` if each line has its causes below it.
  private let showsCauses: Bool
  private var date: CalendarDate?
  private var isInSummary = false

  /// - Parameter now: the beginning of the time line; times of causes on its day have no date.
  init(json: Bool, zone: any LocalZone, now: WallTime, causes: Bool) {
    (self.json, self.zone, showsCauses) = (json, zone, causes)
    text = JournalText(zone: zone, now: now)
  }

  func print(_ entry: JournalEntry) {
    if json { return Terminal.print(object(entry).line) }
    // The output of a script is printed unchanged, as in a run.
    let text = entry.kind == .print ? text.marked(entry) : text.marked(entry).onOneLine
    if entry.kind == .summary {
      if !isInSummary { Terminal.print("Summary") }
      isInSummary = true
      return Terminal.print("  \(text)")
    }
    let local = zone.local(entry.at)
    if local.date != date {
      date = local.date
      let days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
      Terminal.print("\(days[local.date.weekday]) \(local.date)")
    }
    let name = entry.room.onOneLine
    let room = name + String(repeating: " ", count: max(0, 22 - name.count))
    Terminal.print("\(Timestamp.clock(local.time.seconds))  \(room)  \(text)")
    if let why = why(entry) { Terminal.print(String(repeating: " ", count: 36) + "↳ \(why.onOneLine)") }
  }

  /// Returns the chain of causes of an entry; nil without causes, and when they are not printed.
  private func why(_ entry: JournalEntry) -> String? {
    guard showsCauses, let cause = entry.cause else { return nil }
    return text.why(cause, entry.kind == .volume ? JournalText.argument(entry) : nil)
  }

  /// Prints the folder's WAV files with their lengths.
  func printFiles(in folder: String) {
    guard let found = try? LinuxFiles.names(in: folder) else { return }
    let names = found.filter { $0.hasSuffix(".wav") }
    guard !names.isEmpty else { return Terminal.print("nothing sounded: no WAV files") }
    Terminal.print("\(names.count) WAV files in \(folder):")
    for name in names.sorted() {
      var info = stat()
      guard stat("\(folder)/\(name)", &info) == 0 else { continue }
      // The sound after the header has 48 kHz, two channels and 16 bits.
      let tenths = max(0, Int(info.st_size) - 44) * 10 / 192_000
      Terminal.print("  \(name.onOneLine)  \(tenths / 10).\(tenths % 10) s")
    }
  }

  // MARK: JSON

  /// Returns the object of an entry: `time`, `kind`, `room`, the fields of its kind, `job` if there is one, `text`; with a
  /// text for its causes also `why` and `cause`.
  private func object(_ entry: JournalEntry) -> JSON {
    var members: [(name: String, value: JSON)] = [
      ("time", time(entry.at)), ("kind", .string(entry.kind.lineName)), ("room", .string(entry.room)),
    ]
    members += fields(of: entry)
    if let job = entry.job { members.append(("job", .string(job))) }
    members.append(("text", .string(text.marked(entry))))
    if let why = why(entry), let cause = entry.cause {
      members += [("why", .string(why)), ("cause", cause.json)]
    }
    return .object(members)
  }

  private func time(_ time: WallTime) -> JSON { .string(Timestamp.text(time, in: zone)) }

  private func json(_ value: JournalEntry.Value) -> JSON {
    switch value {
    case .none: .null
    case .number(let number): .number(number)
    case .decimal(let number): .decimal(number)
    case .text(let text): .string(text)
    case .time(let moment): time(moment)
    }
  }

  private func fields(of entry: JournalEntry) -> [(name: String, value: JSON)] {
    let (from, to, detail) = (json(entry.from), json(entry.to), JSON.optional(entry.detail))
    let facts = entry.facts.map { ($0.name, $0.value) }
    switch entry.kind {
    case .play: return [("source", to)] + facts
    case .pause: return [("source", from)]
    case .stop: return [("source", from), ("reason", detail)]
    case .mute, .unmute: return [("muted", .bool(entry.kind == .mute)), ("volume", to)]
    case .gain where entry.from == .none, .name: return [("to", to)] + facts
    case .volume, .gain: return [("from", from), ("to", to)] + facts
    case .seek: return entry.to == .none ? facts : [("to", to)]
    case .group: return [("to", entry.to == .text(Group.ungrouped) ? .null : to)]
    case .interrupt: return [("phase", "begin"), ("name", .string(entry.name))] + facts
    case .release: return [("phase", "end"), ("name", .string(entry.name))] + facts
    case .recording: return [("phase", "begin"), ("path", .string(entry.name))]
    case .recorded: return [("phase", "end"), ("path", .string(entry.name))] + facts
    case .unrecorded: return [("phase", "failure"), ("path", .string(entry.name))] + facts
    case .title: return [("title", to)]
    case .round: return [("title", to), ("count", .number(entry.count)), ("until", time(entry.until))]
    case .run: return [("count", .number(entry.count)), ("until", time(entry.until))]
    case .skipped, .omitted: return [("due", to), ("requested", .bool(entry.kind == .omitted))]
    case .missed: return [("due", to)]
    case .failed:
      return [
        ("message", detail), ("code", entry.fact("code") ?? nil), ("in_row", entry.fact("in_row") ?? 1),
      ]
    case .sunless: return facts + [("next", to)]
    case .print: return [("message", detail)]
    case .log:
      return [
        ("level", entry.fact("level") ?? nil), ("message", detail), ("fields", entry.fact("fields") ?? nil),
      ]
    case .error, .failure, .warning, .alarm, .fallback, .announcement: return [("message", detail)] + facts
    case .trigger: return [("message", .string(text.text(entry))), ("source", nil)]
    case .summary: return facts + (entry.job == nil ? [] : [("next", to)])
    default: return facts
    }
  }
}

extension JournalEntry.Kind {
  /// The name in time lines.
  fileprivate var lineName: String {
    switch self {
    case .unmute: Self.mute.rawValue
    case .name: "rename"
    case .interrupt, .release: "interruption"
    case .recorded, .unrecorded: Self.recording.rawValue
    case .omitted: Self.skipped.rawValue
    case .sunless: "sun"
    case .round: Self.title.rawValue
    default: rawValue
    }
  }
}
