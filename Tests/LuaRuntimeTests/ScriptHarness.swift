import EventLoop
import LuaRuntime

/// A test harness: a loop, a state and a few Swift functions for the scripts of these tests.
final class ScriptHarness {
  let loop: EventLoop
  let state: LuaState
  var lines: [String] = []
  /// An object of `new_thing()`, counted while it lives.
  final class Thing {
    let census: Census
    var size = 3
    init(_ census: Census) {
      self.census = census
      census.alive += 1
    }
    deinit { census.alive -= 1 }
  }
  final class Census { var alive = 0 }
  let census = Census()

  struct Broken: CodedError {
    let code = "test.broken"
    let message = "the door is stuck"
    let hint: String? = "push harder"
    let facts = [ErrorFact("status", .int(7))]
  }

  init(
    virtual: Bool = true, limits: LuaLimits = LuaLimits(), watched: Bool = false, seed: UInt64? = nil
  ) throws {
    loop = EventLoop(clock: virtual ? .virtual(start: WallTime(seconds: 0)) : .wall)
    state = try LuaState(
      name: "test", loop: loop, limits: limits, watchdog: watched ? try LuaWatchdog() : nil, seed: seed)
    state.onPrint = { [unowned self] in lines.append($0) }
    state.onWarning = { [unowned self] in lines.append("warning: " + $0) }
    let loop = loop
    let census = census
    let things = try LuaClass<Thing>("thing", in: state) { "thing \($0.size)" }
    things.field("size") { thing, call in call.return(thing.size) }
    things.method("set_size") { thing, call in
      thing.size = try call.int(2, in: 0...50)
      return .none
    }
    things.method("rest") { thing, call in
      try call.suspend { continuation in
        let timer = loop.after(.seconds(1)) { continuation.resume(returning: [.int(thing.size)]) }
        return { timer.cancel() }
      }
    }
    state.register(
      "host",
      [
        LuaFunction("fail") { _ in throw Broken() },
        LuaFunction("sleep") { call in
          let time = try call.number(1)
          return try call.suspend {
            try await loop.sleep(for: .seconds(time))
            return [.string("slept")]
          }
        },
        LuaFunction("fail_later") { call in
          try call.suspend {
            try await loop.sleep(for: .seconds(1))
            throw Broken()
          }
        },
        LuaFunction("new_thing") { call in call.return(things(Thing(census))) },
        LuaFunction("long_text") { call in
          call.return(.string(String(repeating: "x", count: try call.int(1))))
        },
        LuaFunction("set_volume") { call in
          _ = try call.object(1, things)
          return call.return(try call.int(2, in: 0...50))
        },
        LuaFunction("later") { call in
          let function = try call.function(1)
          loop.after(.seconds(1)) { [unowned state = call.state] in state.start(function, name: "later") }
          return .none
        },
        LuaFunction("configure") { call in
          let options = try call.options(1, ["volume", "title", "loop"])
          return call.return(
            .optional(try options.string("title")), .int(try options.int("volume", in: 0...50) ?? -1))
        },
        LuaFunction("can_suspend") { call in call.return(call.canSuspend) },
      ], global: true)
  }

  deinit {
    state.close()
    // Work still queued in the loop ends here, so that the leak check sees real leaks only.
    _ = loop.run(until: { false })
  }

  /// Runs a chunk until it has ended.
  @discardableResult
  func run(_ code: String, then: (LuaRoutine) -> Void = { _ in }) throws -> LuaRoutine.Outcome {
    let routine = state.start(try state.load(Array(code.utf8), chunkName: "@test.lua"), name: "test.lua")
    then(routine)
    _ = loop.run(until: { routine.outcome != nil })
    return routine.outcome ?? .cancelled
  }

  /// Returns the lines printed by `code`; throws its error if it fails.
  func printed(_ code: String) throws -> [String] {
    if case .failed(let error) = try run(code) { throw error }
    return lines
  }

  /// Returns the error of `code`, nil when it succeeds.
  func failure(_ code: String) throws -> LuaError? {
    guard case .failed(let error) = try run(code) else { return nil }
    return error
  }
}
