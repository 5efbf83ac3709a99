internal import EventLoop
internal import Glibc
internal import Home
internal import LuaRuntime
internal import StreamKit

/// `roomtone.host`: what the library's own modules in Lua need of the host. Not for scripts.
enum LibraryModule {
  static func register(in script: Script, changes: ChangeLog) {
    script.state.register(
      "roomtone.host",
      [
        .failure, .sealed, .strict, .unknownName,
        LuaFunction("check_recording", arity: 1, checkRecording),
        LuaFunction("check_file", arity: 1) { [unowned script] call in try checkFile(call, script) },
        LuaFunction("mark", arity: 1) { [unowned script] call in
          script.onMark(try mark(call))
          return .none
        },
        LuaFunction("at_end", arity: 1) { [unowned script] call in
          call.return(script.atEnd(try call.function(1)))
        },
        LuaFunction("forget_end", arity: 1) { [unowned script] call in
          script.forgetEnding(try call.int(1))
          return .none
        },
        LuaFunction("note", arity: 2) { call in
          changes.record(
            .alarm, of: .job, try call.string(1, .name), detail: try call.string(2), cause: changes.current)
          return .none
        },
      ])
  }

  /// `check_file(path)`: a file to play later, found as `speaker.play` finds it.
  private static func checkFile(_ call: LuaCall, _ script: Script) throws -> LuaReturn {
    let path = try call.string(1)
    // The caller names the option, in place of this function.
    let found = try script.path(ofSound: path) {
      LuaError(code: "argument", message: $0, hint: $1)
    }
    if let answer = try script.mounts.await([found], call) { return answer }
    guard access(found, R_OK) == 0 else {
      throw LuaError(code: "audio.not_found", message: "can't open \(path): \(SystemError(errno).text)")
    }
    return .none
  }

  /// `mark{kind=, message=, room=, source=}`: sets a mark on the time line of a simulation.
  private static func mark(_ call: LuaCall) throws -> ScriptMark {
    let options = try call.options(1, ["kind", "message", "room", "source"])
    guard let kind = try options.string("kind").flatMap(ScriptMark.Kind.init) else {
      let kinds = ScriptMark.Kind.allCases.map(\.rawValue).joined(separator: ", ")
      throw options.problem("kind", "one of \(kinds) expected")
    }
    guard let message = try options.string("message") else {
      throw options.problem("message", "it is missing")
    }
    return ScriptMark(
      kind: kind, message: message, room: try options.string("room") ?? "",
      source: try options.string("source"))
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

/// A moment that the library marks on the time line of a simulation.
public struct ScriptMark: Sendable, Equatable {
  /// The kinds of marks; `heard` has no line: the source called as its message is heard to its end, though the host stops
  /// it.
  public enum Kind: String, Sendable, CaseIterable { case alarm, fallback, announcement, heard }

  /// The kind.
  public let kind: Kind
  /// The text of the line.
  public let message: String
  /// The rooms, with commas between them; empty for none.
  public let room: String
  /// The source that plays from now on; nil for none.
  public let source: String?
}
