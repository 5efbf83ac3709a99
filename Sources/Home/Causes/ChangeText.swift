internal import AudioCore
public import EventLoop
public import Scheduling

extension Cause {
  /// The command of the cause in words: `stop at bedtime.lua:41`, `person at ctl`; nil for what is no command.
  var call: String? {
    let typist = first.kind == .person && ChangeText.typed.contains(script ?? "") ? first : self
    return switch typist.kind {
    case .script: (name.isEmpty ? "" : "\(name) at ") + "\(script ?? ""):\(line)"
    case .person: "person at \(typist.name)"
    case .controller: "another client (\(typist.name))"
    case .job, .trigger, .event, .interruption, .start, .driver: nil
    }
  }
}

/// The texts of changes and causes for people, the same in `ctl`, at the prompt and under `simulate`.
public struct ChangeText {
  private let zone: any LocalZone
  private let now: WallTime

  /// Texts with times of a zone; those of the day of `now` have no date.
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

  /// Returns a change as a line of the history: `23:30:00  Kitchen  volume 32 → 5  bedtime.lua:41  set_volume(5)`.
  public func line(_ change: Change) -> String {
    let name = change.subject == .house ? "" : "  \(change.name)"
    return time(change.at) + name + "  " + what(change)
      + (change.cause.map { "  " + why($0, Self.argument(change)) } ?? "")
  }

  // MARK: Changes

  /// Returns the change of its thing in words: `volume 32 → 5`.
  public func what(_ change: Change) -> String {
    let (from, to, detail) = (text(change.from), text(change.to), change.detail ?? "")
    let times = change.count > 1 ? " (\(change.count) times)" : ""
    switch change.kind {
    case .volume:
      let took = change.at.duration(to: change.until)
      return "volume \(from) → \(to)"
        + (took >= .seconds(1)
          ? " over \(DurationText.describe(.seconds(Int(took.inSeconds.rounded()))))" : "")
    case .mute: return "muted"
    case .unmute: return "unmuted at \(to)"
    case .join: return "joins session \(quoted(to))"
    case .leave: return "leaves its session"
    case .play: return "plays \(quoted(to))"
    case .pause: return "\(quoted(from)) is paused"
    case .stop: return "\(quoted(from)) \(Self.ending(detail))"
    case .suspend: return "silenced by \(quoted(detail))"
    case .resume: return "goes on after \(quoted(detail))"
    case .interrupt: return "begins"
    case .release: return "ends"
    case .name: return "is called \(quoted(to)), before \(quoted(from))"
    case .group: return to == "harman" ? "leaves group \(quoted(from))" : "is in group \(quoted(to))"
    case .role: return "has role \(to)"
    case .balance: return "has balance \(to)"
    case .away: return "can't be reached"
    case .back: return "can be reached again"
    case .added: return "is new in the house"
    case .removed: return "is gone from the house"
    case .equalizer: return "has equalizer \(to)"
    case .gain: return "has gain \(to) dB, before \(from)"
    case .seek: return "moves to second \(to)"
    case .recording: return "is being recorded"
    case .recorded: return "is recorded" + (detail.isEmpty ? "" : ", \(detail)")
    case .unrecorded: return "is not recorded: \(detail)"
    case .headset: return detail
    case .run: return "runs"
    case .failed: return "failed: \(detail)"
    case .cancelled: return "is scheduled no more"
    case .skipped: return "did not run at \(to): \(detail)"
    case .missed: return "did not run at \(to): \(detail)"
    case .omitted: return "will not run at \(to), as was asked"
    case .sunless: return detail
    case .alarm: return detail
    case .started: return "starts"
    case .ended: return "ended" + (detail.isEmpty ? "" : " \(detail)")
    case .gone: return "ended, as its file is gone"
    case .stale: return "does not load, its version before runs on: \(detail)"
    case .broken: return "does not run: \(detail)"
    case .trigger:
      let value = detail.isEmpty ? "" : " with \(detail)"
      return "came\(value), and " + (to == "0" ? "nobody listened" : "\(to) listened")
    case .refused: return "refused a command\(times): \(detail)"
    case .up: return "the daemon begins"
    case .down: return "the daemon ends"
    }
  }

  /// Returns the equalizer or the gain of a session in words: `has gain -6 dB`.
  func state(_ kind: Change.Kind, _ value: Change.Value) -> String {
    kind == .gain ? "has gain \(text(value)) dB" : "has equalizer \(text(value))"
  }

  /// Returns the gains of an equalizer as changes have them.
  static func value(of gains: EqualizerGains) -> Change.Value {
    .text(gains.decibels.map { "\(Int($0.rounded()))" }.joined(separator: " "))
  }

  private func text(_ value: Change.Value) -> String {
    switch value {
    case .none: ""
    case .number(let number): "\(number)"
    case .decimal(let number):
      number == number.rounded() ? "\(Int(number))" : "\((number * 10).rounded() / 10)"
    case .text(let text): text
    case .time(let moment): time(moment)
    }
  }

  private func quoted(_ text: String) -> String { "\"\(text)\"" }

  private static func ending(_ reason: String) -> String {
    switch reason {
    case "finished": "has ended"
    case "stopped": "was stopped"
    case "failed": "has failed"
    case "no_devices": "was stopped without a speaker"
    default: reason
    }
  }

  // MARK: Causes

  /// Returns the value of a change that a call such as `set_volume` had as its argument; nil for none.
  static func argument(_ change: Change) -> String? {
    switch (change.kind, change.to) {
    case (.volume, .number(let number)), (.balance, .number(let number)): "\(number)"
    case (.role, .text(let text)), (.name, .text(let text)), (.group, .text(let text)): "\"\(text)\""
    default: nil
    }
  }

  /// Returns the chain of a cause: `bedtime.lua:41  set_volume(5), by job "bedtime" (cron "30 23 * * *")`.
  /// - Parameter argument: the argument of the call, if that sets a value; nil for none.
  public func why(_ cause: Cause, _ argument: String? = nil) -> String {
    let chain = cause.chain
    let isTyped = chain.last?.kind == .person
    var text = ""
    for (index, cause) in chain.enumerated() {
      let isFirst = index == 0
      let before = isFirst ? nil : chain[index - 1]
      text += isFirst ? "" : before?.isShortened == true ? ", … " : ", "
      switch cause.kind {
      case .script:
        // A person has typed what leads on to the person.
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
      case .controller: text += (isFirst ? "" : "by ") + "another client (\(cause.name))"
      case .person: text += (isFirst ? "" : "by ") + "person at \(cause.name)"
      case .start: text += (isFirst ? "" : "by ") + "\(cause.script ?? cause.name), started \(time(cause.at))"
      case .driver: text += cause.detail ?? "by itself"
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

  /// The names of what is typed at a prompt.
  static let typed: Set<String> = ["(prompt)", "ctl", "stdin"]

  /// Returns the place in a script and its call. What a person has typed has no place.
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
