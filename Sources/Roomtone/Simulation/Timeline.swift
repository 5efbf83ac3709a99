internal import AudioCore
internal import EventLoop
internal import HeadsetKit
public import Home
public import LuaRuntime
internal import LuaModules
internal import Scheduling
internal import SpeakerKit
internal import StreamKit

/// Publishes what happens in a house, an entry each, in order of time: `06:45:00  Bedroom  ▶ wake_up.mp3 at volume 5`.
///
/// Speakers of one group that do the same are one room; a fade is one entry, with the moment and the length of its call.
/// Confined to the loop.
public final class Timeline {
  /// Receives the entries, each when it is complete.
  public var onEntry: (TimelineEntry) -> Void = { _ in }

  private let loop: EventLoop
  private let zone: any LocalZone
  private let changes: ChangeLog
  private var lines = TimelineLines()
  private weak var house: House?
  /// Sources of sessions as their playback began or continued, and the moment of that.
  private var begun: [SessionID: (source: SourceInfo?, at: Instant)] = [:]
  /// The levels of speakers, by their ids, as the last commands have set them.
  private var levels: [String: (volume: Int, isMuted: Bool)] = [:]
  private var groups: [String: String] = [:]
  /// The sessions whose queues have begun again.
  private var repeating: Set<SessionID> = []
  /// The rooms in which each session was last.
  private var places: [SessionID: String] = [:]
  /// The titles of sources that were heard to their ends, and are stopped by the host.
  private var heard: Set<String> = []
  private var origins = TimelineOrigins()
  private var rivals = TimelineRivals()
  /// `true` while warnings of rivals wait for the end of their moment.
  private var isWarning = false
  var summary = TimelineSummary()

  /// Follows the house of `engine`, from its opening on.
  public init(_ engine: Engine) {
    loop = engine.loop
    zone = engine.options.zone
    changes = engine.changes
    engine.house.onOpen = { [unowned self] in follow($0) }
    engine.streams.onEvent = { [unowned self] in receive($0, $1) }
    engine.streams.onChange = { [unowned self] in receive($0, $1) }
    engine.recordings.onReport = { [unowned self] in receive($0) }
    engine.streams.onSource = { [unowned self] in summary.addSource($0, isHeard: $1) }
    engine.recordings.onSource = { [unowned self] in summary.addSource($0, isHeard: true) }
    for url in engine.options.stations.keys.map(\.url).sorted() {
      summary.addSource(url, isHeard: false)
    }
    engine.onJob = { [unowned self] in receive($0, $1) }
    engine.onMark = { [unowned self] in receive($0) }
    engine.triggers.onTrigger = { [unowned self] in
      add(
        .mark(.trigger, message: "trigger \"\($0.name)\"" + ($0.value.map { ": \($0)" } ?? ""), source: nil))
    }
    engine.onEnding = { [unowned self, unowned engine] in
      warn(ofUnused: engine.triggers.planned)
      summary.add(engine.scheduledJobs.map { ($0, $0.next.map(time)) })
    }
    // Kept as long as the headsets, which the engine has.
    _ = engine.headsets.headsets.listen { [weak self] in self?.receive($0, $1) }
  }

  /// Adds a warning for triggers whose times are before the simulation or after it.
  private func warn(ofUnused planned: [PlannedTrigger]) {
    guard !planned.isEmpty else { return }
    summary.warnings += 1
    let names = planned.map { "trigger \"\($0.trigger.name)\" of \(time($0.time))" }
    let verb = planned.count == 1 ? "does" : "do"
    add(
      .warning(
        "\(TimelineEvent.list(names)) \(verb) not come in the time of the simulation", jobs: []))
  }

  /// The time by the clocks of the house.
  public var now: TimelineTime { time(loop.wallNow) }

  func time(_ time: WallTime) -> TimelineTime { TimelineTime(time, in: zone) }

  private var moment: TimelineMoment { TimelineMoment(time: now, instant: loop.now) }

  /// Adds a line that the script printed or wrote.
  public func addPrinted(_ text: String) { add(.print(text)) }

  /// Adds a line of the log.
  public func addLog(_ level: LogLevel, _ message: String, _ fields: [(String, String)]) {
    add(.log(level, message, fields.map { .init(name: $0.0, value: $0.1) }))
  }

  /// Adds an error that no code of the script caught. That of a job is an entry with the job's failure, which follows at
  /// once.
  public func add(_ failure: LuaError) {
    guard !summary.keep(failure) else { return }
    summary.failures += 1
    add(.failure(message: failure.description, code: failure.code))
  }

  /// Adds an event.
  /// - Parameter job: nil for the job that runs.
  func add(_ event: TimelineEvent, room: String = "", job: String? = nil) {
    lines.add(
      event, room: room, job: job ?? TimelineOrigins.job(LuaRoutine.currentOrigin), at: moment,
      by: event.hasCause ? changes.delivered ?? changes.current : nil)
    publish(lines.removeComplete(at: loop.now))
  }

  private func add(_ event: TimelineEvent, _ device: Device, job: String? = nil) {
    lines.add(
      event, speaker: device.name, of: room(of: device), job: job, at: moment, by: changes.delivered)
    publish(lines.removeComplete(at: loop.now))
  }

  /// Adds a run of a job.
  func addRun(of job: Job) {
    lines.addRun(of: job.name, at: moment, by: changes.cause(of: job)?.parent)
    publish(lines.removeComplete(at: loop.now))
  }

  private func publish(_ entries: [TimelineEntry]) { for entry in entries { onEntry(entry) } }

  /// Completes what is still open, and adds the summary; the last call.
  public func finish() {
    addRivals(at: moment)
    lines.endAllMoves(at: loop.now)
    publish(lines.removeComplete(at: nil))
    publish(summary.entries(at: now))
  }

  // MARK: Speakers and sessions

  private func follow(_ house: House) {
    self.house = house
    for device in house.devices {
      levels[device.id] = (device.volume, device.isMuted)
      groups[device.id] = device.groupName
    }
    house.events.on(wantsSeconds: false) { [unowned self] event in receive(event) }
    house.onCommand { [weak self] in self?.receive($0) }
    house.onSessionChange { [weak self] in self?.receive($0, $1) }
  }

  private func receive(_ event: HouseEvent) {
    switch event {
    // Lines of levels are about commands; those of another controller have none.
    case .volume(let device, let volume, let muted, _, .controller):
      level(
        .set(volume, isMuted: muted), of: device, in: room(of: device), nil, at: moment, changes.delivered)
    case .device(let device, .added):
      levels[device.id] = (device.volume, device.isMuted)
      groups[device.id] = device.groupName
    case .device(let device, .joined) where device.session?.state == .playing:
      add(
        .join(source: device.session?.source?.title ?? "nothing"), device, job: origins.job(moving: device))
    case .device(let device, .left): add(.leave, device, job: origins.job(moving: device))
    case .device(let device, .unavailable):
      lines.endMove(of: device.id, at: loop.now)
      add(.away, device)
    case .device(let device, .available): add(.back, device)
    case .device(let device, .renamed): add(.rename(to: device.name), device)
    case .device(let device, .regrouped):
      // Other members of the group have its event too when its founder leaves.
      guard groups.updateValue(device.groupName, forKey: device.id) != device.groupName else { break }
      add(.group(to: device.groupName == Group.ungrouped ? nil : device.groupName), room: device.name)
    // Interruptions, and the speakers that join and leave, have lines of their own.
    case .volume, .device, .time, .suspension: break
    case .track(let session, let source, let index, let count):
      // The first file has the line of the state.
      guard begun[session.id]?.source != source || begun[session.id]?.at != loop.now else { return }
      let title = "\(source.title), \(index) of \(count)"
      if index == 1 {
        repeating.insert(session.id)
        lines.addRound(of: session.id, title: title, room: rooms(of: session), at: moment)
        publish(lines.removeComplete(at: loop.now))
      } else if !repeating.contains(session.id) {
        add(.title(title), room: rooms(of: session))
      }
    case .state(.playing, let session, let source):
      begun[session.id] = (source, loop.now)
      add(
        .play(source: source?.title ?? "nothing", level(of: session)), room: rooms(of: session),
        job: origins.job(playing: session))
    case .state(.paused, let session, let source):
      add(
        .pause(source: source?.title ?? "nothing"), room: rooms(of: session),
        job: origins.job(playing: session))
    case .state(.stopped, _, _): break
    case .ended(let session, let source, let reason):
      repeating.remove(session.id)
      guard reason != .replaced else { break }
      let reason = reason == .stopped && heard.remove(source.title) != nil ? .finished : reason
      add(
        .stop(source: source.title, reason), room: rooms(of: session),
        job: reason == .stopped ? origins.job(playing: session) : nil)
    case .error(let code, let message, let device, _):
      let event = TimelineEvent.error(message: message, code: code)
      if let device { add(event, device) } else { add(event) }
    }
  }

  private func receive(_ session: Session, _ change: SessionChange) {
    let (room, job) = (rooms(of: session), origins.job(changing: session))
    switch change {
    case .gain(let from, let to, let over):
      lines.addGain(
        from: from, to: to, over: over, of: session.id, room: room,
        job: job ?? TimelineOrigins.job(LuaRoutine.currentOrigin), at: moment,
        by: changes.delivered ?? changes.current)
      publish(lines.removeComplete(at: loop.now))
    case .gainEnd(let reached, let time):
      lines.endGain(of: session.id, at: reached, after: time)
      publish(lines.removeComplete(at: loop.now))
    case .equalizer(let gains): add(.equalizer(gains), room: room, job: job)
    case .seek(let frame): add(.seek(to: frame / session.format.sampleRate), room: room, job: job)
    case .interruption(let isBeginning, let ids, let duck):
      let devices = house?.devices.filter { ids.contains($0.id) } ?? []
      // That its speakers leave what they play, and join it again, is what an interruption is.
      if duck == nil { lines.removeMoves(of: devices.map(\.name), at: loop.now) }
      add(
        .interruption(isBeginning ? .begin : .end, name: session.name, duck: duck),
        room: house?.rooms(of: devices).joined(separator: ", ") ?? "", job: job)
    }
  }

  private func receive(_ command: HouseCommand) {
    if case .level(let commands, let author) = command { receive(commands, by: author) }
    guard let reference = LuaRoutine.current else { return origins.forget(command) }
    let author = CommandAuthor(
      origin: reference.origin, script: reference.routine.map { ObjectIdentifier($0.state) })
    origins.keep(command, from: author)
    let (change, devices, session): (TimelineRivals.Change, [Device], Session?)
    switch command {
    case .level(let commands, by: .caller):
      let speakers = commands.filter { $0.command != .fadeEnd }.map(\.device)
      (change, devices, session) = (.volume, speakers, speakers.first?.session)
    case .play(let player): (change, devices, session) = (.source, player.devices, player)
    case .stop(let player): (change, devices, session) = (.end, player.devices, player)
    case .level, .move, .sound, .resume, .edit: return
    }
    // Interruptions restore what they find, and leave alone what they play over.
    let isInterruption = house?.isInterruption(session) == true
    for device in devices {
      let room = room(of: device).name
      if !isInterruption {
        rivals.add(change, from: author, in: room, at: loop.now)
      } else if case .volume = change, let session = device.session, let player = origins.player(of: session),
        house?.isLevelOfInterruption(device) == true
      {
        rivals.add(volumeFrom: author, in: room, of: player, at: loop.now)
      }
    }
    guard rivals.hasWarnings, !isWarning else { return }
    isWarning = true
    let conflict = moment
    // What else the two change at the same moment belongs to the same warning.
    loop.after(.milliseconds(1), keepsAlive: false) { [weak self] in self?.addRivals(at: conflict) }
  }

  private func addRivals(at moment: TimelineMoment) {
    isWarning = false
    for warning in rivals.removeWarnings() {
      summary.warnings += 1
      lines.add(warning.event, room: warning.room, job: nil, at: moment)
    }
    publish(lines.removeComplete(at: loop.now))
  }

  /// Adds commands for levels, behind the events that the house has emitted before them.
  private func receive(_ commands: [(device: Device, command: LevelCommand)], by author: LevelAuthor) {
    let (job, moment) = (TimelineOrigins.job(LuaRoutine.currentOrigin), moment)
    let all = commands.map { device, command in
      (device, command, room(of: device), changes.cause(ofLevel: device, by: author))
    }
    house?.events.afterEvents { [weak self] in
      guard let self else { return }
      for (device, command, room, cause) in all {
        level(command, of: device, in: room, job, at: moment, cause)
      }
      publish(lines.removeComplete(at: loop.now))
    }
  }

  private func level(
    _ command: LevelCommand, of device: Device, in room: TimelineLines.Room, _ job: String?,
    at moment: TimelineMoment, _ cause: Cause?
  ) {
    let before = levels[device.id] ?? (device.volume, device.isMuted)
    let heard = before.isMuted ? 0 : before.volume
    func set(_ volume: Int, isMuted: Bool) {
      levels[device.id] = (volume, isMuted)
      guard before != (volume, isMuted) else { return }
      guard isMuted || before == (volume, true) else {
        return lines.addVolume(
          from: heard, to: volume, of: device.id, called: device.name, in: room, job: job, at: moment,
          by: cause)
      }
      lines.endMove(of: device.id, at: moment.instant)
      lines.add(
        isMuted ? .mute(volume: volume, wasMuted: before.isMuted) : .unmute(volume: volume),
        speaker: device.name, of: room, job: job, at: moment, by: cause)
    }
    if case .step = command {} else { lines.endFade(of: device.id, at: moment.instant) }
    switch command {
    case .set(let volume, let isMuted): set(volume, isMuted: isMuted)
    case .mute: set(before.volume, isMuted: true)
    case .unmute: set(before.volume, isMuted: false)
    case .fade(let fade):
      guard fade.to != heard else { break }
      lines.addFade(
        fade, from: heard, of: device.id, called: device.name, in: room, job: job, at: moment, by: cause)
    case .step(let volume):
      guard lines.addStep(to: volume, of: device.id, at: moment.instant) else {
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

  /// Returns the rooms of a session; of one that has lost its speakers, those that it had.
  private func rooms(of session: Session) -> String {
    let devices = session.devices
    if !devices.isEmpty { places[session.id] = house?.rooms(of: devices).joined(separator: ", ") }
    return places[session.id] ?? ""
  }

  private func level(of session: Session) -> TimelineEvent.Level {
    let devices = session.devices.filter(\.isAvailable)
    let levels = devices.compactMap { $0.level(in: session) }.sorted()
    guard let least = levels.first, let most = levels.last else { return devices.isEmpty ? .none : .muted }
    return .volumes(least, most)
  }

  // MARK: Stations, recordings, headsets

  private func receive(_ event: StationEvent, _ session: Session?) {
    let room = session.map(rooms) ?? ""
    switch event {
    case .title(let text): add(.title(text), room: room)
    case .failed(let error): add(.error(message: error.message, code: error.code), room: room)
    case .reconnected(let gap): add(.reconnect(gap: gap), room: room)
    }
  }

  private func receive(_ change: StreamChange, _ session: Session?) {
    let room = session.map(rooms) ?? ""
    switch change {
    case .gain(let gain): add(.streamGain(to: gain), room: room)
    case .position(let seconds): if abs(seconds) >= 0.05 { add(.move(by: seconds), room: room) }
    }
  }

  private func receive(_ report: RecordingReport) {
    let event: TimelineEvent =
      switch report {
      case .began(let path): .recording(.begin, path: path)
      case .finished(let path, let seconds): .recording(.end(seconds: seconds), path: path)
      case .failed(let path, let error):
        .recording(.failure(message: error.message, code: error.code), path: path)
      }
    add(event, room: "Recorder")
  }

  private func receive(_ mark: ScriptMark) {
    let kind: TimelineEvent.Mark
    switch mark.kind {
    case .alarm: kind = .alarm
    case .fallback: kind = .fallback
    case .announcement: kind = .announcement
    case .heard:
      heard.insert(mark.message)
      return
    }
    add(.mark(kind, message: mark.message, source: mark.source), room: mark.room)
  }

  private func receive(_ headset: Headset, _ event: HeadsetEvent) {
    switch event {
    // A line every moment, and the end of what has ended.
    case .progress, .released: break
    default: add(.headset(event, name: headset.name), room: "Headset")
    }
  }
}
