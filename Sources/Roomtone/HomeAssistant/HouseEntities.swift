internal import EventLoop
internal import Home
internal import JSONText
internal import SpeakerKit
internal import StreamCore

/// A room for Home Assistant: a group, or a speaker that is in no group.
struct RoomEntity {
  /// The id as a level of topics, which stays the same over renames.
  let id: String
  /// The name.
  let name: String
  /// The name or the id by which methods of the control protocol find it.
  let place: String
  /// The speakers.
  let speakers: [Device]

  /// Returns the rooms of a house, in the order of its speakers.
  static func rooms(of house: House) -> [RoomEntity] {
    var (rooms, ids) = ([RoomEntity](), Set<String>())
    func add(_ id: String, _ name: String, _ place: String, _ speakers: [Device]) {
      var level = HouseTopics.level(id)
      // A group keeps the id of its founder, also after that has left it.
      while !ids.insert(level).inserted { level += "-speaker" }
      rooms.append(RoomEntity(id: level, name: name, place: place, speakers: speakers))
    }
    for group in house.groups { add(group.id, group.name, group.name, group.devices) }
    for device in house.devices where device.groupName == Group.ungrouped {
      add(device.id, device.name, device.id, [device])
    }
    return rooms
  }

  /// The highest volume that the limits of its speakers allow at any time of the day.
  var maximum: Int { speakers.map { $0.limit?.maximum ?? House.maximumVolume }.max() ?? House.maximumVolume }

  /// The average level of the speakers that can be reached, also while they are muted; that of all when none can be.
  var volume: Int {
    let reachable = speakers.filter(\.isAvailable)
    let heard = reachable.isEmpty ? speakers : reachable
    let sum = heard.reduce(0) { $0 + $1.volume }
    return heard.isEmpty ? 0 : (2 * sum + heard.count) / (2 * heard.count)
  }

  /// `true` if all speakers that can be reached are muted.
  var isMuted: Bool {
    let reachable = speakers.filter(\.isAvailable)
    return !reachable.isEmpty && reachable.allSatisfy(\.isMuted)
  }

  /// The session that is heard, or that is paused: the first in which a speaker of the room is.
  var session: Session? {
    let sessions = speakers.filter(\.isAvailable).compactMap(\.session)
    return sessions.first { $0.state == .playing } ?? sessions.first { $0.state == .paused }
  }

  /// The states of a room, as `state` shows them.
  enum State: String, CaseIterable {
    case playing, paused, idle
    /// No speaker can be reached.
    case away
  }

  /// The state.
  var state: State {
    if !speakers.contains(where: \.isAvailable) { return .away }
    switch session?.state {
    case .playing: return .playing
    case .paused: return .paused
    case .stopped, nil: return speakers.contains(where: \.isPlaying) ? .playing : .idle
    }
  }
}

/// A thing that a person starts by its name: a job, or a scene of a script.
struct NamedAction: Equatable {
  /// The name of the script.
  let script: String
  /// The name within the script.
  let name: String

  /// The most actions of one kind that are published.
  static let most = 100

  /// Returns the actions with the texts that name them: the name, or `script/name` where several scripts have it.
  static func labelled(_ actions: [NamedAction]) -> [(label: String, action: NamedAction)] {
    let counts = Dictionary(grouping: actions, by: \.name).mapValues(\.count)
    return actions.map { action in
      (counts[action.name] == 1 ? action.name : "\(action.script)/\(action.name)", action)
    }
  }

  /// The name in keys of entities.
  var key: String { "\(HouseTopics.plain(script))-\(HouseTopics.plain(name))" }
}

/// The devices and entities of a house in Home Assistant, and their states.
struct HouseEntities {
  /// The topics.
  let topics: HouseTopics
  /// The names of stations, sorted.
  let stations: [String]
  /// The names of stations by their addresses as they are shown.
  let stationNames: [String: String]

  /// The devices of a house with these topics and stations.
  init(topics: HouseTopics, stations: NamedStations) {
    self.topics = topics
    self.stations = stations.addresses.keys.sorted()
    stationNames = Dictionary(self.stations.map { ("\(stations.addresses[$0]?.description ?? "")", $0) }) {
      first, _ in first
    }
  }

  // MARK: Documents

  /// Returns the document of the house, with the buttons of jobs and the scenes.
  func house(jobs: [NamedAction], scenes: [NamedAction]) -> DiscoveryDocument {
    var house = DiscoveryDocument(
      objectID: topics.houseID,
      name: topics.base == "roomtone" ? "Roomtone" : "Roomtone (\(topics.base))", model: "House",
      availability: topics.status)
    house.entities = [
      .init(
        "binary_sensor", "recording", "Recording",
        [("stat_t", .string(topics.house("recording"))), ("ic", "mdi:record-rec")]),
      .init("button", "stop", "Stop everywhere", command(topics.house("stop")) + [("ic", "mdi:stop")]),
      .init("notify", "say", "Announce everywhere", command(topics.house("say"))),
      .init(
        "event", "alarm", "Alarm",
        event(topics.house("alarm"), ["ringing", "snoozed", "dismissed", "missed", "fallback"])),
      .init("event", "trigger", "Trigger", event(topics.house("trigger"), ["fired"])),
    ]
    house.entities += NamedAction.labelled(Array(jobs.prefix(NamedAction.most))).map { label, job in
      .init(
        "button", "run-\(job.key)", "Run \(label)",
        command(topics.house("run")) + [("pl_prs", .string(label)), ("ic", "mdi:play")])
    }
    let scenes = NamedAction.labelled(Array(scenes.prefix(NamedAction.most)))
    house.entities += scenes.map { label, scene in
      .init(
        "scene", "scene-\(scene.key)", label, command(topics.house("scene")) + [("pl_on", .string(label))])
    }
    if !scenes.isEmpty {
      let labels = JSON.array(scenes.map { .string($0.label) })
      house.entities.append(
        .init("select", "scene", "Scene", command(topics.house("scene")) + [("ops", labels)]))
    }
    return house
  }

  /// Returns the document of a room.
  func room(_ room: RoomEntity) -> DiscoveryDocument {
    var document = DiscoveryDocument(
      objectID: topics.roomID(room.id), name: room.name, model: "Room", area: room.name, via: topics.houseID,
      availability: topics.status)
    func topic(_ property: String) -> String { topics.room(room.id, property) }
    func state(_ property: String) -> [(name: String, value: JSON)] {
      [("stat_t", .string(topic(property)))]
    }
    document.entities = [
      .init(
        "number", "volume", "Volume",
        command(topic("volume")) + state("volume") + [
          ("min", 0), ("max", .number(room.maximum)), ("step", 1), ("mode", "slider"),
          ("ic", "mdi:volume-high"),
        ]),
      .init(
        "switch", "mute", "Mute", command(topic("mute")) + state("mute") + [("ic", "mdi:volume-off")]),
      .init(
        "sensor", "state", "State",
        state("state") + [
          ("dev_cla", "enum"),
          ("ops", .array(RoomEntity.State.allCases.map { .string($0.rawValue) })),
        ]),
      .init("sensor", "title", "Title", state("title") + [("ic", "mdi:music")]),
      .init("sensor", "source", "Source", state("source") + [("ic", "mdi:radio")]),
      .init("button", "stop", "Stop", command(topic("stop")) + [("ic", "mdi:stop")]),
      .init("button", "next", "Next", command(topic("next")) + [("ic", "mdi:skip-next")]),
      .init("notify", "say", "Announce", command(topic("say"))),
      .init("event", "ended", "Ended", event(topic("ended"), Self.ends)),
    ]
    if !stations.isEmpty {
      document.entities.append(
        .init(
          "select", "station", "Station",
          command(topic("source")) + state("source") + [
            ("ops", .array(stations.map { .string($0) })), ("val_tpl", .string(Self.onlyStations)),
            ("ic", "mdi:radio"),
          ]))
    }
    return document
  }

  /// The reasons for the end of a source that an event reports: one that another source replaces has not ended for people.
  static let ends = [EndReason.finished, .stopped, .failed, .noDevices].map(\.rawValue)

  /// Shows stations alone, whose names have neither `/` nor `:` in them.
  private static let onlyStations = "{{ 'None' if '/' in value or ':' in value else value }}"

  private func command(_ topic: String) -> [(name: String, value: JSON)] {
    [("cmd_t", .string(HouseTopics.set(topic))), ("qos", 1)]
  }

  private func event(_ topic: String, _ types: [String]) -> [(name: String, value: JSON)] {
    [("stat_t", .string(topic)), ("evt_typ", .array(types.map { .string($0) }))]
  }

  // MARK: States

  /// Returns the states of a room by their topics.
  /// - Parameter title: the title that its station has sent; nil for that of the source.
  func states(of room: RoomEntity, title: String?) -> [(topic: String, value: String)] {
    let source = room.session?.source
    let title = source.map { source in
      // A station without a name of its own has its address as the title.
      title ?? stationNames[source.title] ?? source.title
    }
    return [
      ("volume", "\(room.volume)"), ("mute", room.isMuted ? "ON" : "OFF"), ("state", room.state.rawValue),
      ("title", title ?? HouseTopics.nothing),
      ("source", source.map { self.source($0) } ?? HouseTopics.nothing),
    ].map { (topics.room(room.id, $0), Self.state($1)) }
  }

  /// Returns the name of a station, or the URL or the path of another source, which have a slash in them.
  private func source(_ source: SourceInfo) -> String {
    let shown = StreamAddress.shown(source.path)
    return stationNames[shown] ?? (shown.contains("/") ? shown : "./\(shown)")
  }

  /// Returns a text that can be a state: on one line, and not longer than Home Assistant accepts.
  static func state(_ text: String) -> String {
    let line = text.onOneLine
    guard !line.isEmpty else { return HouseTopics.nothing }
    guard line.unicodeScalars.count > DiscoverySchema.longestState else { return line }
    let first = line.unicodeScalars.prefix(DiscoverySchema.longestState - 1)
    return String(String.UnicodeScalarView(first)) + "…"
  }
}
