internal import EventLoop
internal import Glibc
internal import Home
internal import JSONText
internal import LuaRuntime
internal import RecordingKit
internal import SpeakerKit

/// `roomtone.host`: the functions of the host that the library's own modules in Lua need. Not for scripts.
enum LibraryModule {
  static func register(in script: Script, journal: Journal, door: HouseDoor) {
    script.state.register(
      "roomtone.host",
      [
        .failure, .sealed, .strict, .unknownName,
        LuaFunction("check_recording", arity: 1, checkRecording),
        LuaFunction("check_file", arity: 1) { [unowned script] call in try checkFile(call, script) },
        LuaFunction("mark", arity: 1) { call in
          try mark(call, journal)
          return .none
        },
        LuaFunction("at_end", arity: 1) { [unowned script] call in
          call.return(script.atEnd(try call.function(1)))
        },
        LuaFunction("forget_end", arity: 1) { [unowned script] call in
          script.forgetEnding(try call.int(1))
          return .none
        },
        LuaFunction("over_limit", arity: 2) { call in try exceedLimits(call, door) },
        LuaFunction("note", arity: 3) { call in
          let event = call.isNil(3) ? nil : try call.string(3, .name)
          journal.record(
            .alarm, of: .job, try call.string(1, .name), detail: try call.string(2),
            facts: event.map { [.init("event", .string($0))] } ?? [], cause: journal.current)
          return .none
        },
      ])
  }

  /// `check_file(path)`: checks a file to play later, which is found as `speaker.play` finds it.
  private static func checkFile(_ call: LuaCall, _ script: Script) throws -> LuaReturn {
    let path = try call.string(1)
    // The error does not name this function: the caller names the option.
    let found = try script.path(ofSound: path) {
      LuaError(code: "argument", message: $0, hint: $1)
    }
    if let answer = try script.mounts.await([found], call) { return answer }
    guard access(found, R_OK) == 0 else {
      throw LuaError(code: "audio.not_found", message: "can't open \(path): \(SystemError(errno).text)")
    }
    return .none
  }

  /// `over_limit(id, volume)`: lets the session of the interruption that a speaker is in exceed the limits of its speakers
  /// up to a volume, until it ends.
  private static func exceedLimits(_ call: LuaCall, _ door: HouseDoor) throws -> LuaReturn {
    let (id, volume) = (try call.string(1, .name), try call.int(2, in: House.volumeRange))
    guard let house = door.open, let session = try house.device(id).session else { return .none }
    try house.exceedLimits(in: session, to: volume)
    return .none
  }

  /// `mark{kind=, message=, room=, source=}`: reports a moment of the library, for time lines.
  private static func mark(_ call: LuaCall, _ journal: Journal) throws {
    let options = try call.options(1, ["kind", "message", "room", "source"])
    let kinds: [JournalEntry.Kind] = [.alarm, .fallback, .announcement, .heard]
    guard let kind = try options.string("kind").flatMap(JournalEntry.Kind.init), kinds.contains(kind) else {
      throw options.problem("kind", "one of \(kinds.map(\.rawValue).joined(separator: ", ")) expected")
    }
    guard let message = try options.string("message") else {
      throw options.problem("message", "it is missing")
    }
    let source = try options.string("source")
    journal.report(
      kind, try options.string("room") ?? "", detail: message, facts: [.init("source", .optional(source))])
  }

  /// `check_recording{template=, min_free=}`: checks them as `radio:record` does, before there is a stream.
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
