internal import AudioCore
internal import EventLoop
internal import Home
internal import JSONText
internal import SpeakerKit
internal import StreamKit

/// Sound that a client has the daemon play: in a session of its own, behind which the speakers return to what they did.
/// Confined to the loop.
struct AttachedPlayback {
  private let request: ControlRequest
  private let engine: Engine
  private let files: [String]
  private let station: String?
  private let rooms: [String]
  private let volume: Int?
  private let shuffles: Bool
  private let loops: Bool
  private let settings: StationSettings

  /// A failure that the house reported by an event.
  private struct ReportedFailure: CodedError {
    let code: String
    let message: String
  }

  /// Reads a request for `play`.
  init(_ request: ControlRequest, engine: Engine) throws {
    let parameters = try ControlParameters(
      request, "files", "station", "rooms", "volume", "shuffle", "loop", "charset", "user_agent", "user",
      "password_file", "certificate_file")
    (self.request, self.engine) = (request, engine)
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

  /// Plays to the end; the client receives a notification `playing` each second.
  /// - Throws: `speaker.unknown`, `speaker.outranked`, `audio.…`, `stream.…`, `speaker.ended`, `CancellationError`.
  func run(in house: House) async throws -> JSON {
    for file in files { try MusicFiles.refuseCredentials(file, at: file) }
    let chosen = try rooms.isEmpty ? nil : Set(rooms.flatMap { try house.speakers(in: $0) }.map(\.id))
    let devices = house.devices.filter { chosen?.contains($0.id) ?? true }
    // A file that can't be read interrupts nothing.
    if files.count == 1, !MusicFiles.isCollection(files[0]) { try await house.check(file: files[0]) }
    var stream: HouseStream?
    if let station {
      var stations = engine.options.configuration.stations
      stations.common = settings
      stream = try engine.streams.stream(
        station, options: try await stations.options(for: station, on: engine.loop))
    }
    var result = FinishResult.idle
    var failure: ReportedFailure?
    try await house.interrupt(
      devices: devices, volume: volume, name: "roomtone play"
    ) { session in
      let subscription = house.events.on { event in
        switch event {
        case .time(_, let other), .track(let other, _, _, _), .state(_, let other, _):
          if other === session { report(session, of: house, stream) }
        case .error(let code, let message, _, let other) where other === session:
          if session.queue?.entries.count ?? 1 > 1 {
            _ = request.notify("warning", .object([("message", .string("\(message) (\(code))"))]))
          } else {
            failure = ReportedFailure(code: code, message: message)
          }
        default: break
        }
      }
      defer { subscription.cancel() }
      if let stream {
        try await stream.play(on: session, of: house, endsWithSession: true)
      } else {
        try await play(on: session, of: house)
      }
      report(session, of: house, stream)
      result = try await session.finish()
      // Failures are emitted in later turns of the loop.
      while house.events.hasPending { try await house.loop.sleep(for: .zero) }
    }
    if let failure { throw failure }
    if case .ended(.finished) = result { return .object([]) }
    throw ReportedFailure(code: "speaker.ended", message: "the playback ended early")
  }

  private func play(on session: Session, of house: House) async throws {
    if files.count == 1, !MusicFiles.isCollection(files[0]) {
      return try await session.play(files[0], loops: loops)
    }
    let found = try await MusicFiles.find(files, on: house.loop)
    let seed = shuffles ? UInt64.random(in: 0...UInt64.max) : nil
    guard let queue = FileQueue(found, loops: loops, seed: seed) else { return }
    try await session.play(queue)
  }

  private func report(_ session: Session, of house: House, _ stream: HouseStream?) {
    guard let source = session.source else { return }
    let rate = session.format.sampleRate
    var members: [(name: String, value: JSON)] = [
      ("title", .string(source.title)), ("position", .number(session.position / rate)),
      ("duration", session.duration.map { .number($0 / rate) } ?? .null),
      ("paused", .bool(session.state == .paused)),
      ("rooms", .array(house.rooms(of: house.speakers(of: session)).map { .string($0) })),
    ]
    if let (entries, index) = session.queue, entries.count > 1 {
      members += [("index", .number(index + 1)), ("count", .number(entries.count))]
    }
    _ = request.notify("playing", .object(members))
  }
}
