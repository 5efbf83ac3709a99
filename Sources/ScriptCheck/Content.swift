internal import EventLoop
internal import Reference
internal import Scheduling

/// The meaning of a text in a call.
enum Content: Equatable {
  case duration, time, date, cron, days, zone, speaker, group, target, station, source, preset, file

  /// The meaning by the type alone.
  init?(type: ReferenceType) {
    let names = type.alternatives.map { $0.element?.text ?? $0.text }
    if names.contains("Duration") {
      self = .duration
    } else if names.contains("speaker.Target") || names.contains("fade.Target") {
      self = .target
    } else {
      return nil
    }
  }

  init?(parameter: ReferenceParameter, of function: ReferenceFunction) {
    switch (function.name, parameter.name) {
    case ("schedule.at", "time"): self = .time
    case ("schedule.cron", "line"): self = .cron
    case ("speaker.device", _): self = .speaker
    case ("speaker.group", _): self = .group
    case ("speaker.play_stream", "url_or_stream"), ("speaker.Session:play_stream", "url_or_stream"),
      ("stream.new", "url"):
      self = .station
    case ("eq.apply", "name"): self = .preset
    case ("speaker.play", "path"), ("speaker.Session:play", "path"): self = .file
    default: self.init(type: parameter.type)
    }
  }

  init?(option: ReferenceField, of function: String) {
    switch (function, option.name) {
    case ("alarm.set", "at"), ("recorder.schedule", "at"): self = .time
    case ("recorder.schedule", "cron"): self = .cron
    case (_, "days") where option.text.hasPrefix("Days of the week"): self = .days
    case ("schedule.cron", "timezone"), ("recorder.schedule", "timezone"): self = .zone
    case ("stream.Stream:record", "until"): self = .date
    case ("recorder.schedule", "url"), ("recorder.schedule", "fallbacks"): self = .station
    case ("alarm.set", "sources"): self = .source
    case ("announce.play", "[1]"): self = .file
    default: self.init(type: option.type)
    }
  }
}

extension ScriptCheck {
  /// Returns the complaint about a text that can't have the expected meaning; nil for any other text.
  func complaint(about text: String, _ content: Content, _ expected: Expectation) -> (
    ScriptFinding.Code, String
  )? {
    switch content {
    case .duration: return refusal { () throws(ScheduleError) in _ = try DurationText.parse(text) }
    case .time: return timeComplaint(text)
    case .date:
      return refusal { () throws(ScheduleError) in
        if text.utf8.prefix(5).last == UInt8(ascii: "-") {
          _ = try LocalDateTime(parsing: text)
        } else {
          _ = try TimeOfDay(parsing: text)
        }
      }
    case .cron:
      if text == "@reboot" { return (.time, "\"@reboot\" is not a time: a script begins when it is run") }
      return refusal { () throws(ScheduleError) in _ = try CronExpression(parsing: text) }
    case .days: return refusal { () throws(ScheduleError) in _ = try Weekdays(parsing: text) }
    case .zone: return refusal { () throws(ScheduleError) in _ = try ZoneFile(meaning: text) }
    case .speaker:
      guard let names = house.speakers else { return nil }
      if let group = house.groups?.first(where: { $0.lowercased() == text.lowercased() }),
        !names.contains(where: { $0.lowercased() == text.lowercased() })
      {
        return (.house, "\(quoted(group)) is a group, not a speaker; write speaker.group \(quoted(group))")
      }
      return house.complaint(text, "speaker", among: names).map { (.house, $0) }
    case .group:
      return house.groups.flatMap { house.complaint(text, "group", among: $0) }.map { (.house, $0) }
    case .target: return targetComplaint(text)
    case .station: return stationComplaint(text)
    case .source:
      return text.contains(".") || text.contains("/") ? fileComplaint(text) : stationComplaint(text)
    case .file: return fileComplaint(text)
    case .preset: return presetComplaint(text)
    }
  }

  private func refusal(_ parse: () throws(ScheduleError) -> Void) -> (ScriptFinding.Code, String)? {
    do throws(ScheduleError) {
      try parse()
      return nil
    } catch {
      return (.time, error.message + (error.hint.map { "; \($0)" } ?? ""))
    }
  }

  private func timeComplaint(_ text: String) -> (ScriptFinding.Code, String)? {
    if let date = try? LocalDateTime(parsing: text) { return pastComplaint(date) }
    return refusal { () throws(ScheduleError) in
      if SunTime.isMeant(by: text) {
        _ = try SunTime(parsing: text)
      } else if text.utf8.prefix(5).last == UInt8(ascii: "-") {
        _ = try LocalDateTime(parsing: text)
      } else {
        _ = try TimeOfDay(parsing: text)
      }
    }
  }

  /// Returns the complaint about a file that does not exist; nil if the script names it twice, as it may
  /// create it.
  private func fileComplaint(_ text: String) -> (ScriptFinding.Code, String)? {
    guard !isSpec, texts[text, default: 0] <= 1, !text.contains("://"), !text.isEmpty,
      checker.modules.hasFile(text) == false
    else { return nil }
    return (.file, "there is no file \(quoted(text)), in the working folder or beside the script")
  }

  /// Returns the complaint about a date that has passed.
  private func pastComplaint(_ date: LocalDateTime) -> (ScriptFinding.Code, String)? {
    guard let now = checker.now, !isSpec, date < now else { return nil }
    return (.time, "\(date) has passed; it is \(now) now")
  }

  private func targetComplaint(_ text: String) -> (ScriptFinding.Code, String)? {
    guard let speakers = house.speakers, let groups = house.groups else { return nil }
    guard let complaint = house.complaint(text, "speaker", among: speakers),
      house.complaint(text, "group", among: groups) != nil
    else { return nil }
    guard complaint.contains("could be several") else {
      let all = groups + speakers.filter { !groups.contains($0) }
      return house.complaint(text, "group or speaker", among: all).map { (.house, $0) }
    }
    return (.house, complaint)
  }

  private func stationComplaint(_ text: String) -> (ScriptFinding.Code, String)? {
    guard !text.contains(":"), !text.contains("/"), !house.stations.contains(text) else { return nil }
    let hint =
      nearest(text, among: house.stations).map { "did you mean \(quoted($0))?" }
      ?? (house.stations.isEmpty
        ? "the configuration has no stations; a URL begins with http:// or https://"
        : "there are \(house.stations.sorted().map { quoted($0) }.joined(separator: ", "))")
    return (.house, "no station is called \(quoted(text)); \(hint)")
  }

  /// Returns the complaint about a preset. Other scripts may define presets, so only a name that resembles a
  /// known one is a mistake.
  private func presetComplaint(_ text: String) -> (ScriptFinding.Code, String)? {
    var known = reference.alias("speaker.EqualizerPreset")?.values.map(\.text) ?? []
    known += reference.alias("headset.Preset")?.values.map(\.text) ?? []
    known += reference.alias("headset.Preset").map { reference.literals(of: $0.type).map(\.text) } ?? []
    known += ownNames
    guard !known.contains(text), let near = nearest(text, among: known) else { return nil }
    return (.house, "no preset is called \(quoted(text)); did you mean \(quoted(near))?")
  }
}
