internal import AudioCore
internal import EventLoop
internal import Glibc
internal import Home
internal import Roomtone
internal import SpeakerKit
internal import StreamKit

/// Command `roomtone play`.
enum PlayCommand {
  struct Options {
    /// Files, folders and playlists; a station alone.
    var files: [String]
    var shuffles = false
    var loops = false
    /// Names of rooms and speakers; none for all.
    var places: [String]
    var volume: Int?
    var house: OwnHouse
    /// Settings for the reception of a station.
    var source = StationSettings()
    /// The name of its `charset`.
    var charset: String?
    var attachment = Attachment.automatic
  }

  /// A failure that the house reported by an event, with any of its codes.
  private struct ReportedFailure: CodedError {
    let code: String
    let message: String
  }

  static func run(_ options: Options) throws -> Int32 {
    var configuration = try options.house.configuration()
    configuration.stations.common = options.source
    let station = try station(options, configuration)
    if let client = try options.attachment.client(hasOwnHouse: options.house.isNamed) {
      return try AttachedPlay.run(options, station, client)
    }
    let engine = try EngineSetup.engine(EngineSetup.ownHouse(configuration, command: "play", script: nil))
    let line = ProgressLine(isShown: Terminal.showsProgress)
    engine.onForcedExit = KeyTerminal.restore
    defer {
      KeyTerminal.restore()
      line.end()
    }
    let result = try engine.perform { house in try await play(options, station, in: house, engine, line) }
    return result.status
  }

  private static func play(
    _ options: Options, _ station: String?, in house: House, _ engine: Engine, _ line: ProgressLine
  ) async throws {
    let devices = try choose(options.places, in: house)
    for device in devices { try await device.join() }
    let session = house.session
    if let volume = options.volume { try session.setVolume(volume) }

    var failure: ReportedFailure?
    var silent: [String] = []
    house.events.on { event in
      switch event {
      case .time(_, let session), .track(let session, _, _, _), .state(.playing, let session, _),
        .state(.paused, let session, _):
        line.show(session)
      case .volume: line.show(session)
      case .error(let code, let message, _, let session) where session?.queue?.entries.count ?? 1 > 1:
        // A file of several, behind which the next one plays.
        engine.onLog(.warn, "\(message) (\(code))", [])
      case .error(let code, let message, _, let session) where session != nil:
        failure = ReportedFailure(code: code, message: message)
      case .error(let code, let message, let device, _):
        // A shared sound card may be reopened; the output of a single speaker is not.
        if let device, devices.contains(where: { $0 === device }) { silent.append(device.name) }
        engine.onLog(.warn, "\(message) (\(code))", [])
      default: break
      }
    }
    line.places = house.rooms(of: devices).joined(separator: ", ")
    let keys = PlayKeys(session, engine) { line.show(session) }
    defer { keys?.end() }
    line.showsControls = keys != nil
    if keys != nil, Terminal.showsProgress { Terminal.print(PlayKey.help) }
    var stream: StreamKit.Stream?
    if let station {
      stream = try await engine.streams.play(station, on: session, of: house) { event in
        switch event {
        case .title(let title):
          line.title = title
          line.show(session)
        case .failed(let error):
          engine.onLog(.warn, "\(error.message) (\(error.code))", [])
        case .reconnected: break
        }
      }
    } else {
      try await play(files: options, on: session, of: house)
    }
    line.show(session)
    let result = try await session.finish()
    // Failures are emitted in later turns of the loop.
    while house.events.hasPending { try await house.loop.sleep(for: .zero) }
    if keys?.hasEnded == true { return }
    switch (result, failure) {
    case (.ended(.finished), let failure?): engine.onLog(.warn, failure.description, [])
    case (_, let failure?): throw failure
    case (.ended(.finished), nil), (.idle, nil):
      // As of a recording, the first failure of a list is that of the command.
      if let error = stream?.leftOut { throw error }
      if !silent.isEmpty { throw ended("was not heard whole on " + silent.joined(separator: ", "), options) }
    case (.ended(.failed), nil): throw ended("has failed", options)
    case (.ended(.noDevices), nil): throw ended("ended early: no speaker is left", options)
    case (.ended(.stopped), nil), (.ended(.replaced), nil), (.timeout, nil):
      throw ended("ended early", options)
    }
  }

  /// Returns the station that the operands name; nil for files.
  /// - Throws: `UsageError` for an empty operand, a station among other operands, and one with options of files.
  private static func station(_ options: Options, _ configuration: Configuration) throws -> String? {
    if options.files.contains("") { throw UsageError(.operand, "FILE is empty", help: "roomtone play") }
    let stations = options.files.filter { file in
      configuration.stations.addresses[file] != nil || StreamAddress.looksLikeURL(file)
    }
    guard let station = stations.first else { return nil }
    let shown = quoted(StreamAddress.shown(station))
    if options.files.count > 1 {
      throw UsageError(
        .operand, "\(shown) is a station, which plays alone; files play one after the other",
        help: "roomtone play")
    }
    let options = [(options.shuffles, "--shuffle"), (options.loops, "--loop")]
    if let (_, name) = options.first(where: \.0) {
      throw UsageError(
        .option, "\(name) is for files, and \(shown) is a station", help: "roomtone play")
    }
    return station
  }

  private static func play(files options: Options, on session: Session, of house: House) async throws {
    for file in options.files {
      try MusicFiles.refuseCredentials(file, at: file)
      // A name without an extension may have been meant as that of a station.
      guard file.allSatisfy({ $0.isLetter || $0.isNumber || " -_".contains($0) }),
        RemoteMount.of(file) == nil,
        access(file, F_OK) != 0
      else { continue }
      throw AudioError.notFound(
        file, cause: "no such file, and no station \(quoted(file)) is configured",
        hint: "roomtone doctor lists the stations of the configuration")
    }
    if options.files.count == 1 { try await MusicFiles.awaitAnswer(of: options.files, on: house.loop) }
    if options.files.count == 1, !MusicFiles.isCollection(options.files[0]) {
      return try await session.play(options.files[0], loops: options.loops)
    }
    try session.requireMembers()
    let files = try await MusicFiles.find(options.files, on: house.loop)
    let seed = options.shuffles ? UInt64.random(in: 0...UInt64.max) : nil
    guard let queue = FileQueue(files, loops: options.loops, seed: seed) else { return }
    try await session.play(queue)
  }

  private static func ended(_ what: String, _ options: Options) -> CommandFailure {
    CommandFailure(.playback, "\(options.files.joined(separator: ", ")) \(what)")
  }

  /// Returns the speakers of the named rooms and speakers, in the order of the house, each once; all for no
  /// name.
  private static func choose(_ places: [String], in house: House) throws -> [Device] {
    if places.isEmpty { return house.devices }
    let chosen = try Set(places.flatMap { try house.speakers(in: $0) }.map(\.id))
    return house.devices.filter { chosen.contains($0.id) }
  }
}
