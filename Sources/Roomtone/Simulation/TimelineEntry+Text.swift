public import AudioCore
internal import EventLoop
internal import HeadsetKit
internal import HeadsetLink
internal import Home
internal import SpeakerKit

/// The texts of the lines of a time line.
extension TimelineEvent {
  /// Returns the text of the line, in which a job is called `job`.
  func text(job: String?) -> String {
    switch self {
    case .play(let source, let level): "▶ \(source) \(Self.text(level))"
    case .pause: "⏸ paused"
    case .stop(let source, let reason): "■ \(source) \(Self.text(reason))"
    case .volume(let from, let to, let over, let steps):
      "volume \(from) → \(to)" + (steps > 1 ? " in \(steps) steps" : "") + Self.over(over)
    case .mute(let volume, wasMuted: true): "volume \(volume), muted"
    case .mute(_, wasMuted: false): "muted"
    case .unmute(let volume): "volume \(volume)"
    case .gain(let from, let to, let over):
      over > .zero
        ? "gain \(Self.tenths(from)) → \(Self.tenths(to)) dB" + Self.over(over) : "gain \(Self.tenths(to)) dB"
    case .streamGain(let to): "the stream's gain \(Self.tenths(to)) dB"
    case .equalizer(let gains): "equalizer \(gains.preset ?? Self.text(gains))"
    case .seek(let seconds): "seeks to \(clockText(seconds))"
    case .move(let seconds): "moves \(seconds < 0 ? "back" : "forward") \(Self.tenths(abs(seconds))) s"
    case .join(let source): "joins \(source)"
    case .leave: "leaves"
    case .away: "is away"
    case .back: "is back"
    case .rename(let name): "is called \(name) from now on"
    case .group(let name): name.map { "is in group \($0)" } ?? "is in no group"
    case .interruption(.begin, let name, let duck):
      "\(name) begins" + (duck.map { " over what plays, \(Self.tenths($0)) dB lower" } ?? "")
    case .interruption(.end, let name, _): "\(name) ends"
    case .recording(.begin, let path): "● recording \(path)"
    case .recording(.end(let seconds), let path):
      "■ \(path) is recorded, \(Self.text(of: .seconds(Int(seconds.rounded()))))"
    case .recording(.failure(let message, let code), let path):
      "! \(path) is not recorded: \(message) (\(code))"
    case .title(let title): "♪ \(title)"
    case .round(let title, 1, _): "♪ \(title), from the beginning again"
    case .round(let title, let count, let until):
      "♪ \(title), from the beginning again \(count) times, the last at \(until)"
    case .reconnect(let gap):
      "connected again, "
        + ((gap * 10).rounded() > 0 ? "\(Self.tenths(gap)) s are missing" : "nothing is missing")
    case .run(1, _): "\(Self.text(job: job)) runs"
    case .run(let count, let until): "\(Self.text(job: job)) runs \(count) times, the last at \(until)"
    case .skipped(let due, isRequested: false):
      "! \(Self.text(job: job)) skips its run of \(due): the one before has not ended"
    case .skipped(let due, isRequested: true):
      "\(Self.text(job: job)) leaves out its run of \(due), as requested"
    case .missed(let due): "! \(Self.text(job: job)) has missed its run of \(due)"
    case .failed(let message, _, let count):
      "! \(Self.text(job: job)) failed: \(message)" + (count > 1 ? " (\(count) times in a row)" : "")
    case .withoutSun(let date, let next):
      "\(Self.text(job: job)) has no run from \(date) on, as the sun stays up or down all day"
        + (next.map { ", until \($0)" } ?? "")
    case .headset(let event, let name): Self.text(event, name)
    case .print(let text): text
    case .log(let level, let message, let fields):
      "\(level.rawValue): \(message)" + fields.map { " \($0.name)=\($0.value)" }.joined()
    case .error(let message, let code): "! \(message) (\(code))"
    case .failure(let message, _): "! \(message)"
    case .warning(let message, _): "? \(message)"
    case .mark(_, let message, _): message
    case .summary(let summary): Self.text(summary, job)
    }
  }

  private static func text(job: String?) -> String { "job \"\(job ?? "")\"" }

  private static func text(_ level: Level) -> String {
    switch level {
    case .none: "at no volume"
    case .muted: "muted"
    case .volumes(let least, let most) where least == most: "at volume \(least)"
    case .volumes(let least, let most): "at volume \(least) to \(most)"
    }
  }

  private static func text(_ reason: EndReason) -> String {
    switch reason {
    case .finished: "has ended"
    case .stopped: "is stopped"
    case .failed: "has failed"
    case .noDevices: "has no speaker left"
    case .replaced: "is replaced"
    }
  }

  private static func text(_ event: HeadsetEvent, _ name: String?) -> String {
    switch event {
    case .connected: "connected" + (name.map { ": \($0)" } ?? "")
    case .disconnected(let reason): reason == "disconnected" ? reason : "disconnected: \(reason)"
    case .released: "released"
    case .noiseCancelling(let isOn): "noise cancelling \(isOn ? "on" : "off")"
    case .ambient(let left, let right): "ambient \(left) left, \(right) right"
    case .equalizer(let preset, let values):
      "equalizer \(Headset.presetName(preset) ?? "\(preset)"): "
        + values.map { $0 > 0 ? "+\($0)" : "\($0)" }.joined(separator: " ")
    case .bootloader: "goes over to its bootloader"
    case .progress(let fraction): "update \(Int(fraction * 100)) %"
    case .updateCompleted(let version): "firmware \(version) runs"
    case .battery(let battery): "battery \(battery.percent) %" + (battery.isCharging ? ", charging" : "")
    case .error(let error): "! \(error.message) (\(error.code))"
    }
  }

  private static func text(_ summary: Summary, _ job: String?) -> String {
    func count(_ number: Int, _ one: String, _ many: String) -> String {
      "\(number) \(number == 1 ? one : many)"
    }
    switch summary {
    case .job(let runs, let failures, let skipped, let missed, let next):
      var parts = [runs == 0 ? "no run" : count(runs, "run", "runs")]
      if failures > 0 { parts.append("\(failures) failed") }
      if skipped > 0 { parts.append("\(skipped) skipped") }
      if missed > 0 { parts.append("\(missed) missed") }
      if runs == 0 { parts.append(next.map { "the next at \($0)" } ?? "none scheduled") }
      return "\(text(job: job)): \(parts.joined(separator: ", "))"
    case .unheard(let sources): return "never heard: \(Self.list(sources))"
    case .total(let runs, let failures, let warnings):
      return [
        count(runs, "run", "runs"), count(failures, "failure", "failures"),
        count(warnings, "warning", "warnings"),
      ].joined(separator: ", ")
    }
  }

  /// Returns names with commas between them; of many the first and a count.
  static func list(_ names: [String]) -> String {
    let shown = names.prefix(names.count > 4 ? 3 : 4).joined(separator: ", ")
    return names.count > 4 ? "\(shown) and \(names.count - 3) more" : shown
  }

  /// Returns the bands that are not at 0 dB.
  private static func text(_ gains: EqualizerGains) -> String {
    zip(EqualizerGains.bands, gains.decibels).filter { $0.1 != 0 }
      .map { "\($0) Hz \($1 > 0 ? "+" : "")\(tenths($1)) dB" }.joined(separator: ", ")
  }

  /// Returns ` over 4.5 s`; nothing for what is no tenth of a second.
  private static func over(_ duration: Duration) -> String {
    duration < .milliseconds(50) ? "" : " over \(text(of: duration))"
  }

  /// Returns a duration as `4.5 s`, `5 min`, `1 h 10 min`, tenths of a second below a minute.
  static func text(of duration: Duration) -> String {
    if duration < .seconds(60) { return "\(tenths(duration.inSeconds)) s" }
    let seconds = Int(duration.inSeconds.rounded())
    return [(seconds / 3600, "h"), (seconds / 60 % 60, "min"), (seconds % 60, "s")]
      .filter { $0.0 > 0 }.map { "\($0) \($1)" }.joined(separator: " ")
  }

  /// The number with one decimal place, without it when it is whole.
  private static func tenths(_ number: Double) -> String {
    let tenths = (number * 10).rounded() / 10
    return tenths == tenths.rounded() ? "\(Int(tenths))" : "\(tenths)"
  }
}

extension EqualizerGains {
  /// The name of the preset that has these gains; nil for none.
  public var preset: String? { Self.presets.first { $0.gains == self }?.name }
}
