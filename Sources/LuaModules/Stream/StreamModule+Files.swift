internal import LuaRuntime
internal import StreamKit

/// Files: `stream.file`, `seek`, and the fields that only files have.
extension StreamModule {
  /// `stream.file(path, options)`
  func file(_ call: LuaCall) throws -> LuaReturn {
    let path = script.path(of: try call.string(1, .path))
    let (options, _) = try options(call, 2)
    let stream = Stream(file: path, options: options, loop: script.loop, source: service.source)
    return call.return(streams(try scriptStream(stream)))
  }

  func defineFiles() {
    streams.method("seek", takes: 1) { stream, call in
      try stream.stream.seek(to: try call.duration(2).luaSeconds)
      return .none
    }
    func field(_ name: String, _ value: @escaping (StreamKit.Stream) -> LuaValue) {
      streams.field(name) { stream, call in call.return(value(stream.stream)) }
    }
    field("can_seek") { .bool($0.canSeek) }
    field("file_time") { $0.fileTime.map { .number($0) } ?? .nil }
    field("file_duration") { $0.fileDuration.map { .number($0) } ?? .nil }
  }
}
