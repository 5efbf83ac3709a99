internal import AudioCore
public import EventLoop
public import RecordingKit
public import Scheduling
public import SpeakerKit
internal import StreamCore

/// The failure of a question.
public typealias WhyError = Failure<WhyErrorKind>

/// The kinds of failures of a question.
public enum WhyErrorKind: String, FailureKind {
  /// A name that no room, speaker, job or other thing has.
  case unknown = "why.unknown"
}

/// Answers to the question why a thing is as it is, or why nothing happened: from the known changes. Confined
/// to the loop.
public struct Why {
  /// The most changes that an answer lists for a thing without a state of its own.
  private static let most = 8
  private static let levels: Set<JournalEntry.Kind> = [.volume, .mute, .unmute]
  private static let places: Set<JournalEntry.Kind> = [.join, .leave]
  private static let properties: [Set<JournalEntry.Kind>] = [
    [.name], [.group], [.role], [.balance], [.away, .back],
  ]

  private let journal: Journal
  private let house: House?
  private let jobs: [Job]
  private let text: JournalText
  private let zone: any LocalZone

  /// Answers from `journal`, the open house and the jobs of scripts.
  public init(_ journal: Journal, house: House?, jobs: [Job], zone: any LocalZone) {
    (self.journal, self.house, self.jobs, self.zone) = (journal, house, jobs, zone)
    text = JournalText(zone: zone, now: journal.loop.wallNow)
  }

  /// Returns the lines of the answer about a room, a speaker, a job, an alarm, a script, a trigger, a recording or a
  /// headset.
  /// - Throws: `why.unknown` with the nearest name.
  public func answer(_ thing: String) throws -> [String] {
    guard thing.utf8.count <= longestName else {
      throw WhyError(
        .unknown, "a name has at most \(longestName) bytes, and \"\(thing.excerpt.onOneLine)\" has more")
    }
    let scriptName = thing.hasSuffix(".lua") ? thing : thing + ".lua"
    if let house, let speakers = exact(thing, in: house) { return answer(speakers) }
    if let job = jobs.first(where: { $0.name == thing }) { return answer(job, thing) }
    let known = history(named: thing)
    if !known.isEmpty || journal.jobs.names[thing] != nil { return answer(known, about: thing) }
    if house?.sessions.contains(where: { $0.name == thing }) == true {
      return ["session \"\(thing)\"", "  no change of it is known"]
    }
    let ofScript = history(named: scriptName)
    if !ofScript.isEmpty { return answer(ofScript, about: scriptName) }
    if let house, let speakers = try? house.speakers(in: thing) { return answer(speakers) }
    let wanted = thing.lowercased()
    let near = names.filter { !wanted.isEmpty && $0.lowercased().contains(wanted) }
    if near.count == 1 { return try answer(near[0]) }
    let hint =
      near.isEmpty
      ? nearest(thing, among: names).map { "did you mean \"\($0)\"?" }
        ?? "a room, a speaker, a job, a script, a trigger, a recording or a headset"
      : "one of " + near.map { "\"\($0)\"" }.joined(separator: ", ")
    throw WhyError(
      .unknown, "nothing is known about \"\(thing.prefix(100).description.onOneLine)\"", hint: hint)
  }

  /// Returns the lines of the answer about a recording of the catalogue, whose changes are not known by the
  /// requested name.
  /// - Parameter path: the name of the recording in the journal.
  public func answer(_ entry: RecordingEntry, path: String) -> [String] {
    let found = history(named: path).filter { $0.subject == .recording }
    let job = entry.job.map { ", job \"\($0)\"" } ?? ""
    let gaps = entry.gaps.isEmpty ? "" : ", \(entry.gaps.count) gap\(entry.gaps.count == 1 ? "" : "s")"
    let length = DurationText.describe(.seconds(Int(entry.seconds.rounded())))
    let state = entry.error.map { "\(entry.state.rawValue): \($0)" } ?? entry.state.rawValue
    let station = entry.station ?? StreamAddress.shown(entry.url)
    return ["recording \(entry.path): \(state), \(length)\(gaps)"]
      + (found.isEmpty ? ["  \(text.time(entry.start))  recorded from \(station)\(job)"] : list(found))
  }

  /// The names that have an answer.
  private var names: [String] {
    var names: [String] = []
    func add(_ name: String) { if !name.isEmpty, !names.contains(name) { names.append(name) } }
    for group in house?.groups ?? [] { add(group.name) }
    for device in house?.devices ?? [] { add(device.name) }
    for job in jobs { add(job.name) }
    for name in journal.jobs.names.keys.sorted() { add(name) }
    for change in journal.recent where change.subject != .house && change.subject != .speaker {
      add(change.name)
    }
    return names
  }

  private func exact(_ thing: String, in house: House) -> [Device]? {
    let wanted = thing.lowercased()
    if let group = house.groups.first(where: { $0.name.lowercased() == wanted }) { return group.devices }
    let devices = house.devices.filter { $0.name.lowercased() == wanted || $0.id == thing }
    return devices.count == 1 ? devices : nil
  }

  private func history(named name: String) -> [JournalEntry] {
    var filter = JournalFilter()
    (filter.name, filter.limit) = (name, 20)
    return journal.history(filter)
  }

  // MARK: Speakers

  private func answer(_ devices: [Device]) -> [String] {
    devices.flatMap { device in
      let levels = latest(Self.levels, of: device)
      var lines = section(
        level(device), levels, before: true, isPresent: levels.last.map { isLevel($0, of: device) })
      let (headline, kinds) = sound(device)
      var sounds = latest(kinds, of: device, since: journal.houseBegan)
      // A speaker leaves the session that an interruption suspends: the suspension is the reason.
      if sounds.count == 2, sounds[1].kind == .leave, sounds[0].kind == .suspend, sounds[0].at == sounds[1].at
      {
        sounds.removeLast()
      }
      lines += section(headline, sounds, before: false)
      let places = latest(Self.places, of: device, since: journal.houseBegan)
      if places.last?.number != sounds.last?.number { lines += section(place(device), places, before: false) }
      for kinds in Self.properties {
        let found = latest(kinds, of: device)
        if let last = found.last, isProperty(last, of: device) { lines += section(last, device, found) }
      }
      if let session = device.session {
        lines += sound(.equalizer, JournalText.value(of: session.equalizer), of: session, device)
        lines += sound(.gain, .decimal(session.gain), of: session, device)
      }
      let refusals = latest([.refused], of: device)
      // A refusal is reported for a day.
      if let last = refusals.last, last.until.duration(to: journal.loop.wallNow) <= .seconds(86_400) {
        lines += section(last, device, refusals)
      }
      return lines
    }
  }

  /// Returns the last two changes of some kinds of a speaker, or of a session that it was in, the newest at the end.
  /// - Parameter since: the earliest moment; nil for any.
  private func latest(_ kinds: Set<JournalEntry.Kind>, of device: Device, since: WallTime? = nil)
    -> [JournalEntry]
  {
    var filter = JournalFilter()
    (filter.speakers, filter.kinds, filter.limit, filter.since) = ([device.id], kinds, 2, since)
    return journal.history(filter)
  }

  /// Returns `true` if a speaker still has the level of its last change, so that it was not changed while no
  /// process kept the journal.
  private func isLevel(_ change: JournalEntry, of device: Device) -> Bool {
    change.kind == .mute ? device.isMuted : change.to == .number(device.volume)
  }

  /// Returns `true` if a property of a speaker has the value of its last change.
  private func isProperty(_ change: JournalEntry, of device: Device) -> Bool {
    switch change.kind {
    case .name: change.to == .text(device.name)
    case .group: change.to == .text(device.groupName)
    case .role: change.to == .text(device.role.rawValue)
    case .balance: change.to == .number(device.balance)
    case .away: !device.isAvailable
    case .back: device.isAvailable
    default: false
    }
  }

  /// Returns the lines about the equalizer or the gain of a speaker's session; empty for a flat one, and for
  /// 0 dB.
  private func sound(
    _ kind: JournalEntry.Kind, _ value: JournalEntry.Value, of session: Session, _ device: Device
  ) -> [String] {
    guard value != JournalText.value(of: .flat), value != .decimal(0) else { return [] }
    var filter = JournalFilter()
    (filter.name, filter.kinds, filter.limit, filter.since) = (session.name, [kind], 1, journal.houseBegan)
    let found = journal.history(filter)
    // The last change may have been one of another session with this name.
    let isKnown = found.last?.to == value
    return section(
      "\(device.name) \(text.state(kind, of: session))", isKnown ? found : [], before: true)
  }

  /// Returns the lines about a change that is the present state of a speaker.
  private func section(_ change: JournalEntry, _ device: Device, _ found: [JournalEntry]) -> [String] {
    section("\(device.name) \(text.what(change))", found, before: false, isSaid: true)
  }

  private func level(_ device: Device) -> String {
    let level = device.isMuted ? "is muted, at \(device.volume)" : "is at \(device.volume)"
    return "\(device.name) \(level)" + (device.appliedLimit.map { ", \($0.text)" } ?? "")
  }

  /// Returns the text of a speaker's playback, and the kinds of changes that may be the reason.
  private func sound(_ device: Device) -> (headline: String, kinds: Set<JournalEntry.Kind>) {
    guard let session = device.session, let source = session.source else {
      // In a session, its place is the reason, and not that it left the one before.
      let kinds: Set<JournalEntry.Kind> =
        device.session == nil ? [.stop, .suspend, .leave] : [.stop, .suspend]
      return ("Nothing plays in \(device.name)", kinds)
    }
    let title = "\"\(source.title)\""
    if session.state == .paused { return ("\(device.name) is paused in \(title)", [.pause, .suspend]) }
    return ("\(device.name) plays \(title)", [.play, .resume, .join])
  }

  private func place(_ device: Device) -> String {
    guard let session = device.session else { return "\(device.name) is in no session" }
    return "\(device.name) is in session \"\(session.name)\""
  }

  /// Returns a headline with the cause of the last change; without a change, an empty answer except for a
  /// level.
  /// - Parameter isPresent: `false` if the last change has not led to the present state; nil for `true`.
  private func section(
    _ headline: String, _ found: [JournalEntry], before showsBefore: Bool, isSaid: Bool = false,
    isPresent: Bool? = nil
  ) -> [String] {
    guard let last = found.last else {
      return showsBefore ? [headline, "  no change of it is known"] : []
    }
    guard isPresent != false else {
      return [headline, "  no change to it is known", earlier(last)]
    }
    let was = last.kind == .volume ? before(last) : ""
    var lines = [
      headline + was,
      "  \(text.time(last.at))  \(cause(last, showsBefore || isSaid ? nil : text.what(last)))",
    ]
    if showsBefore, found.count > 1 {
      lines.append(earlier(found[0]))
    }
    return lines
  }

  /// Returns the line about a level before the present one.
  private func earlier(_ change: JournalEntry) -> String {
    let value = if case .number(let number) = change.to { "\(number)" } else { text.what(change) }
    let shown = change.kind == .mute ? "muted" : value
    return "  \(text.time(change.at))  before that, \(shown): \(cause(change, nil))"
  }

  private func before(_ change: JournalEntry) -> String {
    if case .number(let number) = change.from { " (was \(number))" } else { "" }
  }

  /// Returns the cause of a change, after the changed property unless that is nil.
  private func cause(_ change: JournalEntry, _ what: String?) -> String {
    let why = change.cause.map { text.why($0, JournalText.argument(change)) } ?? "no cause is known"
    return what.map { "\($0): \(why)" } ?? why
  }

  // MARK: Jobs and all else

  private func answer(_ job: Job, _ name: String) -> [String] {
    let next =
      job.running > 0
      ? "it runs" : job.next.map { "the next run is at \(text.time($0))" } ?? "no run is scheduled"
    let found = history(named: name)
    let lines = list(found)
    return ["job \"\(name)\": \(next)"]
      + (job.runs == 0 && !found.contains { $0.kind == .run } ? ["  it has not run yet"] : [])
      + failure(of: journal.jobs[job]?.script, after: found.last) + lines
  }

  private func answer(_ found: [JournalEntry], about name: String) -> [String] {
    let isJob = found.contains { $0.subject == .job } || found.isEmpty
    let kind = isJob ? .job : found.last?.subject ?? .house
    let headline =
      switch kind {
      case .job: "job \"\(name)\": no run is scheduled"
      case .trigger: "trigger \"\(name)\""
      case .recording: "recording \(name)"
      case .session: "session \"\(name)\""
      case .script, .headset, .house, .speaker: name
      }
    // A job ends with its script.
    let script = isJob ? journal.jobs.names[name] ?? found.compactMap { $0.cause?.script }.last : nil
    return [headline] + failure(of: script, after: found.last) + list(found)
  }

  /// Returns the line about a failure or the end of a job's script since a change; empty while the script is
  /// all right.
  private func failure(of script: String?, after change: JournalEntry?) -> [String] {
    guard let script, let last = history(named: script).last(where: { $0.subject == .script }),
      [.stale, .broken, .ended, .gone].contains(last.kind), last.at >= change?.at ?? last.at
    else { return [] }
    return ["  \(text.time(last.at))  its script \(script) \(text.what(last))"]
  }

  /// Returns the latest of the changes, the newest first.
  private func list(_ found: [JournalEntry]) -> [String] {
    let told = found.filter { ![.interrupt, .release].contains($0.kind) }
    return told.suffix(Self.most).reversed().map { change in
      let line = "  \(text.time(change.at))  \(text.what(change))"
      return Self.told(change).map { "\(line): \(text.why($0))" } ?? line
    }
  }

  /// Returns the cause of a change; for the job that the answer is about, its parent; nil without one.
  private static func told(_ change: JournalEntry) -> Cause? {
    guard let cause = change.cause, cause.kind == .job, cause.name == change.name else { return change.cause }
    return cause.parent
  }
}
