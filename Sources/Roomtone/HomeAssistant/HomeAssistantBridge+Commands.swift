internal import EventLoop
internal import Home
internal import JSONText
internal import MQTT
internal import SpeakerKit

/// The commands that are performed now.
struct PendingCommands {
  /// The most commands at a time, most of which are texts that wait to be spoken.
  static let most = 32

  /// A command for a level of a room.
  enum Level: Equatable {
    case volume(RoomActions.VolumeChange)
    case mute(Bool)

    /// Returns the command that has the effect of this one and of the next: steps add up, and all others replace it.
    func followed(by next: Level) -> Level {
      // A level or a step beyond the range has the effect of its end.
      switch (self, next) {
      case (.volume(.level(let level)), .volume(.step(let step))):
        .volume(.level(min(max(0, level + step), House.maximumVolume)))
      case (.volume(.step(let first)), .volume(.step(let second))):
        .volume(.step(min(max(-House.maximumVolume, first + second), House.maximumVolume)))
      default: next
      }
    }
  }

  /// The command that follows the one that is performed now.
  private enum Following {
    case nothing
    case waiting(Level)
  }

  /// The topics whose commands for a level are performed now.
  private var levels: [String: Following] = [:]
  /// The number of other commands.
  private(set) var others = 0

  /// Begins a command for a level: only one for each topic is performed at a time, and those that come meanwhile wait as
  /// one.
  /// - Returns: `false` if it waits.
  mutating func begin(_ level: Level, of topic: String) -> Bool {
    switch levels[topic] {
    case nil:
      levels[topic] = .nothing
      return true
    case .nothing?: levels[topic] = .waiting(level)
    case .waiting(let before)?: levels[topic] = .waiting(before.followed(by: level))
    }
    return false
  }

  /// Ends the command of a topic.
  /// - Returns: the command that has waited.
  mutating func endLevel(_ topic: String) -> Level? {
    if case .waiting(let level)? = levels.removeValue(forKey: topic) { level } else { nil }
  }

  /// Begins another command.
  /// - Returns: `false` if there are too many.
  mutating func begin() -> Bool {
    guard others < Self.most else { return false }
    others += 1
    return true
  }

  /// Ends another command.
  mutating func end() { others -= 1 }
}

// Commands are performed by the methods of the control socket, with their checks, errors and causes.

extension HomeAssistantBridge {
  /// A command that is not one.
  private struct Refusal: Error {
    let message: String
    init(_ message: String) { self.message = message }
  }

  /// A call of a method of the control protocol.
  private struct Call {
    let method: String
    let parameters: [(name: String, value: JSON)]
    /// The command in words, for causes.
    let words: String
  }

  /// Performs a command. One that is refused is logged, and the true state is sent again.
  func receiveCommand(_ message: MQTTMessage) {
    guard let command = entities.topics.command(message.topic) else { return }
    guard !message.isRetained else {
      return refuse("\(shown(message.topic)): a retained command is ignored; send it without retain")
    }
    hasSent()
    do throws(Refusal) {
      switch command {
      case .room(let id, let name):
        guard let room = rooms[id] else { throw Refusal("no room has this id") }
        try perform(name, message, in: room)
      case .house(let name): try start(try call(name, message), message)
      }
    } catch {
      refuse("\(shown(message.topic)): \(error.message)")
      sendAgain(statesConcerned(by: message.topic))
    }
  }

  private func perform(_ name: String, _ message: MQTTMessage, in room: RoomEntity) throws(Refusal) {
    let place = ("room", JSON.string(room.place))
    switch name {
    case "volume":
      startLevel(.volume(try volume(message)), message, in: room)
    case "mute":
      let text = try self.text(message)
      guard text == "ON" || text == "OFF" else { throw Refusal("\(quoted(text)) is not ON or OFF") }
      startLevel(.mute(text == "ON"), message, in: room)
    case "source":
      let station = try text(message)
      guard entities.stations.contains(station) else {
        throw Refusal(unknown("station", station.onOneLine, among: entities.stations))
      }
      try start(
        Call(
          method: "play",
          parameters: [
            ("station", .string(station)), ("rooms", .array([.string(room.place)])), ("keep", true),
          ], words: "station \(quoted(station))"), message)
    case "stop", "next":
      try requirePress(message)
      try start(Call(method: name, parameters: [place], words: name), message)
    case "say":
      let text = try text(message, atMost: ControlMethods.longestSpeech)
      try start(
        Call(method: "say", parameters: [("text", .string(text)), place], words: "announcement"), message)
    default: throw Refusal("no command of a room is called \(quoted(name))")
    }
  }

  private func call(_ name: String, _ message: MQTTMessage) throws(Refusal) -> Call {
    switch name {
    case "stop":
      try requirePress(message)
      return Call(method: "stop", parameters: [], words: "stop")
    case "say":
      let text = try text(message, atMost: ControlMethods.longestSpeech)
      return Call(method: "say", parameters: [("text", .string(text))], words: "announcement")
    case "run":
      let job = try action("job", message, among: jobs)
      return Call(
        method: "run_now", parameters: [("job", .string("\(job.script)/\(job.name)"))],
        words: "run \(quoted(job.name))")
    case "scene":
      let scene = try action("scene", message, among: scenes)
      return Call(
        method: "scene", parameters: [("name", .string(scene.name)), ("script", .string(scene.script))],
        words: "scene \(quoted(scene.name))")
    default: throw Refusal("no command of the house is called \(quoted(name))")
    }
  }

  private func action(
    _ kind: String, _ message: MQTTMessage, among known: [String: NamedAction]
  ) throws(Refusal) -> NamedAction {
    let label = try text(message, atMost: 2 * longestName)
    guard let action = known[label] else {
      throw Refusal(unknown(kind, label.onOneLine, among: known.keys.sorted()))
    }
    return action
  }

  private func volume(_ message: MQTTMessage) throws(Refusal) -> RoomActions.VolumeChange {
    let text = try text(message)
    do { return try RoomActions.VolumeChange(parsing: text) } catch {
      throw Refusal(error.message + (error.hint.map { "; \($0)" } ?? ""))
    }
  }

  private func text(_ message: MQTTMessage, atMost limit: Int = longestName) throws(Refusal) -> String {
    guard message.payload.count <= limit else {
      throw Refusal("a text of at most \(limit) bytes expected, got \(message.payload.count)")
    }
    guard let text = String(validating: message.payload, as: UTF8.self) else {
      throw Refusal("the text is not UTF-8")
    }
    return text
  }

  private func requirePress(_ message: MQTTMessage) throws(Refusal) {
    guard try text(message) == HouseTopics.press else { throw Refusal("\(HouseTopics.press) expected") }
  }

  // MARK: Calls

  private func startLevel(_ level: PendingCommands.Level, _ message: MQTTMessage, in room: RoomEntity) {
    guard calls.begin(level, of: message.topic) else { return }
    perform(call(level, in: room), message) { [weak self] in
      guard let self else { return }
      sendAgain(statesConcerned(by: message.topic))
      guard let next = calls.endLevel(message.topic) else { return }
      if let room = rooms[room.id] {
        startLevel(next, message, in: room)
      } else {
        refuse("\(shown(message.topic)): no room has this id")
      }
    }
  }

  private func call(_ level: PendingCommands.Level, in room: RoomEntity) -> Call {
    let place = ("room", JSON.string(room.place))
    switch level {
    case .volume(let change):
      let text =
        switch change {
        case .level(let level): "\(level)"
        case .step(let step): step < 0 ? "\(step)" : "+\(step)"
        }
      return Call(method: "volume", parameters: [place, ("volume", .string(text))], words: "volume \(text)")
    case .mute(let isMuted):
      return Call(
        method: isMuted ? "mute" : "unmute", parameters: [place], words: "mute \(isMuted ? "ON" : "OFF")")
    }
  }

  private func start(_ call: Call, _ message: MQTTMessage) throws(Refusal) {
    guard calls.begin() else {
      throw Refusal("\(PendingCommands.most) commands are performed already, and there is no room for more")
    }
    // A station is answered when it ends, and is no command that is performed any more once it has begun.
    var isCounted = true
    let end = { [weak self] in
      if isCounted { self?.calls.end() }
      isCounted = false
    }
    perform(call, message, onBegin: end) { [weak self] in
      end()
      guard let self else { return }
      sendAgain(statesConcerned(by: message.topic))
    }
  }

  private func perform(
    _ call: Call, _ message: MQTTMessage, onBegin begin: @escaping () -> Void = {},
    then finish: @escaping () -> Void
  ) {
    // Another source has replaced a station, or somebody has stopped it.
    var isOver = false
    perform(
      ControlRequest(
        RPCRequest(id: nil, method: call.method, parameters: .object(call.parameters)),
        by: .controller(Self.name, message: call.words),
        respond: { [weak self] result in
          if case .failure(let error) = result, !isOver || error.code != RequestedPlayback.endedCode {
            self?.report(error, of: message)
          }
          finish()
        },
        push: { notification, parameters in
          switch notification {
          case "begins": begin()
          case "ended":
            let reason = parameters["reason"]?.text.flatMap(EndReason.init(rawValue:))
            isOver = reason == .replaced || reason == .stopped
          default: break
          }
          return true
        }))
  }

  private func report(_ error: RPCError, of message: MQTTMessage) {
    refuse("\(shown(message.topic)): \(error.message)" + (error.hint.map { "; \($0)" } ?? ""))
  }

  /// Returns the topics of the states that a command should have changed.
  private func statesConcerned(by topic: String) -> [String] {
    guard case .room(let id, let name)? = entities.topics.command(topic), rooms[id] != nil else { return [] }
    let properties =
      switch name {
      case "volume", "mute": ["volume", "mute"]
      case "source": ["source"]
      default: [String]()
      }
    return properties.map { entities.topics.room(id, $0) }
  }

  private func shown(_ topic: String) -> String { topic.excerpt.onOneLine }
}
