import AudioCore
import EventLoop
import Home
import SpeakerKit
import TestSupport

/// Sends the same requests to a house and its model, and compares errors, events and state after every step.
final class RandomWalk {
  private struct Event {
    let reported: HouseModel.Report
    /// Second and session of a `time` event; nil for others.
    let second: (Int, player: Int)?
  }

  static let speakers = [
    SpeakerSpec(name: "A", group: "Room", volume: 50),
    SpeakerSpec(name: "B", group: "Room", role: .left, volume: 45, balance: -2),
    SpeakerSpec(name: "C", group: "Hall", role: .right, volume: 50, balance: 3),
    SpeakerSpec(name: "D", role: .mono, volume: 48),
  ]

  private let harness: HouseHarness
  private let seed: UInt64
  private let paths: [String: String]
  private var random: SeededRandom
  private(set) var model: HouseModel
  /// Sessions by number, including closed ones.
  private var sessions: [Session]
  /// Numbers of the first session, and of those of scripts.
  private var own = [0]
  private let scripts = OwnSessions()
  private let devices: [Device]
  private var inbox: [Event] = []
  private var reported: [HouseModel.Report] = []
  private var compared = 0
  private var history: [String] = []
  /// Words of the events, and codes that were raised.
  private(set) var seen: Set<String> = []
  private var interruptions = 0

  /// Creates a walk.
  /// - Parameters:
  ///   - paths: the sources by title.
  ///   - limits: those of the speakers.
  init(
    _ harness: HouseHarness, seed: UInt64, paths: [String: String], limits: [HouseModel.Limit?]
  ) throws {
    self.harness = harness
    self.seed = seed
    self.paths = paths
    random = SeededRandom(seed: seed)
    let house = harness.house
    devices = house.devices
    model = HouseModel(
      zip(Self.speakers, limits).map { speaker, limit in
        .init(
          label: speaker.name, name: speaker.name, volume: speaker.volume, role: speaker.role,
          balance: speaker.balance, session: 0, limit: limit)
      }, at: harness.loop.now.nanoseconds)
    for (index, speaker) in Self.speakers.enumerated() {
      if let group = speaker.group { model.groups[group, default: []].append(index) }
    }
    sessions = [house.session]
    for name in WalkStep.scripts {
      own.append(sessions.count)
      sessions.append(try scripts.session(of: name, named: name, in: house))
      _ = model.open(name, priority: 100)
    }
    record()
  }

  /// Performs steps, then ends all sessions and waits for silence.
  func run(steps: Int) async throws {
    for number in 1...steps {
      // Three at a time nest in every way of the contract.
      let step = WalkStep.random(
        number, known: sessions.count, own: own, mayInterrupt: model.interruptions.count < 3, using: &random)
      let wait = step.randomWait(using: &random)
      try await perform(step, number, wait: wait)
    }
    while interruptions > 0 {
      try await harness.loop.sleep(for: .milliseconds(100))
      try compare()
    }
    for session in own { try await perform(.stop(session), steps, wait: 50_000_001) }
  }

  private func perform(_ step: WalkStep, _ number: Int, wait: Int64) async throws {
    history.append("\(number) at \(harness.loop.now.nanoseconds): \(step), then \(wait) ns")
    let expected = model.perform(step)
    let raised = await perform(step)
    if let raised { seen.insert(raised) }
    guard raised == expected else {
      throw failure("it raised \(raised ?? "nothing"), the contract says \(expected ?? "nothing")")
    }
    try await harness.loop.sleep(for: .nanoseconds(wait))
    try compare()
  }

  // MARK: The house

  /// Performs a step on the house.
  /// - Returns: the code of the error that it raises.
  private func perform(_ step: WalkStep) async -> String? {
    do {
      try await ask(step)
      return nil
    } catch { return Self.code(of: error) }
  }

  private static func code(of error: any Error) -> String { (error as? any CodedError)?.code ?? "\(error)" }

  private func ask(_ step: WalkStep) async throws {
    let controls = try harness.house.controls()
    switch step {
    case .join(let speaker, let session): try await devices[speaker].join(sessions[session])
    case .leave(let speaker): try await devices[speaker].leave()
    case .play(let session, let play):
      try await sessions[session].play(
        paths[play.title] ?? "", title: play.title, start: Double(play.first) / 48_000, loops: play.loops,
        rooms: play.rooms.map { rooms in rooms.map { devices[$0] } }, priority: play.priority)
    case .pause(let session): sessions[session].pause()
    case .resume(let session): try sessions[session].resume()
    case .stop(let session): sessions[session].stop()
    case .seek(let session, let frame): try sessions[session].seek(toSeconds: Double(frame) / 48_000)
    case .volume(let target, let volume):
      switch target {
      case .house: try harness.house.setVolume(volume)
      case .session(let session): try sessions[session].setVolume(volume)
      case .speaker(let speaker): try devices[speaker].setVolume(volume)
      }
    case .mute(let target, let isMuted):
      switch target {
      case .house: try isMuted ? harness.house.mute() : harness.house.unmute()
      case .session(let session): try isMuted ? sessions[session].mute() : sessions[session].unmute()
      case .speaker(let speaker): try isMuted ? devices[speaker].mute() : devices[speaker].unmute()
      }
    case .role(let speaker, let role): try devices[speaker].setRole(role)
    case .balance(let speaker, let balance): try devices[speaker].setBalance(balance)
    case .gain(let session, let gain): try sessions[session].setGain(gain)
    case .plug(let speaker, let isPlugged):
      if isPlugged { try controls.plug(devices[speaker]) } else { try controls.unplug(devices[speaker]) }
    case .interrupt(let request): try interrupt(request)
    case .close(let session): sessions[session].close()
    case .rename(let speaker, let name): try await devices[speaker].setName(name)
    case .regroup(let speaker, let name): try await devices[speaker].setGroup(name)
    case .powerCut: for device in devices { try controls.unplug(device) }
    case .person(let person): try await ask(person)
    case .reload(let session):
      let name = sessions[session].name
      let found = try scripts.session(of: name, named: name, in: harness.house)
      guard found === sessions[session] else { throw failure("the next version has another session") }
    case .restart(let session):
      let name = sessions[session].name
      scripts.close(name)
      own = own.map { $0 == session ? sessions.count : $0 }
      sessions.append(try scripts.session(of: name, named: name, in: harness.house))
    }
  }

  private func ask(_ person: WalkStep.Person) async throws {
    let actions = RoomActions(harness.house)
    func name(_ place: WalkStep.Place?) -> String? {
      switch place {
      case nil: nil
      case .room(let name): name
      case .speaker(let speaker): devices[speaker].name
      }
    }
    switch person {
    case .stop(let place): _ = try await actions.stop(name(place))
    case .pause(let place): _ = try actions.pause(name(place))
    case .resume(let place): _ = try actions.resume(name(place))
    case .step(let place, let step): _ = try await actions.setVolume(.step(step), in: name(place))
    }
  }

  /// Begins an interruption in a routine of its own.
  private func interrupt(_ request: WalkStep.Interruption) throws {
    var failure: (any Error)?
    interruptions += 1
    harness.loop.start { [self] in
      do {
        try await harness.house.interrupt(
          devices: request.speakers.map { devices[$0] }, priority: request.priority, volume: request.volume,
          restore: request.restores, name: request.name
        ) { session in
          sessions.append(session)
          try await session.play(paths["bell"] ?? "", title: "bell")
          try await harness.loop.sleep(for: .nanoseconds(request.length))
        }
      } catch { failure = error }
      interruptions -= 1
    }
    if let failure { throw failure }
  }

  private func record() {
    let house = harness.house
    house.events.on { [unowned self] event in
      switch event {
      case .device(let device, let reason): note("device \(label(device)) \(reason.rawValue)")
      case .volume(let device, let volume, let muted, let average, _, _):
        note("volume \(label(device)) \(volume)\(muted ? " muted" : ""), average \(average)")
      case .state(let state, let session, _): note("state \(state.rawValue) \(session.name)")
      case .time(let elapsed, let session):
        let player = sessions.firstIndex { $0 === session } ?? -1
        note("time \(elapsed) \(session.name)", second: (elapsed, player))
      case .ended(let session, let source, let reason):
        note("ended \(source.title) \(reason.rawValue) \(session.name)")
      case .track(let session, let source, let index, let count):
        note("track \(source.title) \(index)/\(count) \(session.name)")
      case .error(let code, _, let device, let session):
        note("error \(code) \(device.map(label) ?? "-") \(session?.name ?? "-")")
      case .suspension(let phase, let session, let by):
        note("\(phase.rawValue) \(session.name) by \(by.name)")
      }
    }
  }

  private func note(_ text: String, second: (Int, player: Int)? = nil) {
    seen.formUnion(text.split(separator: " ").map(String.init))
    inbox.append(Event(reported: .init(instant: harness.loop.now.nanoseconds, text: text), second: second))
  }

  private func label(_ device: Device) -> String {
    devices.firstIndex { $0 === device }.map { Self.speakers[$0].name } ?? "?"
  }

  // MARK: Comparing

  private func compare() throws {
    for event in inbox {
      if let (second, player) = event.second {
        guard player >= 0 else { throw failure("\(event.reported.text): of no session that is known") }
        model.hear(second: second, of: player, at: event.reported.instant)
      } else {
        reported.append(event.reported)
      }
    }
    inbox = []
    model.advance(to: harness.loop.now.nanoseconds)
    if let complaint = model.complaints.first { throw failure(complaint) }
    while compared < min(reported.count, model.reported.count), reported[compared] == model.reported[compared]
    {
      compared += 1
    }
    if compared < max(reported.count, model.reported.count) {
      throw failure(
        """
        the events differ; nanosecond and event, in the house:
        \(Self.lines(reported, around: compared))
        by the contract:
        \(Self.lines(model.reported, around: compared))
        """)
    }
    for (shown, expected) in zip(shownByHouse, shownByModel) where shown != expected {
      throw failure("the house shows \(shown), the contract says \(expected)")
    }
  }

  private var shownByHouse: [String] {
    devices.map { one in
      """
      \(one.name) of \(one.groupName): \(one.volume) \(one.isMuted) \(one.role) \(one.balance) \
      \(one.isAvailable) \(one.session?.name ?? "-") \(one.isPlaying)
      """
    }
      + sessions.suffix(5).map { one in
        "\(one.name): \(one.state) \(one.position) \(one.isSuspended) \(one.isOpen) \(one.priority)"
      } + ["average \(harness.house.volume)"]
  }

  private var shownByModel: [String] {
    model.speakers.indices.map { index in
      let one = model.speakers[index]
      let isPlaying = one.isAvailable && (one.session.map { model.runs($0) } ?? false)
      return """
        \(one.name) of \(model.groupName(of: index)): \(one.volume) \(one.isMuted) \(one.role) \(one.balance) \
        \(one.isAvailable) \(one.session.map { model.players[$0].name } ?? "-") \(isPlaying)
        """
    }
      + model.players.indices.suffix(5).map { index in
        let one = model.players[index]
        var position = one.title == nil ? 0 : model.heardFrames(index)
        if one.loops, one.title != nil { position %= one.length }
        return
          "\(one.name): \(one.state) \(position) \(model.isSuspended(index)) \(one.isOpen) \(one.priority)"
      } + ["average \(model.average)"]
  }

  private static func lines(_ all: [HouseModel.Report], around index: Int) -> String {
    let range = max(0, index - 4)..<min(all.count, index + 8)
    return range.map { "  \($0 == index ? ">" : " ") \(all[$0].instant) \(all[$0].text)" }
      .joined(separator: "\n")
  }

  private func failure(_ what: String) -> TestFailure {
    TestFailure("seed \(seed): \(what)\nthe last steps:\n  \(history.suffix(10).joined(separator: "\n  "))")
  }
}
