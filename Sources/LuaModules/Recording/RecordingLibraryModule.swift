internal import EventLoop
internal import LuaRuntime
internal import RecordingKit
internal import Scheduling

/// `recordings`: the catalogue.
final class RecordingLibraryModule {
  private let recorder: Recorder
  private let zone: any LocalZone

  init(_ recorder: Recorder, _ zone: any LocalZone) { (self.recorder, self.zone) = (recorder, zone) }

  var functions: [LuaFunction] {
    [
      LuaFunction("list", arity: 1, list), LuaFunction("verify", arity: 1, verify),
      LuaFunction("repair", arity: 0, repair),
      LuaFunction("forget", arity: 1, forget), LuaFunction("expire", arity: 1, expire),
    ]
  }

  /// `list{station=, title=, since=, until=, state=, job=, limit=}`
  private func list(_ call: LuaCall) throws -> LuaReturn {
    let given = try call.options(1, ["station", "title", "since", "until", "state", "job", "limit"])
    var filter = Catalogue.Filter()
    filter.station = try given.string("station", .url)
    filter.title = try given.string("title", .header)
    let moment = { (name: String) in
      if case .string? = given[name] {
        throw given.problem(
          name, "seconds expected, as os.time counts them, got a string",
          hint: "os.time { year = 2026, month = 1, day = 1 } makes them of a date")
      }
      return try given.number(name, in: 0...9e9).map { WallTime(inSeconds: $0) }
    }
    (filter.since, filter.until) = (try moment("since"), try moment("until"))
    if let state = try given.string("state", .name) {
      guard let known = RecordingEntry.State(rawValue: state) else {
        throw given.problem(
          "state", unknown("state", state, among: RecordingEntry.State.allCases.map(\.rawValue)))
      }
      filter.state = known
    }
    filter.job = try given.string("job", .name)
    filter.limit = try given.int("limit", in: 1...1_000_000)
    let wanted = filter
    return try work(call, { try $0.list(wanted) }) { .list($0.map(\.luaValue)) }
  }

  private func verify(_ call: LuaCall) throws -> LuaReturn {
    let path = try call.string(1, .path)
    return try work(call, { try $0.verify(path) }) { $0.luaValue }
  }

  private func repair(_ call: LuaCall) throws -> LuaReturn {
    let now = recorder.now
    return try work(call, { try $0.repair(now: now) }) { .list($0.map { .string($0.description) }) }
  }

  private func forget(_ call: LuaCall) throws -> LuaReturn {
    let path = try call.string(1, .path)
    return try work(call, { try $0.forget(path) }) { .bool($0) }
  }

  /// `expire{keep=, job=}`
  private func expire(_ call: LuaCall) throws -> LuaReturn {
    let given = try call.options(1, ["keep", "job"])
    guard let keep = try given.duration("keep") else { throw given.problem("keep", "a duration is missing") }
    let (job, now) = (try given.string("job", .name), recorder.now)
    return try work(call, { try $0.expire(keep: keep, job: job, now: now) }) { .list($0.map { .string($0) }) }
  }

  /// Runs `body` on the thread of the library, where slow disks stop nothing else.
  private func work<Result: Sendable>(
    _ call: LuaCall, _ body: @escaping @Sendable (RecordingLibrary) throws -> Result,
    _ value: @escaping (Result) -> LuaValue
  ) throws -> LuaReturn {
    try call.suspend { [recorder] in [value(try await recorder.withLibrary(body))] }
  }
}
