internal import EventLoop
internal import Home
internal import LuaRuntime
internal import Playback
internal import Reception
internal import SpeakerKit
internal import StreamCore

/// `stream`: internet radio, and files.
final class StreamModule {
  unowned let script: Script
  let service: StreamService
  let streams: LuaClass<ScriptStream>
  private let sound: StreamSoundModule
  /// The streams of the script that are played or recorded: they live even without a reference in Lua.
  /// Leaves a stream to the session that plays it and outlives the script, if that is so; returns `true` then.
  var leaves: (HouseStream) -> Bool = { _ in false }
  private var active: [ObjectIdentifier: ScriptStream] = [:]

  static func register(in script: Script, service: StreamService, events: ScriptEvents) throws -> StreamModule
  {
    let module = try StreamModule(script, service)
    script.keep(module)
    module.defineControls()
    module.defineOptions()
    module.defineFields()
    module.defineFigures()
    module.defineFeeds()
    module.defineFiles()
    module.sound.define(on: module.streams)
    events.add(
      to: module.streams,
      EventSource(names: ScriptStream.eventNames, cause: listenerCause) { stream, name, deliver, _ in
        stream.listen(to: name, deliver)
      })
    script.state.register(
      "stream",
      [
        LuaFunction("new", arity: 2) { [unowned module] call in try module.new(call) },
        LuaFunction("file", arity: 2) { [unowned module] call in try module.file(call) },
        LuaFunction("stations", arity: 0) { call in
          call.return(
            .record(
              service.named.addresses.sorted { $0.key < $1.key }.map {
                ($0.key, .string($0.value.url))
              }))
        },
      ],
      values: [("version", .string(Product.version)), ("effect", module.sound.effectTable)])
    script.staysAlive { [unowned module] in module.active.values.contains { $0.playable.isActive } }
    script.root { [weak module] in module?.endAll() }
    return module
  }

  /// Returns the cause of a listener's actions: the event of the stream, caused by the command before it.
  private static func listenerCause(
    _ stream: ScriptStream, _ event: String, _ place: LuaSite?, _ now: WallTime
  ) -> Cause {
    let name = stream.stream.station.name ?? stream.stream.shownURL
    return Cause(
      .event, event, detail: name, script: place?.file, line: place?.line ?? 0, at: now,
      parent: stream.delivered)
  }

  private init(_ script: Script, _ service: StreamService) throws {
    self.script = script
    self.service = service
    sound = try StreamSoundModule(script)
    streams = try LuaClass("stream", as: "stream.Stream", in: script.state) { object in
      let name = object.stream.station.name.map { "\"\($0)\" " } ?? ""
      return "stream \(name)(\(object.stream.shownURL), \(object.stream.status.rawValue))"
    }
  }

  private func endAll() {
    for object in active.values {
      if leaves(object.playable) {
        for tap in object.taps.all { tap.remove() }
      } else {
        object.stream.stop()
      }
    }
    active = [:]
  }

  // MARK: Making

  /// `stream.new(url, options)`
  private func new(_ call: LuaCall) throws -> LuaReturn {
    let given = try stationText(call, 1)
    if let answer = try awaitPassword(of: given, call) { return answer }
    let (options, _) = try options(call, 2, from: try service.named.options(for: given))
    return call.return(streams(try adopt(try service.stream(given, options: options))))
  }

  /// Suspends the routine until the mount that holds the password of a station has answered.
  func awaitPassword(of station: String, _ call: LuaCall) throws -> LuaReturn? {
    guard let path = service.named.passwordFile(for: station) else { return nil }
    return try script.mounts.await(secret: path, call) {
      StreamError(passwordFile: path, cause: $0, hint: $1)
    }
  }

  /// A URL or the name of a station.
  func stationText(_ call: LuaCall, _ number: Int) throws -> String {
    let given = try call.string(number, .url)
    guard service.named.addresses[given] == nil, looksLikePath(given) else { return given }
    throw call.problem(
      number, "\"\(StreamAddress.shown(given).prefix(100))\" is a file, not a URL",
      code: StreamError.Kind.url.rawValue,
      hint: "files are played with speaker.play, or made a stream with stream.file")
  }

  /// Makes an object of a stream, whose events are reported.
  /// - Throws: `script.objects`.
  func adopt(_ stream: HouseStream) throws -> ScriptStream {
    let held = try script.objects.hold(.stream)
    service.follow(stream)
    let object = ScriptStream(stream, of: script)
    object.held = held
    return object
  }

  /// The stream of an argument.
  func stream(_ value: LuaValue) -> ScriptStream? { streams.object(of: value) }

  /// Keeps a stream that is started until it stops.
  /// - Parameter plays: `false` for a stream that is recorded, which needs no buffer.
  /// - Throws: `script.memory` for a local file when the local files that play use all memory that the script
  ///   may use, and when the buffers of all streams that play may need more memory than their limit.
  func keep(_ stream: ScriptStream, plays: Bool = true) throws {
    stream.origin = Script.cause(at: script.loop.wallNow)
    active = active.filter { $0.value.playable.isActive }
    let others = active.values.filter { $0 !== stream }
    if stream.stream.isLocalFile, others.count == active.count {
      let files = others.count { $0.stream.isLocalFile }
      try script.objects.checkMemory(
        (files + 1) * Playback.Stream.localFileMemory, of: "\(files) files that play")
    }
    if plays {
      let playing = others.map(\.stream.bufferMemory).filter { $0 > 0 }
      try script.objects.checkBuffers(
        playing.reduce(stream.stream.nextBufferMemory, +), ofStreams: playing.count)
    }
    active[ObjectIdentifier(stream)] = stream
  }

  // MARK: The object

  private func defineControls() {
    streams.method("start", arity: 0) { [unowned self] object, call in
      try call.suspend { [unowned self] in
        try keep(object)
        try await object.stream.start()
        return []
      }
    }
    streams.method(ofStream: "stop", arity: 0) { stream, _ in
      stream.stop()
      return .none
    }
    streams.method(ofStream: "pause", arity: 0) { stream, _ in
      stream.pause()
      return .none
    }
    streams.method(ofStream: "rewind", arity: 1) { stream, call in
      call.return(.number(-(try stream.move(by: -(try call.duration(2).inSeconds)))))
    }
    streams.method(ofStream: "forward", arity: 1) { stream, call in
      call.return(.number(try stream.move(by: try call.duration(2).inSeconds)))
    }
    streams.method(ofStream: "can_rewind", arity: 1) { stream, call in
      call.return(stream.canMove(by: -(try call.duration(2).inSeconds)))
    }
    streams.method(ofStream: "can_forward", arity: 1) { stream, call in
      call.return(stream.canMove(by: try call.duration(2).inSeconds))
    }
    streams.method(ofStream: "go_live", arity: 0) { stream, _ in
      try stream.goLive()
      return .none
    }
  }

  private func defineFields() {
    streams.field(ofStream: "status") { .string($0.status.rawValue) }
    streams.field(ofStream: "is_playing") { .bool($0.isPlaying) }
    streams.field(ofStream: "url", changedBy: "set_url") { .string($0.url) }
    streams.field(ofStream: "name") { .optional($0.station.name) }
    streams.field(ofStream: "genre") { .optional($0.station.genre) }
    streams.field(ofStream: "bit_rate") { $0.bitRate.map { .int($0) } ?? .nil }
    streams.field(ofStream: "format") { .optional($0.format.map { "\($0.codec)" }) }
    streams.field(ofStream: "title") { .optional($0.title?.text) }
    streams.field(ofStream: "text") { .optional($0.title?.text) }
    streams.field(ofStream: "artist") { .optional($0.title?.artist) }
    streams.field(ofStream: "title_without_artist") { .optional($0.title?.withoutArtist) }
    streams.field(ofStream: "stream_url") { .optional($0.title?.url) }
  }

  private func defineFigures() {
    func field(_ name: String, _ value: @escaping (StreamFigures) -> LuaValue) {
      streams.field(ofStream: name) { value($0.figures) }
    }
    field("buffer_size") { .int($0.size) }
    field("buffer_used") { .int($0.used) }
    field("buffer_playing") { $0.playing.map { .int($0) } ?? .nil }
    field("buffered_seconds") { .number($0.buffered) }
    field("buffer_max_seconds") { .number($0.capacity) }
    field("time_shift") { .number($0.timeShift) }
    field("byte_offset") { $0.byteOffset.map { .int($0) } ?? .nil }
  }
}
