internal import AudioCore
internal import EventLoop
internal import Glibc
internal import HeadsetKit
internal import HeadsetLink
internal import Home
internal import JSONText
internal import Roomtone
internal import Scheduling
internal import SpeakerKit

/// Prints a time line: a date where a day begins, then a line per entry, the summary at the end; or a JSON object per
/// line.
final class TimelinePrinter {
  private let json: Bool
  /// The texts of causes; nil to print none.
  private let causes: ChangeText?
  private var date: CalendarDate?
  private var isInSummary = false

  init(json: Bool, causes: ChangeText? = nil) { (self.json, self.causes) = (json, causes) }

  func print(_ entry: TimelineEntry) {
    if json { return Terminal.print(JSON(entry, why(entry)).line) }
    if case .summary = entry.event {
      if !isInSummary { Terminal.print("Summary") }
      isInSummary = true
      return Terminal.print("  \(entry.text.onOneLine)")
    }
    let local = entry.time.local
    if local.date != date {
      date = local.date
      let days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
      Terminal.print("\(days[local.date.weekday]) \(local.date)")
    }
    let name = entry.room.onOneLine
    let room = name + String(repeating: " ", count: max(0, 22 - name.count))
    Terminal.print("\(Timestamp.clock(local.time.seconds))  \(room)  \(Self.text(entry))")
    if let why = why(entry) { Terminal.print(String(repeating: " ", count: 36) + "↳ \(why.onOneLine)") }
  }

  /// Returns the text of an entry on one line. What a script prints is as it is, as in a run.
  private static func text(_ entry: TimelineEntry) -> String {
    if case .print = entry.event { entry.text } else { entry.text.onOneLine }
  }

  /// Returns the chain of causes of an entry; nil for none, or none that is to be printed.
  private func why(_ entry: TimelineEntry) -> String? {
    var argument: String?
    if case .volume(_, let to, _, _) = entry.event { argument = "\(to)" }
    return entry.cause.flatMap { causes?.why($0, argument) }
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
      // 48 kHz, two channels, 16 bit, behind a header.
      let tenths = max(0, Int(info.st_size) - 44) * 10 / 192_000
      Terminal.print("  \(name.onOneLine)  \(tenths / 10).\(tenths % 10) s")
    }
  }
}

extension JSON {
  /// The object of an entry: `time`, `kind`, `room`, the fields of its kind, `job` if there is one, `text`; with a text
  /// for its causes also `why` and `cause`.
  init(_ entry: TimelineEntry, _ why: String? = nil) {
    var members: [(name: String, value: JSON)] = [
      ("time", .time(entry.time)), ("kind", .string(entry.kind.rawValue)), ("room", .string(entry.room)),
    ]
    members += Self.fields(of: entry.event)
    if let job = entry.job { members.append(("job", .string(job))) }
    members.append(("text", .string(entry.text)))
    if let why, let cause = entry.cause { members += [("why", .string(why)), ("cause", cause.json)] }
    self = .object(members)
  }

  private typealias Fields = [(name: String, value: JSON)]

  private static func time(_ time: TimelineTime?) -> JSON {
    .optional(time.map { Timestamp.text($0.local, offset: $0.offset) })
  }

  private static func seconds(_ duration: Duration) -> JSON { .decimal(duration.inSeconds) }

  private static func fields(of event: TimelineEvent) -> Fields {
    switch event {
    case .play(let source, let level): [("source", .string(source))] + fields(of: level)
    case .pause(let source): [("source", .string(source))]
    case .stop(let source, let reason): [("source", .string(source)), ("reason", .string(reason.rawValue))]
    case .volume(let from, let to, let over, let steps):
      [("from", .number(from)), ("to", .number(to)), ("over", seconds(over))]
        + (steps > 1 ? [("steps", .number(steps))] : [])
    case .mute(let volume, _): [("muted", true), ("volume", .number(volume))]
    case .unmute(let volume): [("muted", false), ("volume", .number(volume))]
    case .gain(let from, let to, let over):
      [("from", .decimal(from)), ("to", .decimal(to)), ("over", seconds(over))]
    case .streamGain(let to): [("to", .decimal(to)), ("stream", true)]
    case .equalizer(let gains):
      [
        ("preset", .optional(gains.preset)),
        ("bands", .object(zip(EqualizerGains.bands, gains.decibels).map { ("\($0)", .decimal($1)) })),
      ]
    case .seek(let to): [("to", .number(to))]
    case .move(let by): [("by", .decimal(by))]
    case .join(let source): [("source", .string(source))]
    case .leave, .away, .back: []
    case .rename(let name): [("to", .string(name))]
    case .group(let name): [("to", .optional(name))]
    case .interruption(let phase, let name, let duck):
      [("phase", .string(phase.rawValue)), ("name", .string(name))]
        + (duck.map { [("duck", .decimal($0))] } ?? [])
    case .recording(let phase, let path): fields(of: phase, path)
    case .title(let title): [("title", .string(title))]
    case .round(let title, let count, let until):
      [("title", .string(title)), ("count", .number(count)), ("until", time(until))]
    case .reconnect(let gap): [("gap", .decimal(gap))]
    case .run(let count, let until): [("count", .number(count)), ("until", time(until))]
    case .skipped(let due, let isRequested): [("due", time(due)), ("requested", .bool(isRequested))]
    case .missed(let due): [("due", time(due))]
    case .failed(let message, let code, let count):
      [("message", .string(message)), ("code", .optional(code)), ("in_row", .number(count))]
    case .withoutSun(let date, let next): [("date", .string("\(date)")), ("next", time(next))]
    case .headset(let event, let name): [("name", .optional(name))] + fields(of: event)
    case .print(let message): [("message", .string(message))]
    case .log(let level, let message, let fields):
      [
        ("level", .string(level.rawValue)), ("message", .string(message)),
        ("fields", .object(fields.map { ($0.name, .string($0.value)) })),
      ]
    case .error(let message, let code), .failure(let message, let code):
      [("message", .string(message)), ("code", .string(code))]
    case .warning(let message, let jobs):
      [("message", .string(message)), ("jobs", .array(jobs.map { .string($0) }))]
    case .mark(_, let message, let source): [("message", .string(message)), ("source", .optional(source))]
    case .summary(let summary): fields(of: summary)
    }
  }

  private static func fields(of level: TimelineEvent.Level) -> Fields {
    switch level {
    case .none: [("volume", nil), ("muted", false)]
    case .muted: [("volume", nil), ("muted", true)]
    case .volumes(let least, let most):
      [("volume", .number(least)), ("volume_most", .number(most)), ("muted", false)]
    }
  }

  private static func fields(of phase: TimelineEvent.RecordingPhase, _ path: String) -> Fields {
    switch phase {
    case .begin: [("phase", "begin"), ("path", .string(path))]
    case .end(let seconds): [("phase", "end"), ("path", .string(path)), ("seconds", .decimal(seconds))]
    case .failure(let message, let code):
      [
        ("phase", "failure"), ("path", .string(path)), ("message", .string(message)), ("code", .string(code)),
      ]
    }
  }

  private static func fields(of event: HeadsetEvent) -> Fields {
    switch event {
    case .connected: [("change", "connected")]
    case .disconnected(let reason): [("change", "disconnected"), ("reason", .string(reason))]
    case .released: [("change", "released")]
    case .noiseCancelling(let isOn): [("change", "noise_cancelling"), ("on", .bool(isOn))]
    case .ambient(let left, let right):
      [("change", "ambient"), ("left", .number(left)), ("right", .number(right))]
    case .equalizer(let preset, let values):
      [
        ("change", "equalizer"), ("preset", .string(Headset.presetName(preset) ?? "\(preset)")),
        ("values", .array(values.map { .number($0) })),
      ]
    case .bootloader: [("change", "bootloader")]
    case .progress(let fraction): [("change", "progress"), ("fraction", .decimal(fraction))]
    case .updateCompleted(let version): [("change", "firmware"), ("version", .string(version))]
    case .battery(let battery):
      [("change", "battery"), ("percent", .number(battery.percent)), ("charging", .bool(battery.isCharging))]
    case .error(let error):
      [("change", "error"), ("message", .string(error.message)), ("code", .string(error.code))]
    }
  }

  private static func fields(of summary: TimelineEvent.Summary) -> Fields {
    switch summary {
    case .job(let runs, let failures, let skipped, let missed, let next):
      [
        ("about", "job"), ("runs", .number(runs)), ("failures", .number(failures)),
        ("skipped", .number(skipped)), ("missed", .number(missed)), ("next", time(next)),
      ]
    case .unheard(let sources):
      [("about", "sources"), ("sources", .array(sources.map { .string($0) }))]
    case .total(let runs, let failures, let warnings):
      [
        ("about", "total"), ("runs", .number(runs)), ("failures", .number(failures)),
        ("warnings", .number(warnings)),
      ]
    }
  }
}
