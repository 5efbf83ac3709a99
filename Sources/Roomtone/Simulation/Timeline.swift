internal import EventLoop
public import Home
internal import JSONText
public import LuaRuntime
internal import MQTT
internal import Scheduling
internal import SpeakerKit
internal import StreamCore

/// Publishes the events of a house in words for a person, a line each, in order of time:
/// `06:45:00  Bedroom  ▶ wake_up.mp3 at volume 5`.
///
/// Reads the journal, and for levels the commands to the house: a line of a level is about a command, a fade
/// is one line with the moment and the length of its call. Speakers of one group that do the same are one
/// room. Confined to the loop.
public final class Timeline {
  private let loop: EventLoop
  private let journal: Journal
  private let zone: any LocalZone
  private var lines = TimelineLines()
  private weak var house: House?
  /// Sources of sessions, nil for a stream on none, as their playback began or continued, and the moment of that.
  private var begun: [SessionID?: (source: JournalEntry.Value, at: Instant)] = [:]
  /// The levels of speakers, by their ids, as the last commands have set them.
  private var levels: [String: (volume: Int, isMuted: Bool)] = [:]
  /// The rooms in which each session was last.
  private var places: [SessionID?: String] = [:]
  /// The sessions whose queues have begun again.
  private var repeating: Set<SessionID?> = []
  /// The titles of sources that were heard to their ends, and are stopped by the host.
  private var heard: Set<String> = []
  private var rivals = TimelineRivals()
  /// `true` while warnings of rivals wait for the end of their moment.
  private var isWarning = false
  private var summary = TimelineSummary()
  private var listeners = Listeners<(JournalEntry) -> Void>()

  /// Follows the house of `engine`, from its opening on.
  public init(_ engine: Engine) {
    (loop, journal, zone) = (engine.loop, engine.journal, engine.options.zone)
    engine.house.whenOpen { [weak self] in self?.follow($0) }
    journal.listen { [weak self] in self?.receive($0) }
    for url in engine.options.stations.keys.map(\.url).sorted() {
      summary.addSource(url, isHeard: false)
    }
    engine.onEnding = { [unowned self, unowned engine] in
      warn(ofUnused: engine.triggers.planned.map { ("trigger \"\($0.trigger.name)\"", $0.time) })
      warn(ofUnused: engine.mqtt.planned.map { ("message \"\($0.message.topic)\"", $0.time) })
      summary.add(engine.scheduledJobs)
    }
  }

  /// Calls `body` with each entry when it is complete, its room and its job included.
  public func listen(_ body: @escaping (JournalEntry) -> Void) { _ = listeners.add(body) }

  /// Adds a warning for triggers or messages whose times are before the simulation or after it.
  private func warn(ofUnused planned: [(name: String, time: WallTime)]) {
    guard !planned.isEmpty else { return }
    let names = planned.map { "\($0.name) of \(zone.local($0.time))" }
    let verb = planned.count == 1 ? "does" : "do"
    summary.warnings += 1
    add(
      .warning, detail: "\(names.shortList) \(verb) not come in the time of the simulation",
      [.init("jobs", .array([]))])
  }

  /// Adds a line that the script printed or wrote.
  public func addPrinted(_ text: String) { add(.print, detail: text) }

  /// Adds a line of the log.
  public func addLog(_ level: LogLevel, _ message: String, _ fields: [(String, String)]) {
    add(
      .log, detail: message,
      [
        .init("level", .string(level.rawValue)),
        .init("fields", .object(fields.map { ($0.0, .string($0.1)) })),
      ])
  }

  /// Adds an error that no code of the script caught. The error of a job becomes an entry with the job's
  /// failure, which follows at once.
  public func add(_ failure: LuaError) {
    guard !summary.keep(failure) else { return }
    summary.failures += 1
    add(.failure, detail: failure.description, [.init("code", .string(failure.code))])
  }

  /// Adds an entry about an action of the script itself.
  private func add(_ kind: JournalEntry.Kind, detail: String, _ facts: [JournalEntry.Fact] = []) {
    var entry = JournalEntry(kind, of: .script, at: loop.wallNow, detail: detail, facts: facts)
    entry.job = LuaRoutine.currentOrigin.flatMap(Cause.job(of:))
    add(entry, "")
  }

  private func add(_ entry: JournalEntry, _ room: String) {
    lines.add(entry, room: room, at: loop.now)
    publish()
  }

  /// Publishes the lines that are complete.
  private func publish() { publish(lines.removeComplete(at: loop.now)) }

  private func publish(_ entries: [JournalEntry]) {
    for entry in entries { for listener in listeners.all { listener(entry) } }
  }

  /// Completes the open lines, and adds the summary; the last call.
  public func finish() {
    addRivals(at: loop.wallNow, loop.now)
    lines.endAllMoves(at: loop.now)
    publish(lines.removeComplete(at: nil) + summary.entries(at: loop.wallNow, in: zone))
  }

  // MARK: The journal

  private func receive(_ entry: JournalEntry) {
    var entry = entry
    // Entries about effects of commands come later, outside of any routine.
    entry.job = LuaRoutine.currentOrigin.flatMap(Cause.job(of:))
    summary.count(entry)
    switch entry.kind {
    case .source: summary.addSource(entry.name, isHeard: entry.to == .number(1))
    case .heard: heard.insert(entry.detail ?? "")
    case .join where entry.fact("source") != nil, .leave, .away, .back, .name: addOfSpeaker(entry)
    case .error where entry.subject == .speaker: addOfSpeaker(entry)
    case .group: add(entry, entry.name)
    case .added:
      guard let device = house?.devices.first(where: { [$0.id] == entry.speakers }) else { break }
      levels[device.id] = (device.volume, device.isMuted)
    case .play, .pause, .stop, .equalizer, .seek, .gain, .interrupt, .release, .title, .error, .reconnect:
      addOfSession(entry)
    case .recording, .recorded, .unrecorded: add(entry, "Recorder")
    case .headset: add(entry, "Headset")
    case .run:
      (entry.job, entry.cause) = (entry.name, entry.cause?.parent)
      lines.addRepetition(entry, room: "", at: loop.now)
      publish()
    case .failed:
      let error = summary.removeFailure(of: entry.name)
      entry.detail = error?.description ?? entry.detail
      entry.facts.append(.init("code", .optional(error?.code)))
      addOfJob(entry)
    case .skipped, .missed, .omitted, .sunless: addOfJob(entry)
    case .message: add(entry, "")
    case .trigger, .fallback, .announcement:
      entry.cause = nil
      add(entry, entry.kind == .trigger ? "" : entry.name)
    // An alarm that is kept is reported as a mark too, which has the number 0.
    case .alarm where entry.number == 0:
      entry.cause = nil
      add(entry, entry.name)
    default: break
    }
  }

  private func addOfSpeaker(_ entry: JournalEntry) {
    // One that was removed is in the house no more.
    let device = house?.devices.first { [$0.id] == entry.speakers }
    var entry = entry
    let isMove = entry.kind == .join || entry.kind == .leave
    entry.job = isMove ? entry.cause?.job : nil
    if entry.kind == .away, let device { lines.endMove(of: device.id, at: loop.now) }
    lines.add(
      entry, speaker: entry.name, of: device.map(room) ?? .init(name: entry.name, size: 1), at: loop.now)
    publish()
  }

  private func addOfJob(_ entry: JournalEntry) {
    var entry = entry
    entry.job = entry.name
    // A cause that is the schedule or the run of the job says nothing new.
    if entry.kind != .omitted || entry.cause?.kind == .job { entry.cause = nil }
    add(entry, "")
  }

  private func addOfSession(_ entry: JournalEntry) {
    var entry = entry
    let speakers = entry.speakers.compactMap { id in house?.devices.first { $0.id == id } }
    // A session that has lost its speakers keeps the rooms that it had.
    if !speakers.isEmpty { places[entry.session] = house?.rooms(of: speakers).joined(separator: ", ") }
    let room = entry.speakers.isEmpty ? "" : places[entry.session] ?? ""
    switch entry.kind {
    case .stop:
      repeating.remove(entry.session)
      if case .text(let title) = entry.from, entry.detail == EndReason.stopped.rawValue,
        heard.remove(title) != nil
      {
        entry.detail = EndReason.finished.rawValue
      }
      if entry.detail == EndReason.stopped.rawValue { entry.job = entry.cause?.job ?? entry.job }
    case .gain where entry.number > 0:
      entry.job = entry.cause?.job ?? entry.job
      lines.addGain(entry, room: room, at: loop.now, isNew: entry.at == loop.wallNow)
      return publish()
    case .interrupt, .release:
      entry.job = entry.cause?.job ?? entry.job
      // The moves of speakers out of their sessions and back are part of an interruption.
      if entry.fact("duck") == nil { lines.removeMoves(of: speakers.map(\.name), at: loop.now) }
    case .title:
      entry.cause = nil
      if let index = entry.fact("index")?.int { return addTrack(entry, index, room) }
    case .error, .reconnect: entry.cause = nil
    default:
      if entry.kind == .play { begun[entry.session] = (entry.to, loop.now) }
      entry.job = entry.cause?.job ?? entry.job
    }
    add(entry, room)
  }

  /// Adds a file of a queue: the first one has the line of its playback, and begins another round later.
  private func addTrack(_ entry: JournalEntry, _ index: Int, _ room: String) {
    if let begun = begun[entry.session], begun.source == entry.to, begun.at == loop.now { return }
    guard case .text(let source) = entry.to, let count = entry.fact("of")?.int else { return }
    let isRound = index == 1
    if isRound { repeating.insert(entry.session) }
    guard isRound || !repeating.contains(entry.session) else { return }
    let line = JournalEntry(
      isRound ? .round : .title, of: .session, entry.name, at: entry.at,
      to: .text("\(source), \(index) of \(count)"))
    guard isRound else { return add(line, room) }
    lines.addRepetition(line, room: room, at: loop.now)
    publish()
  }

  // MARK: Levels

  private func follow(_ house: House) {
    self.house = house
    for device in house.devices { levels[device.id] = (device.volume, device.isMuted) }
    house.onCommand { [weak self] in self?.receive($0) }
  }

  private func receive(_ command: HouseCommand) {
    if case .level(let commands, let author) = command { receive(commands, by: author) }
    guard let reference = LuaRoutine.current else { return }
    let author = CommandAuthor(
      origin: reference.origin, script: reference.routine.map { ObjectIdentifier($0.state) })
    if case .play(let session) = command { rivals.keep(author, playing: session.id) }
    let (change, devices, session): (TimelineRivals.Change, [Device], Session?)
    switch command {
    case .level(let commands, by: .caller):
      let speakers = commands.filter { $0.command != .fadeEnd }.map(\.device)
      (change, devices, session) = (.volume, speakers, speakers.first?.session)
    case .play(let player): (change, devices, session) = (.source, player.devices, player)
    case .stop(let player): (change, devices, session) = (.end, player.devices, player)
    case .level, .move, .sound, .resume, .edit: return
    }
    // Interruptions restore the state that they find, and don't change the sessions that they play over.
    let isInterruption = house?.isInterruption(session) == true
    for device in devices {
      let room = room(of: device).name
      if !isInterruption {
        rivals.add(change, from: author, in: room, at: loop.now)
      } else if case .volume = change, let session = device.session,
        let player = rivals.player(of: session.id),
        house?.isLevelOfInterruption(device) == true
      {
        rivals.add(volumeFrom: author, in: room, of: player, at: loop.now)
      }
    }
    guard rivals.hasWarnings, !isWarning else { return }
    isWarning = true
    let (time, moment) = (loop.wallNow, loop.now)
    // Further changes by the two routines at the same moment belong to the same warning.
    loop.after(.milliseconds(1), keepsAlive: false) { [weak self] in self?.addRivals(at: time, moment) }
  }

  private func addRivals(at time: WallTime, _ moment: Instant) {
    isWarning = false
    for warning in rivals.removeWarnings() {
      summary.warnings += 1
      let entry = JournalEntry(
        .warning, of: .script, at: time, detail: warning.text,
        facts: [.init("jobs", .array(warning.jobs.map { .string($0) }))])
      lines.add(entry, room: warning.room, at: moment)
    }
    publish()
  }

  /// Adds commands for levels, after the events that the house has emitted before them.
  private func receive(_ commands: [(device: Device, command: LevelCommand)], by author: LevelAuthor) {
    let (job, time, moment) = (LuaRoutine.currentOrigin.flatMap(Cause.job(of:)), loop.wallNow, loop.now)
    let all = commands.map { device, command in
      (device, command, room(of: device), journal.cause(ofLevel: device, by: author))
    }
    house?.events.afterEvents { [weak self] in
      guard let self else { return }
      for (device, command, room, cause) in all {
        var entry = JournalEntry(
          .volume, of: .speaker, device.name, at: time, speakers: [device.id], cause: cause)
        entry.job = job
        level(command, of: device, in: room, entry, at: moment)
      }
      publish()
    }
  }

  private func level(
    _ command: LevelCommand, of device: Device, in room: TimelineLines.Room, _ entry: JournalEntry,
    at moment: Instant
  ) {
    let before = levels[device.id] ?? (device.volume, device.isMuted)
    let heard = before.isMuted ? 0 : before.volume
    func set(_ volume: Int, isMuted: Bool) {
      levels[device.id] = (volume, isMuted)
      guard before != (volume, isMuted) else { return }
      guard isMuted || before == (volume, true) else {
        return lines.addVolume(
          from: heard, to: volume, of: device.id, called: device.name, in: room, entry, at: moment)
      }
      lines.endMove(of: device.id, at: moment)
      var mute = JournalEntry(
        isMuted ? .mute : .unmute, of: .speaker, device.name, at: entry.at, speakers: entry.speakers,
        to: .number(volume), detail: isMuted && before.isMuted ? "volume \(volume), muted" : nil,
        cause: entry.cause)
      mute.job = entry.job
      lines.add(mute, speaker: device.name, of: room, at: moment)
    }
    if case .step = command {} else { lines.endFade(of: device.id, at: moment) }
    switch command {
    case .set(let volume, let isMuted): set(volume, isMuted: isMuted)
    case .mute: set(before.volume, isMuted: true)
    case .unmute: set(before.volume, isMuted: false)
    case .fade(let fade):
      guard fade.to != heard else { break }
      lines.addFade(fade, from: heard, of: device.id, called: device.name, in: room, entry, at: moment)
    case .step(let volume):
      guard lines.addStep(to: volume, of: device.id, at: moment) else {
        return set(volume, isMuted: false)
      }
      levels[device.id] = (volume, false)
    case .fadeEnd: break
    }
  }

  private func room(of device: Device) -> TimelineLines.Room {
    guard device.groupName != Group.ungrouped else { return .init(name: device.name, size: 1) }
    let size = house?.devices.count { $0.groupName == device.groupName } ?? 1
    // One that was removed is in the house no more.
    return .init(name: device.groupName, size: max(1, size))
  }
}
