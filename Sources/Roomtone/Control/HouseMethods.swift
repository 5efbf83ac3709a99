internal import EventLoop
internal import Glibc
internal import Home
internal import JSONText
internal import RecordingKit
internal import Scheduling
internal import SpeakerKit

/// The methods of the control protocol on the house of an engine, which are the same for every process that has it: a
/// daemon, a run, a command. Confined to the loop.
final class HouseMethods {
  typealias Method = (ControlRequest) throws -> JSON?

  private unowned let engine: Engine
  private let isDaemon: Bool
  private let began: WallTime
  /// The playbacks that have not ended, by their numbers.
  private var playbacks: [Int: RequestedPlayback] = [:]
  private var lastPlayback = 0

  /// The methods on the house of `engine`.
  /// - Parameter isDaemon: `true` for a daemon, which opens its house for a request; others answer while it is open.
  init(of engine: Engine, isDaemon: Bool) {
    (self.engine, self.isDaemon) = (engine, isDaemon)
    began = engine.loop.wallNow
  }

  /// The methods by name, made for one request: they retain this object.
  var methods: [String: Method] {
    [
      "process": process, "status": status, "why": answerWhy, "history": history,
      "devices": listing { house, knowsUse in
        house.devices.map { HouseReport.device($0, knowsUse: knowsUse) }
      },
      "groups": listing { house, knowsUse in
        house.groups.map { HouseReport.group($0, knowsUse: knowsUse) }
      },
      "volume": volume, "mute": { [self] in try mute($0, true) },
      "unmute": { [self] in try mute($0, false) },
      "now": house { actions, room in try actions.playing(in: room) },
      "pause": house { actions, room in try actions.pause(room) },
      "resume": house { actions, room in try actions.resume(room) },
      "next": house { actions, room in try actions.next(room) },
      "previous": house { actions, room in try actions.previous(room) },
      "stop": house { actions, room in try await actions.stop(room) },
    ]
  }

  /// The methods by which a client has a process play: a daemon, or the client's own.
  var ofPlayback: [String: Method] { ["play": play, "playback": control] }

  /// Performs a request by one of `methods` for its caller, and has it answered at once or later.
  /// - Parameter unknown: returns the error for a method that is not among them.
  func perform(
    _ request: ControlRequest, by methods: [String: Method], unknown: () -> any Error
  ) {
    do {
      guard let method = methods[request.method] else { throw unknown() }
      let result = try request.caller.perform(in: engine.journal) { try method(request) }
      if let result { request.answer(.success(result)) }
    } catch { request.answer(.failure(error)) }
  }

  // MARK: The process

  /// Answers which process this is: a client's first request, whose answer shows that a process listens.
  private func process(_ request: ControlRequest) throws -> JSON? {
    _ = try ControlParameters(request)
    let configuration = engine.options.configuration
    return .object([
      ("process", .number(Int(getpid()))), ("name", .string(engine.options.processName)),
      ("daemon", .bool(isDaemon)), ("driver", .string(configuration.driverName)),
      ("configuration", .optional(configuration.path)),
    ])
  }

  private func status(_ request: ControlRequest) throws -> JSON? {
    _ = try ControlParameters(request)
    let (owner, isLooking) = (try otherOwner(), engine.options.access == .look)
    let id = isLooking ? owner?.processID : getpid()
    return .object(
      [
        ("process", id.map { .number(Int($0)) } ?? .null),
        ("name", .optional(isLooking ? owner?.name : engine.options.processName)),
        ("version", .string(Product.version)), ("started", isLooking ? .null : .decimal(began.inSeconds)),
      ] + HouseReport.status(of: engine, owner: owner))
  }

  /// Returns the process that drives the house, when this one only looks at it; nil when no process does.
  /// - Throws: `speaker.lost`.
  private func otherOwner() throws(SpeakerError) -> HouseOwner? {
    guard engine.options.access == .look, let folder = engine.options.stateFolder else { return nil }
    return try HouseDriver.owner(ofStateFolder: folder)
  }

  // MARK: Causes

  private func answerWhy(_ request: ControlRequest) throws -> JSON? {
    let parameters = try ControlParameters(request, "thing", "file")
    let (thing, file) = (
      try parameters.requiredText("thing"),
      try parameters.text("file", atMost: ControlParameters.longestAddress)
    )
    let lines = { (lines: [String]) in JSON.object([("lines", .array(lines.map { .string($0) }))]) }
    // Until a daemon that has just begun has opened its house, there are no answers about speakers.
    if engine.house.open != nil, let answer = try? why.answer(thing) { return lines(answer) }
    request.answer(on: engine.loop) { [self] in
      _ = try? await openHouse()
      do { return lines(try why.answer(thing)) } catch let error as WhyError where error.kind == .unknown {
        guard let answer = try await answerAboutRecording(file ?? thing) else { throw error }
        return lines(answer)
      }
    }
    return nil
  }

  private var why: Why {
    Why(engine.journal, house: engine.house.open, jobs: engine.scheduledJobs, zone: engine.options.zone)
  }

  /// Returns the answer about a file of the catalogue, which any process may have recorded; nil without one.
  private func answerAboutRecording(_ file: String) async throws -> [String]? {
    let recordings = engine.recordings
    guard let entry = try await recordings.entry(file) else { return nil }
    return why.answer(entry, path: recordings.shownPath(entry.path))
  }

  private func history(_ request: ControlRequest) throws -> JSON? {
    let parameters = try ControlParameters(request, "since", "room", "kind")
    var filter = JournalFilter()
    if let since = try parameters.text("since") {
      filter.since = engine.loop.wallNow.advanced(by: .zero - (try DurationText.parse(since)))
    }
    if let name = try parameters.text("kind") {
      guard let kind = JournalEntry.Kind(rawValue: name), kind.isKept else {
        throw RPCError(
          .invalidParameters,
          unknown(
            "kind of change", String(name.prefix(60)).onOneLine, among: JournalEntry.Kind.keptNames))
      }
      filter.kinds = [kind]
    }
    let text = JournalText(zone: engine.options.zone, now: engine.loop.wallNow)
    let found = { [engine] (filter: JournalFilter) -> JSON in
      // The page holds the newest changes that fit.
      let page = AnswerPage(engine.journal.history(filter).reversed()) { change in
        guard case .object(let members) = change.json else { return .null }
        return .object(members + [("text", .string(text.line(change)))])
      }
      return .array(page.elements.reversed())
    }
    guard let room = try parameters.text("room") else { return found(filter) }
    request.answer(on: engine.loop) { [self] in
      filter.speakers = Set(try await openHouse().house.speakers(in: room).map(\.id))
      return found(filter)
    }
    return nil
  }

  // MARK: The house

  /// Returns the open house; a daemon opens it when it is not.
  func openHouse() async throws -> RoomActions {
    let door = engine.house
    if isDaemon, door.open == nil { try await door.open(wait: .zero) }
    guard let house = door.open else {
      throw SpeakerError(.closed, "\(engine.options.processName) does not have the house any more")
    }
    return RoomActions(house)
  }

  /// Returns a method with the parameter `room` whose result is the sessions that play.
  private func house(
    _ body: @escaping (RoomActions, _ room: String?) async throws -> [RoomActions.Playing]
  ) -> Method {
    { [self] request in
      let room = try ControlParameters(request, "room").text("room")
      request.answer(on: engine.loop) { [self] in
        .array(try await body(try await openHouse(), room).map(RoomReport.playing))
      }
      return nil
    }
  }

  /// Returns a method without parameters that lists a part of the house. `knowsUse` is `false` if another process drives
  /// the house, and it alone knows which speakers play.
  private func listing(_ body: @escaping (House, _ knowsUse: Bool) -> [JSON]) -> Method {
    { [self] request in
      _ = try ControlParameters(request)
      request.answer(on: engine.loop) { [self] in
        .array(body(try await openHouse().house, try otherOwner() == nil))
      }
      return nil
    }
  }

  private func volume(_ request: ControlRequest) throws -> JSON? {
    let parameters = try ControlParameters(request, "room", "volume")
    let (room, text) = (try parameters.text("room"), try parameters.text("volume"))
    let change = try text.map { text throws(SpeakerError) in try RoomActions.VolumeChange(parsing: text) }
    request.answer(on: engine.loop) { [self] in
      let actions = try await openHouse()
      let levels =
        if let change { try await actions.setVolume(change, in: room) } else { try actions.levels(in: room) }
      return .array(levels.map(RoomReport.level))
    }
    return nil
  }

  private func mute(_ request: ControlRequest, _ isMuted: Bool) throws -> JSON? {
    let room = try ControlParameters(request, "room").text("room")
    request.answer(on: engine.loop) { [self] in
      .array(try await openHouse().setMuted(isMuted, in: room).map(RoomReport.level))
    }
    return nil
  }

  // MARK: Playback

  private func play(_ request: ControlRequest) throws -> JSON? {
    lastPlayback += 1
    let number = lastPlayback
    let playback = try RequestedPlayback(request, number: number, engine: engine, isShared: isDaemon)
    playbacks[number] = playback
    request.answer(on: engine.loop) { [self] in
      defer { playbacks[number] = nil }
      try await playback.run(in: try await openHouse().house)
      return .object([])
    }
    return nil
  }

  private func control(_ request: ControlRequest) throws -> JSON? {
    let parameters = try ControlParameters(request, "playback", "action", "by")
    let action = try parameters.requiredText("action")
    guard let number = try parameters.int("playback"), let playback = playbacks[number] else {
      throw RPCError(
        .invalidParameters, "playback: the parameter \"playback\" is the number of one that lasts")
    }
    try playback.perform(action, by: try parameters.int("by") ?? 0)
    return .object([])
  }
}

extension ControlRequest {
  /// Answers with the result of asynchronous work, which is cancelled when the client no longer waits for it.
  func answer(on loop: EventLoop, with work: @escaping () async throws -> JSON) {
    let task = loop.start { [self] in
      do { answer(.success(try await work())) } catch { answer(.failure(error)) }
    }
    onCancel = { task.cancel() }
  }
}
