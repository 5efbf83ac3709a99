public import AudioCore
public import EventLoop
internal import JSONText
public import Scheduling
internal import SpeakerKit

extension Cause {
  /// The command of the cause in words: `stop at bedtime.lua:41`, `person at ctl`; nil for a cause that is
  /// not a command.
  var call: String? {
    let typist = first.isTypist && JournalText.typed.contains(script ?? "") ? first : self
    return switch typist.kind {
    case .script: (name.isEmpty ? "" : "\(name) at ") + "\(script ?? ""):\(line)"
    case .person: "person at \(typist.name)"
    case .controller: "another client (\(typist.client))"
    case .job, .trigger, .event, .interruption, .start, .driver, .limit: nil
    }
  }

  /// `true` for somebody by whom lines without a script are evaluated.
  fileprivate var isTypist: Bool { kind == .person || kind == .controller }

  /// The name of another client, with its message.
  fileprivate var client: String { detail.map { "\(name): \($0)" } ?? name }
}

/// The texts of entries and causes for people, one for each kind: in `ctl`, at the prompt, in time lines, on the page of a
/// week and in the log.
public struct JournalText {
  private let zone: any LocalZone
  private let now: WallTime

  /// Texts with times of a zone; times on the day of `now` have no date.
  public init(zone: any LocalZone, now: WallTime) { (self.zone, self.now) = (zone, now) }

  /// Returns `23:30:00`, with the date before it on another day.
  public func time(_ time: WallTime) -> String {
    let local = zone.local(time)
    let clock = Self.clock(local.time)
    return local.date == zone.local(now).date ? clock : "\(local.date) \(clock)"
  }

  private static func clock(_ time: TimeOfDay) -> String {
    [time.seconds / 3600, time.seconds / 60 % 60, time.seconds % 60]
      .map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
  }

  /// Returns an entry as a line of the history: `23:30:00  Kitchen  volume 32 → 5  bedtime.lua:41  set_volume(5)`.
  public func line(_ entry: JournalEntry) -> String {
    let name = entry.subject == .house ? "" : "  \(entry.name)"
    let hint = entry.kind == .unrecorded ? entry.fact("hint")?.text.map { "; " + $0 } ?? "" : ""
    return time(entry.at) + name + "  " + what(entry) + hint
      + (entry.cause.map { "  " + why($0, Self.argument(entry)) } ?? "")
  }

  // MARK: Entries

  /// Returns an entry as a line of a time line, without its moment and room: `! job "bedtime" failed: …`,
  /// where `!` marks a failure and `?` something that is probably not intended.
  public func marked(_ entry: JournalEntry) -> String {
    switch entry.kind {
    case .skipped, .missed, .failed, .unrecorded, .error, .failure: "! " + text(entry)
    case .headset: (entry.fact("change")?.text == "error" ? "! " : "") + text(entry)
    case .warning: "? " + text(entry)
    default: text(entry)
    }
  }

  /// Returns an entry in words, with the name of its thing unless that is a room or a speaker: `job "bedtime"
  /// runs`.
  public func text(_ entry: JournalEntry) -> String {
    switch (entry.kind, entry.subject) {
    case (.recording, _): "● \(entry.name) \(what(entry))"
    case (.recorded, _): "■ \(entry.name) \(what(entry))"
    case (.unrecorded, _), (.interrupt, _), (.release, _): "\(entry.name) \(what(entry))"
    case (.headset, _):
      what(entry) + (entry.detail == "connected" ? entry.fact("name")?.text.map { ": \($0)" } ?? "" : "")
    case (.summary, _): what(entry)
    case (_, .job), (_, .trigger): "\(entry.subject) \(quoted(entry.name)) \(what(entry))"
    default: what(entry)
    }
  }

  /// Returns an entry in words, without the name of its thing: `volume 32 → 5`.
  public func what(_ entry: JournalEntry) -> String {
    let (from, to, detail, count) = (text(entry.from), text(entry.to), entry.detail ?? "", entry.count)
    switch entry.kind {
    case .volume:
      let steps = entry.fact("steps")?.int.map { " in \($0) steps" } ?? ""
      let limit = entry.fact("limit")?.text.map { ", \($0)" } ?? ""
      return "volume \(from) → \(to)" + steps + over(entry) + limit
    case .mute: return entry.detail ?? "muted"
    case .unmute: return "unmuted at \(to)"
    case .join: return "joins " + (entry.fact("source")?.text ?? "session \(quoted(to))")
    case .leave: return "leaves its session"
    case .play: return "▶ \(to)" + (detail.isEmpty ? "" : " \(detail)")
    case .pause: return "⏸ paused"
    case .stop: return "■ \(from) \(Self.ending(detail))"
    case .suspend: return "silenced by \(quoted(detail))"
    case .resume: return "goes on after \(quoted(detail))"
    case .interrupt:
      return "begins"
        + (entry.fact("duck")?.decimal.map { " over what plays, \(Self.tenths($0)) dB lower" } ?? "")
    case .release: return "ends"
    case .name: return "is called \(quoted(to)), before \(quoted(from))"
    case .group: return to == "harman" ? "leaves group \(quoted(from))" : "is in group \(quoted(to))"
    case .role: return "has role \(to)"
    case .balance: return "has balance \(to)"
    case .away: return "can't be reached"
    case .back: return "can be reached again"
    case .added: return "is new in the house"
    case .removed: return "is gone from the house"
    case .equalizer: return "equalizer \(entry.detail ?? to)"
    case .gain where entry.fact("stream") != nil: return "the stream's gain \(to) dB"
    case .gain: return "gain " + (entry.seconds > 0 ? "\(from) → \(to) dB" + over(entry) : "\(to) dB")
    case .seek:
      if let by = entry.fact("by")?.decimal {
        return "moves \(by < 0 ? "back" : "forward") \(Self.tenths(abs(by))) s"
      }
      return if case .number(let second) = entry.to { "seeks to \(clockText(second))" } else { "seeks" }
    case .recording: return "is being recorded"
    case .recorded: return "is recorded" + (detail.isEmpty ? "" : ", \(detail)")
    case .unrecorded: return "is not recorded: \(detail)"
    case .run: return count == 1 ? "runs" : "runs \(count) times, the last at \(zone.local(entry.until))"
    case .failed:
      let inRow = entry.fact("in_row")?.int ?? 1
      return "failed: \(detail)" + (inRow > 1 ? " (\(inRow) times in a row)" : "")
    case .cancelled: return "is scheduled no more"
    case .skipped: return "skips its run of \(to): \(detail)"
    case .missed: return "has missed its run of \(to): \(detail)"
    case .omitted: return "leaves out its run of \(to), as requested"
    case .sunless: return detail + (to.isEmpty ? "; none follows in the coming year" : ", until \(to)")
    case .started: return "starts"
    case .ended: return "ended" + (detail.isEmpty ? "" : " \(detail)")
    case .gone: return "ended, as its file is gone"
    case .stale: return "does not load, its version before runs on: \(detail)"
    case .broken: return "does not run: \(detail)"
    case .trigger:
      let value = detail.isEmpty ? "" : " with \(detail)"
      return "came\(value), and " + (to == "0" ? "nobody listened" : "\(to) listened")
    case .refused: return "refused a command" + (count > 1 ? " (\(count) times)" : "") + ": \(detail)"
    case .up: return "the daemon begins"
    case .down: return "the daemon ends"
    case .title: return "♪ \(to)"
    case .round:
      return "♪ \(to), from the beginning again"
        + (count > 1 ? " \(count) times, the last at \(zone.local(entry.until))" : "")
    case .reconnect:
      let gap = Self.tenths(entry.fact("gap")?.decimal ?? 0)
      return "connected again, " + (gap == "0" ? "nothing is missing" : "\(gap) s are missing")
    case .error: return detail + (entry.fact("code")?.text.map { " (\($0))" } ?? "")
    case .log:
      var text = "\(entry.fact("level")?.text ?? ""): \(detail)"
      guard case .object(let fields)? = entry.fact("fields") else { return text }
      for field in fields { text += " \(field.name)=\(field.value.text ?? "")" }
      return text
    case .failing: return "has failed \(to) times in a row"
    case .source: return to == "1" ? "is heard" : "is followed"
    case .message:
      return "✉ \(entry.name) \(to.excerpt.onOneLine)" + (entry.fact("retained") == nil ? "" : " (retained)")
    case .headset, .alarm, .fallback, .announcement, .heard, .print, .failure, .warning, .summary:
      return detail
    }
  }

  /// Returns the equalizer or the gain of a session in words: `has gain -6 dB`.
  func state(_ kind: JournalEntry.Kind, of session: Session) -> String {
    kind == .gain
      ? "has gain \(Self.tenths(session.gain)) dB" : "has equalizer \(Self.name(of: session.equalizer))"
  }

  /// Returns the gains of an equalizer in the form of entries.
  static func value(of gains: EqualizerGains) -> JournalEntry.Value {
    .text(gains.decibels.map { "\(Int($0.rounded()))" }.joined(separator: " "))
  }

  /// Returns the name of an equalizer's preset, or its bands that are not at 0 dB.
  static func name(of gains: EqualizerGains) -> String {
    gains.preset
      ?? zip(EqualizerGains.bands, gains.decibels).filter { $0.1 != 0 }
      .map { "\($0) Hz \($1 > 0 ? "+" : "")\(tenths($1)) dB" }.joined(separator: ", ")
  }

  private func text(_ value: JournalEntry.Value) -> String {
    switch value {
    case .none: ""
    case .number(let number): "\(number)"
    case .decimal(let number): Self.tenths(number)
    case .text(let text): text
    case .time(let moment): "\(zone.local(moment))"
    }
  }

  private func quoted(_ text: String) -> String { "\"\(text)\"" }

  /// Returns ` over 4.5 s`; nothing for less than a tenth of a second.
  private func over(_ entry: JournalEntry) -> String {
    entry.seconds < 0.05 ? "" : " over \(Self.text(of: .nanoseconds(Int64(entry.seconds * 1e9))))"
  }

  /// Returns a duration as `4.5 s`, `5 min`, `1 h 10 min`, tenths of a second below a minute.
  public static func text(of duration: Duration) -> String {
    if duration < .seconds(60) { return "\(tenths(duration.inSeconds)) s" }
    let seconds = Int(duration.inSeconds.rounded())
    return [(seconds / 3600, "h"), (seconds / 60 % 60, "min"), (seconds % 60, "s")]
      .filter { $0.0 > 0 }.map { "\($0) \($1)" }.joined(separator: " ")
  }

  /// Returns the number with one decimal place, without it when it is whole.
  private static func tenths(_ number: Double) -> String {
    let tenths = (number * 10).rounded() / 10
    return tenths == tenths.rounded() && abs(tenths) < 1e15 ? "\(Int(tenths))" : "\(tenths)"
  }

  private static func ending(_ reason: String) -> String {
    switch reason {
    case "finished": "has ended"
    case "stopped": "is stopped"
    case "failed": "has failed"
    case "no_devices": "has no speaker left"
    default: reason
    }
  }

  // MARK: Causes

  /// Returns the value of an entry that was the argument of a call such as `set_volume`; nil without one.
  public static func argument(_ entry: JournalEntry) -> String? {
    if entry.kind == .volume, let asked = entry.fact("asked")?.int { return "\(asked)" }
    return switch (entry.kind, entry.to) {
    case (.volume, .number(let number)), (.balance, .number(let number)): "\(number)"
    case (.role, .text(let text)), (.name, .text(let text)), (.group, .text(let text)): "\"\(text)\""
    default: nil
    }
  }

  /// Returns the chain of a cause: `bedtime.lua:41  set_volume(5), by job "bedtime" (cron "30 23 * * *")`.
  /// - Parameter argument: the argument of the call, if that sets a value; nil without one.
  public func why(_ cause: Cause, _ argument: String? = nil) -> String {
    let chain = cause.chain
    let isTyped = chain.last?.isTypist == true
    var text = ""
    for (index, cause) in chain.enumerated() {
      let isFirst = index == 0
      let before = isFirst ? nil : chain[index - 1]
      text += isFirst ? "" : before?.isShortened == true ? ", … " : ", "
      switch cause.kind {
      case .script:
        // A typed line leads to the person who has typed it, and is left out.
        if !isFirst, isTyped, Self.typed.contains(cause.script ?? "") {
          text.removeLast(2)
        } else {
          text += (isFirst ? "" : "by ") + site(cause, argument, isFirst, isTyped)
        }
      case .job:
        let place = before?.script != cause.script ? place(cause, "of") : ""
        text += (isFirst ? "" : "by ") + "job \(quoted(cause.name))\(Self.schedule(cause))\(place)"
      case .trigger:
        let door = cause.detail.map { Self.door($0) } ?? ""
        text += (isFirst ? "" : "by ") + "trigger \(quoted(cause.name))\(door)"
      case .event: text += event(cause, before)
      case .interruption:
        let phase = cause.detail == "restored" ? "the end of " : ""
        text += (isFirst ? "" : "by ") + "\(phase)interruption \(quoted(cause.name))"
      case .controller: text += (isFirst ? "" : "by ") + "another client (\(cause.client))"
      case .person: text += (isFirst ? "" : "by ") + "person at \(cause.name)"
      case .start: text += (isFirst ? "" : "by ") + "\(cause.script ?? cause.name), started \(time(cause.at))"
      case .driver: text += cause.detail ?? "by itself"
      case .limit: text += (isFirst ? "" : "by ") + cause.name
      }
    }
    return text
  }

  /// Returns the door of a trigger in words; nothing for a script, whose line follows.
  private static func door(_ origin: String) -> String {
    switch origin {
    case "script": ""
    case "file": " from the triggers file"
    default: " from \(origin)"
    }
  }

  /// The script names of lines that are typed at a prompt.
  static let typed: Set<String> = ["(prompt)", "ctl", "stdin"]

  /// Returns the place in a script and its call. A line that a person has typed has no place.
  private func site(_ cause: Cause, _ argument: String?, _ isFirst: Bool, _ isTyped: Bool) -> String {
    let file = cause.script ?? ""
    guard isFirst else {
      return (cause.name.isEmpty ? "" : "\(cause.name) at ") + "\(file):\(cause.line)"
    }
    let call =
      cause.name.isEmpty ? "" : "\(cause.name)(\(cause.name.hasPrefix("set_") ? argument ?? "" : ""))"
    if isTyped, Self.typed.contains(file) { return call }
    return "\(file):\(cause.line)" + (call.isEmpty ? "" : "  \(call)")
  }

  private func place(_ cause: Cause, _ word: String) -> String {
    guard let script = cause.script else { return "" }
    return " \(word) \(script)" + (cause.line > 0 ? ":\(cause.line)" : "")
  }

  private static func schedule(_ cause: Cause) -> String {
    guard let detail = cause.detail, detail != cause.name else { return "" }
    guard detail.hasPrefix("cron ") else { return " (\(detail))" }
    return " (cron \"\(detail.dropFirst(5))\")"
  }

  private func event(_ cause: Cause, _ before: Cause?) -> String {
    switch (cause.name, cause.script) {
    case ("finished", nil): return "it had been heard to its end"
    case ("failed", nil): return "its source failed" + (cause.detail.map { ": \($0)" } ?? "")
    case ("no_devices", nil): return "no speaker was left"
    case ("script ended", let script?): return "as \(script) ended"
    default:
      let place = before?.script == cause.script && before?.kind == .script ? "" : place(cause, "in")
      return "on \(quoted(cause.name))\(cause.detail.map { " of \($0)" } ?? "")\(place)"
    }
  }
}

extension JournalEntry {
  /// The seconds that the change takes: as requested, or from the first step to the last if that is one
  /// second or more.
  fileprivate var seconds: Double {
    if let over = fact("over")?.decimal { return min(over, 1e9) }
    let took = at.duration(to: until)
    return took >= .seconds(1) ? took.inSeconds.rounded() : 0
  }
}

extension JSON {
  fileprivate var decimal: Double? {
    switch self {
    case .number(let number): Double(number)
    case .decimal(let number), .exact(let number): number
    default: nil
    }
  }
}

extension EqualizerGains {
  /// The name of the preset with these gains; nil without one.
  public var preset: String? { Self.presets.first { $0.gains == self }?.name }
}
