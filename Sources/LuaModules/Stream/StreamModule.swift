internal import EventLoop
internal import Home
internal import LuaRuntime
internal import SpeakerKit
internal import StreamKit

/// `stream`: internet radio, and files.
final class StreamModule {
  unowned let script: Script
  let service: StreamService
  let streams: LuaClass<ScriptStream>
  private let sound: StreamSoundModule
  /// Streams of the script that don't stand still: they live though nobody keeps them.
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
      EventFeed(names: ScriptStream.eventNames) { stream, name, deliver, _ in stream.listen(to: name, deliver)
      })
    script.state.register(
      "stream",
      [
        LuaFunction("new", takes: 2) { [unowned module] call in try module.new(call) },
        LuaFunction("file", takes: 2) { [unowned module] call in try module.file(call) },
        LuaFunction("stations", takes: 0) { call in
          call.return(
            .record(
              service.named.urls.sorted { $0.key < $1.key }.map {
                ($0.key, .string(StreamURL.shown($0.value)))
              }))
        },
      ],
      values: [("version", .string(Product.version)), ("effect", module.sound.effectTable)])
    script.staysAlive { [unowned module] in module.active.values.contains { $0.isActive } }
    script.root { [weak module] in module?.endAll() }
    return module
  }

  private init(_ script: Script, _ service: StreamService) throws {
    self.script = script
    self.service = service
    sound = try StreamSoundModule(script)
    streams = try LuaClass("stream", in: script.state) { stream in
      let name = stream.stream.station.name.map { "\"\($0)\" " } ?? ""
      return "stream \(name)(\(stream.stream.url), \(stream.stream.status.rawValue))"
    }
  }

  private func endAll() {
    for stream in active.values { stream.stream.stop() }
    active = [:]
  }

  // MARK: Making

  /// `stream.new(url, options)`
  private func new(_ call: LuaCall) throws -> LuaReturn {
    let address = try address(call, 1)
    return call.return(
      streams(try make(address, try options(call, 2, from: try service.named.options(for: address)).0)))
  }

  /// A URL or the name of a station.
  func address(_ call: LuaCall, _ number: Int) throws -> String {
    let given = try call.string(number, .url)
    guard service.named.urls[given] == nil, looksLikePath(given) else { return given }
    throw call.problem(
      number, "\"\(given.prefix(100))\" is a file, not a URL", code: StreamError.Kind.url.rawValue,
      hint: "files are played with speaker.play, or made a stream with stream.file")
  }

  /// A stream at `url`, or of the station of this name, which lives as long as it is not stopped.
  func make(_ url: String, _ options: StreamOptions) throws -> ScriptStream {
    let stream = try StreamKit.Stream(
      url: try service.named.url(url), options: options, loop: script.loop, source: service.source)
    if service.named.urls[url] != nil { stream.nickname = url }
    return try scriptStream(stream)
  }

  /// The same with the options of the station.
  func make(named url: String) throws -> ScriptStream { try make(url, try service.named.options(for: url)) }

  /// - Throws: `script.objects`.
  func scriptStream(_ stream: StreamKit.Stream) throws -> ScriptStream {
    let scriptStream = ScriptStream(stream, loop: script.loop)
    scriptStream.held = try script.objects.hold(.stream)
    service.follow(scriptStream)
    return scriptStream
  }

  /// The stream of an argument.
  func stream(_ value: LuaValue) -> ScriptStream? { streams.object(of: value) }

  /// It is started: it lives until it stops.
  func keep(_ stream: ScriptStream) {
    active = active.filter { $0.value.isActive }
    active[ObjectIdentifier(stream)] = stream
  }

  // MARK: The object

  private func defineControls() {
    streams.method("start", takes: 0) { [unowned self] stream, call in
      try call.suspend { [unowned self] in
        keep(stream)
        try await stream.stream.start()
        return []
      }
    }
    streams.method("stop", takes: 0) { stream, _ in
      stream.stream.stop()
      return .none
    }
    streams.method("pause", takes: 0) { stream, _ in
      stream.stream.pause()
      return .none
    }
    streams.method("rewind", takes: 1) { stream, call in
      call.return(.number(-(try stream.stream.move(by: -(try call.duration(2).luaSeconds)))))
    }
    streams.method("forward", takes: 1) { stream, call in
      call.return(.number(try stream.stream.move(by: try call.duration(2).luaSeconds)))
    }
    streams.method("can_rewind", takes: 1) { stream, call in
      call.return(stream.stream.canMove(by: -(try call.duration(2).luaSeconds)))
    }
    streams.method("can_forward", takes: 1) { stream, call in
      call.return(stream.stream.canMove(by: try call.duration(2).luaSeconds))
    }
    streams.method("go_live", takes: 0) { stream, _ in
      try stream.stream.goLive()
      return .none
    }
  }

  private func defineFields() {
    func field(_ name: String, _ value: @escaping (StreamKit.Stream) -> LuaValue) {
      streams.field(name) { stream, call in call.return(value(stream.stream)) }
    }
    field("status") { .string($0.status.rawValue) }
    field("is_playing") { .bool($0.isPlaying) }
    streams.field("url", changedBy: "set_url") { stream, call in call.return(.string(stream.stream.url)) }
    field("name") { .optional($0.station.name) }
    field("genre") { .optional($0.station.genre) }
    field("bit_rate") { $0.bitRate.map { .int($0) } ?? .nil }
    field("format") { .optional($0.format.map { "\($0.codec)" }) }
    field("title") { .optional($0.title?.text) }
    field("text") { .optional($0.title?.text) }
    field("artist") { .optional($0.title?.artist) }
    field("title_without_artist") { .optional($0.title?.withoutArtist) }
    field("stream_url") { .optional($0.title?.url) }
  }

  private func defineFigures() {
    func field(_ name: String, _ value: @escaping (StreamFigures) -> LuaValue) {
      streams.field(name) { stream, call in call.return(value(stream.stream.figures)) }
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

extension SpeakerModule {
  /// `play_stream(url or stream, options)` on a session.
  func playStream(_ session: Session, _ call: LuaCall, _ first: Int) throws -> LuaReturn {
    guard let streams = streamModule, let house = door.open else {
      throw SpeakerError(.closed, "the house is closed")
    }
    let options = try call.options(first + 1, ["title", "priority"])
    let (title, priority) = (try options.string("title", .header), try options.int("priority", in: 0...1000))
    let given = call.value(first)
    let stream: ScriptStream
    let isOwn: Bool
    if let object = streams.stream(given) {
      (stream, isOwn) = (object, false)
    } else {
      guard case .string = given else { throw call.mismatch(first, "URL or stream") }
      (stream, isOwn) = (try streams.make(named: try streams.address(call, first)), true)
    }
    try session.requireMembers()
    return try call.suspend {
      streams.keep(stream)
      try await stream.play(on: session, of: house, title: title, priority: priority, isOwn: isOwn)
      return []
    }
  }
}
