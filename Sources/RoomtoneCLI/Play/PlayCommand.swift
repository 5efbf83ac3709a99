internal import EventLoop
internal import Home
internal import Roomtone
internal import SpeakerKit
internal import StreamKit

/// Command `roomtone play`.
enum PlayCommand {
  struct Options {
    var file: String
    /// Names of rooms and speakers; none for all.
    var places: [String]
    var volume: Int?
    var output: Output?
    var configuration: String?
    /// Settings for the reception of a station.
    var source = StationSettings()
  }

  /// A failure that the house reported by an event, with any of its codes.
  private struct ReportedFailure: CodedError {
    let code: String
    let message: String
  }

  static func run(_ options: Options) throws -> Int32 {
    var configuration = try EngineSetup.configuration(file: options.configuration, output: options.output)
    configuration.stations.common = options.source
    let engine = try EngineSetup.engine(EngineSetup.ownHouse(configuration, command: "play", script: nil))
    let line = ProgressLine(isShown: Terminal.showsProgress)
    defer { line.end() }
    let result = try engine.perform { house in try await play(options, in: house, engine, line) }
    return result.status
  }

  private static func play(_ options: Options, in house: House, _ engine: Engine, _ line: ProgressLine)
    async throws
  {
    let devices = try choose(options.places, in: house)
    for device in devices { try await device.join() }
    let session = house.session
    if let volume = options.volume { try session.setVolume(volume) }

    var failure: ReportedFailure?
    var silent: [String] = []
    house.events.on { event in
      switch event {
      case .time(_, let session): line.show(session)
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
    let isStation = engine.options.configuration.stations.addresses[options.file] != nil
    if !isStation && !StreamAddress.looksLikeURL(options.file) {
      try await session.play(options.file)
    } else {
      try await engine.streams.play(options.file, on: session, of: house) { event in
        switch event {
        case .title(let title):
          line.title = title
          line.show(session)
        case .failed(let error):
          engine.onLog(.warn, "\(error.message) (\(error.code))", [])
        case .reconnected: break
        }
      }
    }
    line.show(session)
    let result = try await session.finish()
    // Failures are emitted in later turns of the loop.
    while house.events.hasPending { try await house.loop.sleep(for: .zero) }
    switch (result, failure) {
    case (.ended(.finished), let failure?): engine.onLog(.warn, failure.description, [])
    case (_, let failure?): throw failure
    case (.ended(.finished), nil), (.idle, nil):
      if !silent.isEmpty { throw ended("was not heard whole on " + silent.joined(separator: ", "), options) }
    case (.ended(.failed), nil): throw ended("has failed", options)
    case (.ended(.noDevices), nil): throw ended("ended early: no speaker is left", options)
    case (.ended(.stopped), nil), (.ended(.replaced), nil), (.timeout, nil):
      throw ended("ended early", options)
    }
  }

  private static func ended(_ what: String, _ options: Options) -> CommandFailure {
    CommandFailure(.playback, "\(options.file) \(what)")
  }

  /// Returns the speakers of the named rooms and speakers, in the order of the house, each once; all for no
  /// name.
  private static func choose(_ places: [String], in house: House) throws -> [Device] {
    if places.isEmpty { return house.devices }
    let chosen = try Set(places.flatMap { try house.speakers(in: $0) }.map(\.id))
    return house.devices.filter { chosen.contains($0.id) }
  }
}
