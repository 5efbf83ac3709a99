internal import AudioCore
internal import EventLoop
internal import Glibc
internal import Home
internal import JSONText
internal import Playback
internal import SpeakerKit
internal import StreamCore

/// Sound that a process plays to its end for a client, which controls it meanwhile. Confined to the loop.
///
/// It plays on a session of its own. In a daemon the speakers return to what they did, unless the client keeps them; in a
/// process that plays nothing else a level that is set stays.
final class RequestedPlayback {
  private let request: ControlRequest
  private let number: Int
  private unowned let engine: Engine
  private let isShared: Bool
  private let files: [String]
  private let station: String?
  private let rooms: [String]
  private let volume: Int?
  private let keepsRooms: Bool
  private let shuffles: Bool
  private let loops: Bool
  private let settings: StationSettings

  private var house: House?
  private var session: Session?
  /// The title that a station has sent; nil for the title of the source.
  private var title: String?
  /// The failure of the only source.
  private var failure: ReportedFailure?
  /// The names of the speakers whose outputs have failed.
  private var silent: [String] = []
  /// `true` if the client has ended the playback, which is no failure.
  private var isEnded = false
  /// Volumes that were set and have not taken effect yet, by speaker.
  private var volumes: [String: Int] = [:]
  private var volumesTimer: LoopTimer?

  /// The name of the session.
  static let sessionName = "roomtone play"
  /// The code of a playback that somebody has ended.
  static let endedCode = "speaker.ended"

  /// A failure of the playback, with a code of the house or of its source.
  private struct ReportedFailure: CodedError {
    let code: String
    let message: String
  }

  /// Reads a request for `play`.
  /// - Parameters:
  ///   - number: the number by which the client controls the playback.
  ///   - isShared: `true` if the house may play for others too.
  init(_ request: ControlRequest, number: Int, engine: Engine, isShared: Bool) throws {
    let parameters = try ControlParameters(
      request, "files", "station", "rooms", "volume", "keep", "shuffle", "loop", "charset", "user_agent",
      "user",
      "password_file", "certificate_file")
    (self.request, self.number, self.engine, self.isShared) = (request, number, engine, isShared)
    let longest = ControlParameters.longestAddress
    files = try parameters.texts("files", atMost: longest)
    station = try parameters.text("station", atMost: longest)
    guard files.isEmpty == (station != nil) else {
      throw RPCError(.invalidParameters, "play: either \"files\" or \"station\" is given")
    }
    (rooms, volume) = (try parameters.texts("rooms", atMost: longestName), try parameters.int("volume"))
    if let volume, !House.volumeRange.contains(volume) {
      throw RPCError(.invalidParameters, "play: the parameter \"volume\" is 0 to \(House.maximumVolume)")
    }
    keepsRooms = try parameters.flag("keep")
    (shuffles, loops) = (try parameters.flag("shuffle"), try parameters.flag("loop"))
    var settings = StationSettings()
    if let name = try parameters.text("charset") {
      guard let charset = MetadataEncoding(name: name) else {
        throw RPCError(.invalidParameters, "play: no encoding is called \"\(name.onOneLine)\"")
      }
      settings.charset = charset
    }
    settings.userAgent = try parameters.text("user_agent", atMost: longest)
    settings.user = try parameters.text("user", atMost: longest)
    settings.password = try parameters.text("password_file", atMost: longest).map { .file($0) }
    settings.certificateFile = try parameters.text("certificate_file", atMost: longest)
    self.settings = settings
  }

  /// Plays to the end. The client receives the notifications `begins`, with the number of the playback, before the sound,
  /// then `playing` each second and after each change, and `warning`; at the end `ended`, with the `reason` unless it has
  /// failed before the sound.
  /// - Throws: `speaker.unknown`, `speaker.outranked`, `audio.…`, `stream.…`, `speaker.ended`, `CancellationError`.
  func run(in house: House) async throws {
    let names = rooms.isEmpty ? engine.options.configuration.defaultRooms : rooms
    let chosen = try names.map { Set(try $0.flatMap { try house.speakers(in: $0) }.map(\.id)) }
    let devices = house.devices.filter { chosen?.contains($0.id) ?? true }
    try await checkFiles(in: house)
    var stream: HouseStream?
    if let station {
      var stations = engine.options.configuration.stations
      stations.common = settings
      stream = try engine.streams.stream(
        station, options: try await stations.options(for: station, on: engine.loop))
      if let stream { engine.streams.follow(stream) }
    }
    defer {
      stream?.stream.stop()
      volumesTimer?.cancel()
    }
    if isShared {
      try await house.interrupt(
        devices: devices, volume: volume, restore: !keepsRooms, name: Self.sessionName
      ) { session in
        try await play(stream, on: session, of: devices, in: house)
      }
    } else {
      let session = try house.makeSession(name: Self.sessionName, devices: devices)
      if let volume { try session.setVolume(volume) }
      try await play(stream, on: session, of: devices, in: house)
    }
  }

  /// Checks the files before anything is interrupted.
  private func checkFiles(in house: House) async throws {
    for file in files {
      try MusicFiles.refuseCredentials(file, at: file)
      // A name without an extension may have been meant as the name of a station.
      guard file.allSatisfy({ $0.isLetter || $0.isNumber || " -_".contains($0) }),
        RemoteMount.of(file) == nil, access(file, F_OK) != 0
      else { continue }
      throw AudioError.notFound(
        file, cause: "no such file, and no station '\(file)' is configured",
        hint: "roomtone doctor lists the stations of the configuration")
    }
    guard files.count == 1 else { return }
    try await MusicFiles.awaitAnswer(of: files, on: house.loop)
    if isShared, !MusicFiles.isCollection(files[0]) { try await house.check(file: files[0]) }
  }

  private func play(
    _ stream: HouseStream?, on session: Session, of devices: [Device], in house: House
  ) async throws {
    (self.house, self.session) = (house, session)
    let subscription = house.events.on { [unowned self] in follow($0, devices) }
    defer { subscription.cancel() }
    _ = request.notify("begins", .object([("playback", .number(number))]))
    // The house may take a while to close, and has no playback then.
    var reason: EndReason?
    defer {
      _ = request.notify("ended", .object(reason.map { [("reason", .string($0.rawValue))] } ?? []))
    }
    if let stream {
      try await engine.streams.play(stream, on: session, of: house) { [weak self] in self?.follow($0) }
    } else {
      try await playFiles(on: session, of: house)
    }
    report()
    let result = try await session.finish()
    // Failures are emitted in later turns of the loop.
    while house.events.hasPending { try await house.loop.sleep(for: .zero) }
    if case .ended(let end) = result {
      // A session that another one has left without speakers was replaced.
      let isTaken = devices.contains { $0.session != nil && $0.session !== session }
      reason = end == .noDevices && isTaken ? .replaced : end
    }
    if !isEnded { try conclude(result, stream?.stream.leftOut) }
  }

  private func playFiles(on session: Session, of house: House) async throws {
    if files.count == 1, !MusicFiles.isCollection(files[0]) {
      return try await session.play(files[0], loops: loops)
    }
    try session.requireRooms()
    let found = try await MusicFiles.find(files, on: house.loop)
    let seed = shuffles ? UInt64.random(in: 0...UInt64.max) : nil
    guard let queue = FileQueue(found, loops: loops, seed: seed) else { return }
    try await session.play(queue)
  }

  /// Throws the failure of a playback that has ended, if it is one.
  private func conclude(_ result: FinishResult, _ leftOut: StreamError?) throws {
    switch (result, failure) {
    case (.ended(.finished), let failure?): warn(failure.description)
    case (_, let failure?): throw failure
    case (.ended(.finished), nil), (.idle, nil):
      // As with a recording, the first failure of a list is the failure of the playback.
      if let leftOut { throw leftOut }
      if !silent.isEmpty { throw ended("was not heard whole on " + silent.joined(separator: ", ")) }
    case (.ended(.failed), nil): throw ended("has failed")
    case (.ended(.noDevices), nil): throw ended("ended early: no speaker is left")
    case (.ended(.stopped), nil), (.ended(.replaced), nil), (.timeout, nil): throw ended("ended early")
    }
  }

  private func ended(_ what: String) -> ReportedFailure {
    let source = station.map(StreamAddress.shown) ?? files.joined(separator: ", ")
    return ReportedFailure(code: Self.endedCode, message: "\(source) \(what)")
  }

  // MARK: Reports

  private func follow(_ event: HouseEvent, _ devices: [Device]) {
    switch event {
    case .time, .track, .state: if event.session === session { report() }
    case .volume(let device, _, _, _, _, _): if devices.contains(where: { $0 === device }) { report() }
    case .error(let code, let message, _, let other?):
      guard other === session else { return }
      if other.queue?.entries.count ?? 1 > 1 {
        // The failed file is one of several: the next one plays.
        warn("\(message) (\(code))")
      } else {
        failure = ReportedFailure(code: code, message: message)
      }
    case .error(let code, let message, let device, nil):
      // A shared sound card may be reopened; the output of a single speaker is not.
      let isChosen = devices.contains { $0 === device }
      if let device, isChosen { silent.append(device.name) }
      // In a shared house, failures of other speakers concern other clients.
      if isChosen || device == nil || !isShared { warn("\(message) (\(code))") }
    case .device, .ended, .suspension: break
    }
  }

  private func follow(_ event: StationEvent) {
    switch event {
    case .title(let title):
      self.title = title
      report()
    case .failed(let error): warn("\(error.message) (\(error.code))")
    case .reconnected: break
    }
  }

  private func warn(_ message: String) {
    _ = request.notify("warning", .object([("message", .string(message))]))
  }

  private func report() {
    guard let house, let session, let source = session.source else { return }
    let rate = session.format.sampleRate
    var members: [(name: String, value: JSON)] = [
      ("title", .string(title ?? source.title)), ("position", .number(session.position / rate)),
      ("duration", session.duration.map { .number($0 / rate) } ?? .null),
      ("paused", .bool(session.state == .paused)), ("volume", .number(session.volume)),
      ("rooms", .array(house.rooms(of: house.speakers(of: session)).map { .string($0) })),
    ]
    if let (entries, index) = session.queue, entries.count > 1 {
      members += [("index", .number(index + 1)), ("count", .number(entries.count))]
    }
    _ = request.notify("playing", .object(members))
  }

  // MARK: Control

  /// Controls the playback.
  /// - Parameters:
  ///   - action: `pause`, which resumes too; `next`, `previous`, `seek`, `volume`, `stop`.
  ///   - step: the seconds of `seek`, or the levels of `volume`, from where the playback is.
  /// - Throws: `RPCError` for another action; `SpeakerError`, `AudioError`, `StreamError`.
  func perform(_ action: String, by step: Int) throws {
    guard let session else { return }
    switch action {
    case "pause": if session.state == .paused { try session.resume() } else { session.pause() }
    // The change to another file is reported when that begins.
    case "next":
      try session.next()
      isEnded = session.state == .stopped
      return
    case "previous": return try session.previous()
    case "seek": try seek(session, by: Double(step))
    case "volume": try changeVolume(of: session, by: step)
    case "stop":
      isEnded = true
      session.stop()
    default:
      let known = ["pause", "next", "previous", "seek", "volume", "stop"]
      throw RPCError(.invalidParameters, unknown("action", action.onOneLine, among: known))
    }
    report()
  }

  /// Seeks within the file: not before its beginning, and after its end to the end.
  private func seek(_ session: Session, by seconds: Double) throws {
    let rate = Double(session.format.sampleRate)
    let target = max(0, Double(session.position) / rate + seconds)
    try session.seek(toSeconds: min(target, session.duration.map { Double($0) / rate } ?? .infinity))
  }

  /// Changes the volumes of all members alike; not at all when one of them can't follow, which would change their balance.
  private func changeVolume(of session: Session, by step: Int) throws {
    let devices = session.devices.filter(\.isAvailable)
    let targets = devices.map { (volumes[$0.id] ?? $0.volume) + step }
    let isFree = zip(devices, targets).allSatisfy { device, target in
      step < 0 ? target >= 0 : target <= device.volumeLimit ?? House.maximumVolume
    }
    guard isFree else { return }
    for (device, volume) in zip(devices, targets) {
      try device.setVolume(volume)
      volumes[device.id] = volume
    }
    volumesTimer?.cancel()
    volumesTimer = engine.loop.after(.milliseconds(100)) { [weak self] in self?.volumes = [:] }
  }
}
