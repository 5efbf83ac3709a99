internal import EventLoop
internal import Home
internal import LuaRuntime
internal import SpeakerKit

/// Several sources in one house: sessions, interruptions, snapshots.
extension SpeakerModule {
  /// `session`, `interrupt`, `snapshot`.
  func sessionMaking() -> [LuaFunction] {
    [
      withHouse("session", arity: 1, makeSession), withHouse("interrupt", arity: 1, interrupt),
      withHouse("snapshot", arity: 1, takeSnapshot),
    ]
  }

  /// `session{name=, devices=, priority=}`; a session ends with the script that made it.
  private func makeSession(_ house: House, _ call: LuaCall) throws -> LuaReturn {
    let options = try call.options(1, ["name", "devices", "priority"])
    let members = try targets(options, "devices", house)
    let held = try script.objects.hold(.session)
    let session = try house.makeSession(
      name: try options.string("name", .name), devices: members ?? [],
      priority: try options.int("priority", in: 0...1000) ?? 100)
    session.owner = script.sessionName
    let forget = script.root { session.close() }
    session.whenClosed {
      forget()
      held.release()
    }
    return call.return(sessions(session))
  }

  /// `interrupt{devices=, duck=, fade=, name=, play=, priority=, restore=, volume=}`: `play` is an argument
  /// that `speaker.play` accepts, or a function that receives the session of the speakers.
  private func interrupt(_ house: House, _ call: LuaCall) throws -> LuaReturn {
    let options = try call.options(
      1, ["devices", "duck", "fade", "name", "play", "priority", "restore", "volume"])
    let members = try targets(options, "devices", house)
    let priority = try options.int("priority", in: 0...1000) ?? 100
    let volume = try options.int("volume", in: House.volumeRange)
    let fade = try options.duration("fade") ?? .zero
    let restore = try options.bool("restore") ?? true
    let duck = try options.number("duck", in: House.duckRange)
    if duck != nil, !restore {
      throw options.problem(
        "restore", "with 'duck' the source continues under the sound: leave one of the two out")
    }
    let name = try options.string("name", .name) ?? "interruption"
    let sound = try interruptionSound(options, call)
    return try call.suspend { [unowned self] in
      // The sound is checked first: a sound that can't be played interrupts nothing. A sound over others
      // waits for its turn, and gets its session only then.
      let work = try await work(of: sound, in: house, interruptingAt: duck == nil ? priority : nil)
      let devices = members ?? house.devices
      if let duck {
        try await house.playOver(
          devices: devices, priority: priority, volume: volume, duck: duck, fade: fade, name: name, play: work
        )
      } else {
        try await house.interrupt(
          devices: devices, priority: priority, volume: volume, fade: fade, restore: restore, name: name,
          play: work)
      }
      return []
    }
  }

  /// The sound of an interruption.
  private enum InterruptionSound {
    /// Paths of files, folders or playlists.
    case files([String], isList: Bool)
    case function(LuaReference)
  }

  private func interruptionSound(_ options: LuaOptions, _ call: LuaCall) throws -> InterruptionSound {
    let expected = "a file, a list of files or a function expected"
    guard let given = options["play"] else { throw options.problem("play", expected) }
    switch given {
    case .string(let path): _ = try options.checked(path, .path, "play")
    case .reference(let function) where call.state.typeName(.reference(function)) == "function":
      return .function(function)
    default: if call.state.list(given) == nil { throw options.problem("play", expected) }
    }
    let (paths, isList) = try SessionFunctions.paths(given, call.state, script) {
      options.problem("play", $0, hint: $1)
    }
    return .files(paths, isList: isList)
  }

  /// Returns the work of an interruption, after a check that something of it can be played.
  private func work(
    of sound: InterruptionSound, in house: House, interruptingAt priority: Int?
  ) async throws -> (Session) async throws -> Void {
    switch sound {
    case .function(let function):
      return { [unowned self] session in try await run(function, with: session) }
    case .files(let paths, let isList) where isList || MusicFiles.isCollection(paths[0]):
      let files = try await MusicFiles.find(paths, on: script.loop)
      try await Self.checkAny(of: files, in: house, interruptingAt: priority)
      guard let queue = FileQueue(files, loops: false, seed: nil) else { return { _ in } }
      return { session in
        try await session.play(queue)
        _ = try await session.finish()
      }
    case .files(let paths, _):
      try await house.check(file: paths[0], interruptingAt: priority)
      return { session in
        try await session.play(paths[0])
        _ = try await session.finish()
      }
    }
  }

  /// Checks that one of the files can be played.
  /// - Throws: the error of the first.
  private static func checkAny(
    of files: [QueueEntry], in house: House, interruptingAt priority: Int?
  ) async throws {
    var first: (any Error)?
    for file in files {
      do {
        return try await house.check(file: file.path, interruptingAt: priority)
      } catch let error as CancellationError {
        throw error
      } catch { first = first ?? error }
    }
    if let first { throw first }
  }

  /// Runs a function of the script to its end; cancelled with the task.
  private func run(_ function: LuaReference, with session: Session) async throws {
    let routine = script.state.start(function, arguments: [sessions(session)], name: "interrupt")
    let loop = script.loop
    // Confined to the loop: the cancel handler only carries it there.
    nonisolated(unsafe) let cancelled = routine
    let outcome = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        routine.whenEnded { continuation.resume(returning: Ending($0)) }
      }
    } onCancel: {
      loop.post { cancelled.cancel() }
    }
    if let error = outcome.error { throw error }
  }

  /// The end of the function, without its results.
  private struct Ending: Sendable {
    let error: LuaError?

    init(_ outcome: LuaRoutine.Outcome) {
      switch outcome {
      case .returned: error = nil
      case .failed(let failure): error = failure
      case .cancelled: error = .cancelled
      }
    }
  }

  /// `snapshot{devices=}`
  private func takeSnapshot(_ house: House, _ call: LuaCall) throws -> LuaReturn {
    let options = try call.options(1, ["devices"])
    let members = try targets(options, "devices", house)
    return call.return(snapshots(try house.snapshot(devices: members)))
  }

  /// Methods of a session without a counterpart among the functions of the module, and those of a snapshot.
  func defineSessionMaking() {
    sessions.method("close", arity: 0) { session, _ in
      session.close()
      return .none
    }
    snapshots.field("devices") { [unowned self] snapshot, call in
      call.return(.list(snapshot.devices.map { devices($0) }))
    }
    snapshots.method("restore", arity: 0) { snapshot, call in
      try call.suspend {
        try await snapshot.restore()
        return []
      }
    }
  }
}

extension SpeakerModule {
  /// Returns the speakers of the option `rooms`; nil without it.
  func rooms(_ options: LuaOptions) throws -> [Device]? {
    guard let house = door.open else { throw Self.houseIsClosed }
    return try targets(options, "rooms", house)
  }

  /// `play_stream(url or stream, options)` on a session.
  func playStream(_ session: Session, _ call: LuaCall, _ first: Int) throws -> LuaReturn {
    guard let streams = streamModule, let house = door.open else {
      throw Self.houseIsClosed
    }
    let options = try call.options(first + 1, ["title", "priority", "rooms"])
    let (title, priority) = (try options.string("title", .header), try options.int("priority", in: 0...1000))
    let given = call.value(first)
    let stream: ScriptStream
    let isOwn: Bool
    if let object = streams.stream(given) {
      (stream, isOwn) = (object, false)
    } else {
      guard case .string = given else { throw call.mismatch(first, "URL or stream") }
      let text = try streams.stationText(call, first)
      if let answer = try streams.awaitPassword(of: text, call) { return answer }
      (stream, isOwn) = (try streams.adopt(try streams.service.stream(text)), true)
    }
    let rooms = try rooms(options)
    try session.requireRooms(rooms, priority: priority)
    return try call.suspend { [unowned self] in
      try streams.keep(stream)
      try await stream.playable.play(
        on: session, of: house, title: title, rooms: rooms, priority: priority, endsWithSession: isOwn)
      logMissed(by: session)
      return []
    }
  }
}
