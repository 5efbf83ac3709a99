internal import EventLoop
internal import Home
internal import LuaRuntime
internal import Playback

/// Files: `stream.file`, `seek`, and the fields that only files have.
extension StreamModule {
  /// `stream.file(path, options)`
  func file(_ call: LuaCall) throws -> LuaReturn {
    let given = try call.string(1, .path)
    let path = script.path(of: given)
    try MusicFiles.refuseCredentials(given, at: path)
    let (options, _) = try options(call, 2)
    return call.return(streams(try adopt(service.stream(file: path, options: options))))
  }

  func defineFiles() {
    streams.method(ofStream: "seek", arity: 1) { stream, call in
      try stream.seek(to: try call.duration(2).inSeconds)
      return .none
    }
    streams.field(ofStream: "can_seek") { .bool($0.canSeek) }
    streams.field(ofStream: "file_time") { $0.fileTime.map { .number($0) } ?? .nil }
    streams.field(ofStream: "file_duration") { $0.fileDuration.map { .number($0) } ?? .nil }
  }
}
