internal import EventLoop
internal import Glibc
internal import LuaRuntime
internal import StreamKit

/// `roomtone.host`: what the library's own modules in Lua need of the host. Not for scripts.
enum LibraryModule {
  static func register(in script: Script) {
    script.state.register(
      "roomtone.host",
      [
        .failure, .sealed, .strict, .unknownName,
        LuaFunction("check_recording", takes: 1, checkRecording),
        LuaFunction("check_file", takes: 1) { [unowned script] call in try checkFile(call, script) },
      ])
  }

  /// `check_file(path)`: a file to play later, found as `speaker.play` finds it.
  private static func checkFile(_ call: LuaCall, _ script: Script) throws -> LuaReturn {
    let path = try call.string(1, .path)
    guard access(script.path(of: path), R_OK) == 0 else {
      throw LuaError(code: "audio.not_found", message: "can't open \(path): \(SystemError(errno).text)")
    }
    return .none
  }

  /// `check_recording{template=, min_free=}`: as `radio:record` checks them, before there is a stream.
  private static func checkRecording(_ call: LuaCall) throws -> LuaReturn {
    let options = try call.options(1, ["template", "min_free"])
    if let template = try options.string("template", .path) {
      do throws(TemplateError) { _ = try RecordingTemplate(template) } catch {
        throw options.problem("template", error.message, hint: error.hint)
      }
    }
    _ = try options.byteSize("min_free")
    return .none
  }
}
