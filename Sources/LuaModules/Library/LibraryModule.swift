internal import EventLoop
internal import LuaRuntime
internal import StreamKit

/// `roomtone.host`: what the library's own modules in Lua need of the host. Not for scripts.
enum LibraryModule {
  static func register(in script: Script) {
    script.state.register(
      "roomtone.host",
      [.failure, .sealed, .strict, .unknownName, LuaFunction("check_recording", takes: 1, checkRecording)])
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
