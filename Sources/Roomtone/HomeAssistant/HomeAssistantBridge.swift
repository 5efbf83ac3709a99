internal import EventLoop
internal import Home
internal import JSONText
internal import LuaModules
internal import MQTT
internal import RecordingKit
internal import Scheduling
internal import SpeakerKit

/// The house of a daemon in Home Assistant: its devices and their states on a broker, and the commands that come from
/// there. Confined to the loop.
///
/// Everything that is sent is retained, except events. It is sent again whenever the broker or Home Assistant is back;
/// otherwise only changes are. What earlier processes have published is learned from the broker, which has all of it,
/// also when the state of this process is lost or the house has moved to another machine.
final class HomeAssistantBridge {
  /// The name in causes and in the log.
  static let name = "Home Assistant"
  /// The time in which changes of documents gather: Home Assistant may skip one that comes while it reads another.
  private static let documentDelay = Duration.milliseconds(500)
  /// The shortest time between two reports of states.
  private static let stateInterval = Duration.milliseconds(50)
  /// The most bytes of the value of a trigger that its event has.
  private static let longestValue = 4096

  unowned let daemon: Daemon
  let broker: any MessageBroker
  let entities: HouseEntities
  let perform: (ControlRequest) -> Void
  private let loop: EventLoop
  /// `true` when nothing is sent any more: what ends with the daemon is there again after its next start.
  private var isEnded = false
  /// The functions that end the subscriptions.
  private var endings: [() -> Void] = []
  private var houseEvents: EventHub.Subscription?
  /// The rooms by their ids; empty while the house is closed.
  private(set) var rooms: [String: RoomEntity] = [:]
  /// The states as they were sent last, by topic.
  private var sentStates: [String: String] = [:]
  /// The entities that the broker knows, by their keys and the ids of devices.
  private var published: [String: [String: JSON]] = [:]
  /// The entities of the house that are missing.
  private var missing = MissingEntities()
  private var missingTimer: LoopTimer?
  /// The text of each document as it was sent last, without what it removes.
  private var sentDocuments: [String: String] = [:]
  /// The topics of states of devices that earlier processes have published.
  private var keptTopics: [String: [String]] = [:]
  /// `true` if the driver finds its speakers; others have those of the configuration.
  var findsSpeakers: Bool
  /// The rooms that were not found yet.
  private var away = AwayRooms()
  private var awayTimer: LoopTimer?
  private var documentTimer: LoopTimer?
  private var stateTimer: StateTimer = .idle
  /// The jobs and scenes by the texts that name them.
  private(set) var jobs: [String: NamedAction] = [:]
  private(set) var scenes: [String: NamedAction] = [:]
  /// The signs of Home Assistant.
  private(set) var presence = Presence.unknown
  /// The kinds of actions of which too many were reported.
  private var reported: Set<String> = []
  /// The sessions whose sound comes between: interruptions, but not what a person has a room play.
  private var between: Set<SessionID> = []
  var calls = PendingCommands()

  /// The signs of Home Assistant so far.
  enum Presence: Equatable {
    /// No sign.
    case unknown
    /// The broker has kept that it has started, and not when.
    case there
    /// The moment at which it has started, or a command has come, last.
    case seen(WallTime)
  }

  private enum StateTimer {
    /// No state has changed.
    case idle
    /// A report is on its way.
    case waiting
    /// States were sent; those that change meanwhile wait for the end of the interval.
    case resting(LoopTimer, hasChanges: Bool)
  }

  /// The bridge from a daemon to a broker, which has not begun.
  /// - Parameter perform: performs a request by the methods of the control protocol.
  init(of daemon: Daemon, on broker: any MessageBroker, perform: @escaping (ControlRequest) -> Void) {
    (self.daemon, self.broker, self.perform) = (daemon, broker, perform)
    loop = daemon.engine.loop
    findsSpeakers = !type(of: daemon.engine.options.configuration.driver).isEmbedded
    entities = HouseEntities(
      topics: HouseTopics(base: broker.base), stations: daemon.engine.options.configuration.stations)
  }

  /// Publishes the house from now on, once it is open, and performs commands.
  func begin() {
    let engine = daemon.engine
    engine.house.whenOpen { [weak self] in self?.follow($0) }
    if let house = engine.house.open { follow(house) }
    engine.journal.listen { [weak self] in self?.receive($0) }
    engine.whenJobsChange { [weak self] in self?.documentsChanged() }
    engine.whenScenesChange { [weak self] in self?.documentsChanged() }
    endings.append(broker.follow { [weak self] in self?.receive($0) })
    endings.append(broker.subscribe(to: HouseTopics.devices) { [weak self] in self?.learn($0) })
    endings.append(broker.subscribe(to: HouseTopics.birth) { [weak self] in self?.receiveBirth($0) })
    for filter in entities.topics.commands {
      endings.append(broker.subscribe(to: filter) { [weak self] in self?.receiveCommand($0) })
    }
    sendAll()
  }

  /// Ends the subscriptions. The retained messages stay, and the broker reports the end of this process.
  func end() {
    isEnded = true
    for end in endings { end() }
    endings = []
    houseEvents?.cancel()
    documentTimer?.cancel()
    missingTimer?.cancel()
    awayTimer?.cancel()
    if case .resting(let timer, _) = stateTimer { timer.cancel() }
  }

  /// Reads jobs and scenes again: a script has begun or ended.
  func scriptsChanged() { documentsChanged() }

  /// The number of devices that are published.
  var deviceCount: Int { published.count }

  func refuse(_ message: String) { daemon.log.add(.warn, message, script: Self.name) }

  // MARK: The house

  private func follow(_ house: House) {
    readRooms(house)
    houseEvents = house.events.on(wantsSeconds: false) { [weak self, weak house] event in
      if let self, let house { receive(event, house) }
    }
    _ = daemon.engine.house.whenClosed { [weak self] in
      guard let self else { return }
      houseEvents?.cancel()
      rooms = [:]
    }
    sendAll()
  }

  private func readRooms(_ house: House) {
    rooms = Dictionary(RoomEntity.rooms(of: house).map { ($0.id, $0) }) { first, _ in first }
  }

  private func receive(_ event: HouseEvent, _ house: House) {
    switch event {
    case .device(_, .added), .device(_, .removed), .device(_, .renamed), .device(_, .regrouped):
      readRooms(house)
      documentsChanged()
    case .state(.playing, let session, _):
      let isBetween = house.isInterruption(session) && session.name != RequestedPlayback.sessionName
      if isBetween { between.insert(session.id) } else { between.remove(session.id) }
    case .device, .volume, .state, .ended, .track, .suspension: break
    case .time, .error: return
    }
    statesChanged()
  }

  /// Receives an entry of the journal, in which things are that are no events of the house.
  private func receive(_ entry: JournalEntry) {
    switch entry.kind {
    case .title, .recording, .recorded, .unrecorded: statesChanged()
    case .stop: reportEnd(entry)
    case .alarm:
      guard let type = entry.fact("event")?.text else { return }
      emit(
        entities.topics.house("alarm"), type,
        [("alarm", .string(entry.name)), ("text", .optional(entry.detail))])
    case .trigger:
      let value = entry.detail.flatMap { $0.utf8.count > Self.longestValue ? nil : JSON(parsing: $0.utf8) }
      emit(
        entities.topics.house("trigger"), "fired",
        [("trigger", .string(entry.name)), ("value", value ?? .null)])
    default: break
    }
  }

  private func reportEnd(_ entry: JournalEntry) {
    guard let reason = entry.detail, HouseEntities.ends.contains(reason) else { return }
    // The interrupted sound plays on, and the room does not fall silent.
    if let session = entry.session, between.contains(session) { return }
    for room in rooms.values where room.speakers.contains(where: { entry.speakers.contains($0.id) }) {
      let title: JSON = if case .text(let title) = entry.from { .string(title) } else { .null }
      emit(entities.topics.room(room.id, "ended"), reason, [("title", title)])
    }
  }

  /// Sends an event; while the broker is away it is dropped, as a late one would start automations too late.
  private func emit(_ topic: String, _ type: String, _ members: [(name: String, value: JSON)]) {
    guard broker.isConnected, !isEnded else { return }
    let json = JSON.object([("event_type", .string(type))] + members)
    broker.send(MQTTMessage(topic, Array(json.line.utf8), qos: 1))
  }

  // MARK: The broker

  private func receive(_ change: BrokerChange) {
    if case .connected = change { sendAll() }
  }

  private func receiveBirth(_ message: MQTTMessage) {
    guard message.payload == Array("online".utf8) else {
      if presence == .there { presence = .unknown }
      return
    }
    // A retained one is older than all that was sent since the connection.
    guard message.isRetained else {
      hasSent()
      return sendAll()
    }
    if presence == .unknown { presence = .there }
  }

  /// Notes that Home Assistant has sent something.
  func hasSent() { presence = .seen(loop.wallNow) }

  /// Learns what an earlier process has published, so that it can be removed.
  private func learn(_ message: MQTTMessage) {
    guard message.isRetained, let id = HouseTopics.objectID(of: message.topic),
      id.hasPrefix(entities.topics.idPrefix), let kept = KeptDocument(message.payload, of: id)
    else { return }
    if published[id] == nil { away.learn(id, at: loop.now) }
    published[id, default: [:]].merge(kept.components) { own, _ in own }
    keptTopics[id] = kept.stateTopics
    documentsChanged()
  }

  /// Sends everything again: the broker or Home Assistant may have lost it.
  private func sendAll() {
    (sentStates, sentDocuments) = ([:], [:])
    documentsChanged()
    statesChanged()
  }

  // MARK: Documents

  private func documentsChanged() {
    guard documentTimer == nil, !isEnded else { return }
    documentTimer = loop.after(Self.documentDelay, keepsAlive: false) { [weak self] in
      self?.documentTimer = nil
      self?.sendDocuments()
    }
  }

  /// Sends the documents that have changed, that of the house first, and removes those of rooms that are gone.
  private func sendDocuments() {
    // In a house without speakers they may still be on their way: nothing is removed for that.
    guard broker.isConnected, !rooms.isEmpty else { return }
    readActions()
    let all =
      [entities.house(jobs: jobActions, scenes: sceneActions)]
      + rooms.values.sorted { $0.id < $1.id }.map { entities.room($0) }
    for document in all { send(document) }
    let present = Set(all.map(\.objectID))
    for id in present { away.forget(id) }
    for id in published.keys.sorted() where !present.contains(id) && !mayBeFound(id) { remove(id) }
    awayTimer?.cancel()
    awayTimer = away.nextRemoval.map { moment in
      loop.after(loop.now.duration(to: moment), keepsAlive: false) { [weak self] in self?.documentsChanged() }
    }
    sendStates()
  }

  private func send(_ document: DiscoveryDocument) {
    let known = published[document.objectID] ?? [:]
    let gone = known.filter { document.platforms[$0.key] == nil }
    let kept = document.objectID == entities.topics.houseID ? keep(gone, document) : [:]
    let text = document.json(keeping: kept).line
    guard gone.count > kept.count || sentDocuments[document.objectID] != text else { return }
    let json = document.json(keeping: kept, removing: gone.compactMapValues { $0["p"]?.text })
    let faults = DiscoverySchema.faults(of: json)
    guard faults.isEmpty else {
      return refuse("\(quoted(document.name)) can't be published: \(faults.joined(separator: "; "))")
    }
    let own = document.components.map { ($0.name, $0.value) }
    published[document.objectID] = kept.merging(own) { _, new in new }
    sentDocuments[document.objectID] = text
    send(HouseTopics.device(document.objectID), json.line, qos: 1)
  }

  /// Returns the missing entities of the house that its document keeps.
  /// - Parameter gone: the published ones that the house does not have now, by their keys.
  private func keep(_ gone: [String: JSON], _ house: DiscoveryDocument) -> [String: JSON] {
    let isSettling = daemon.scripts.contains { host in
      switch host.machine.phase {
      // A person mends a script that failed, whose jobs are then as before.
      case .new, .ending, .failed: true
      case .running, .stale, .ended, .removed: false
      }
    }
    let keys = missing.note(gone.keys, isSettling: isSettling, at: loop.now)
    missingTimer?.cancel()
    missingTimer = missing.nextRemoval.map { moment in
      loop.after(loop.now.duration(to: moment), keepsAlive: false) { [weak self] in self?.documentsChanged() }
    }
    // One of an earlier version that Home Assistant would refuse has it refuse the whole device.
    return gone.filter { key, component in
      keys.contains(key) && component["uniq_id"]?.text == house.uniqueID(key)
        && DiscoverySchema.accepts(component)
    }
  }

  /// Removes a device and the states that were published for it.
  private func remove(_ id: String) {
    published[id] = nil
    sentDocuments[id] = nil
    away.forget(id)
    send(HouseTopics.device(id), "", qos: 1)
    let ownTopics = entities.topics.base + "/room/"
    for topic in keptTopics.removeValue(forKey: id) ?? [] where topic.hasPrefix(ownTopics) {
      guard sentStates[topic] == nil, !topic.contains(where: { $0 == "+" || $0 == "#" }) else { continue }
      send(topic, "", qos: 1)
    }
  }

  /// Returns `true` for a room of an earlier process whose speakers may be found later.
  private func mayBeFound(_ id: String) -> Bool {
    guard findsSpeakers, id != entities.topics.houseID, away.contains(id, at: loop.now) else { return false }
    // The id of a room is that of a speaker: one that was found is in another room now.
    return !rooms.values.contains { room in
      room.speakers.contains { entities.topics.roomID(HouseTopics.level($0.id)) == id }
    }
  }

  /// The states of the rooms that were not found yet.
  private var awayStates: [(topic: String, value: String)] {
    let ownTopics = entities.topics.base + "/room/"
    let values = [
      "state": RoomEntity.State.away.rawValue, "title": HouseTopics.nothing, "source": HouseTopics.nothing,
    ]
    return published.keys.filter(mayBeFound).flatMap { id in
      (keptTopics[id] ?? []).compactMap { topic in
        guard topic.hasPrefix(ownTopics), let property = topic.split(separator: "/").last else { return nil }
        return values[String(property)].map { (topic, $0) }
      }
    }
  }

  private var jobActions: [NamedAction] { jobs.values.sorted { ($0.name, $0.script) < ($1.name, $1.script) } }
  private var sceneActions: [NamedAction] {
    scenes.values.sorted { ($0.name, $0.script) < ($1.name, $1.script) }
  }

  /// Reads the jobs and the scenes of all scripts.
  private func readActions() {
    let jobs = daemon.engine.scheduledJobs.compactMap { job -> NamedAction? in
      // A job that runs once comes and goes too often for an entity.
      if case .once = job.recurrence { return nil }
      guard job.isActive else { return nil }
      return daemon.scriptName(job.owner).map { NamedAction(script: $0, name: job.name) }
    }
    let owners = daemon.scripts.compactMap { host in host.script.map { (host.name, $0.identity) } }
    let scenes = (owners + [(daemon.prompt.name, daemon.prompt.name)]).flatMap { name, identity in
      ((try? daemon.engine.scenes(ofScript: identity)) ?? []).map { NamedAction(script: name, name: $0) }
    }
    self.jobs = limited(jobs, "jobs")
    self.scenes = limited(scenes, "scenes")
  }

  private func limited(_ actions: [NamedAction], _ kind: String) -> [String: NamedAction] {
    if actions.count > NamedAction.most, reported.insert(kind).inserted {
      refuse("\(actions.count) \(kind) are too many: the first \(NamedAction.most) have entities")
    }
    return Dictionary(
      NamedAction.labelled(Array(actions.prefix(NamedAction.most))).map { ($0.label, $0.action) }
    ) { first, _ in first }
  }

  // MARK: States

  /// Sends the states that have changed: at once in a turn of its own, then at most once an interval.
  func statesChanged() {
    guard !isEnded else { return }
    switch stateTimer {
    case .idle:
      stateTimer = .waiting
      loop.next { [weak self] in self?.sendStatesAndRest() }
    case .waiting: break
    case .resting(let timer, _): stateTimer = .resting(timer, hasChanges: true)
    }
  }

  private func sendStatesAndRest() {
    sendStates()
    let timer = loop.after(Self.stateInterval, keepsAlive: false) { [weak self] in
      guard let self, case .resting(_, let hasChanges) = stateTimer else { return }
      stateTimer = .idle
      if hasChanges { statesChanged() }
    }
    stateTimer = .resting(timer, hasChanges: false)
  }

  private func sendStates() {
    guard broker.isConnected, !rooms.isEmpty, !isEnded else { return }
    var states = [(topic: entities.topics.house("recording"), value: isRecording ? "ON" : "OFF")]
    for room in rooms.values {
      let title = room.session.flatMap { daemon.engine.streams.title(heardIn: $0) }
      states += entities.states(of: room, title: title)
    }
    states += awayStates
    let present = Set(states.map(\.topic))
    for topic in sentStates.keys.sorted() where !present.contains(topic) {
      sentStates[topic] = nil
      send(topic, "", qos: 1)
    }
    for (topic, value) in states where sentStates[topic] != value {
      sentStates[topic] = value
      send(topic, value, qos: 0)
    }
  }

  private var isRecording: Bool {
    daemon.engine.recordings.recorder.recordings.contains { ![.finished, .failed].contains($0.state) }
  }

  /// Sends the states of a topic's room or house again, also those that have not changed.
  func sendAgain(_ topics: [String]) {
    for topic in topics { sentStates[topic] = nil }
    statesChanged()
  }

  private func send(_ topic: String, _ payload: String, qos: Int) {
    broker.send(MQTTMessage(topic, Array(payload.utf8), isRetained: true, qos: qos))
  }
}
