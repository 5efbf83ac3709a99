internal import EventLoop
internal import LuaRuntime
internal import Roomtone
internal import SpeakerKit

/// Runs a chunk on the state's loop and returns its first result, a number.
private func number(from code: String, in state: LuaState) throws -> Double {
  let routine = state.start(try state.load(Array(code.utf8), chunkName: "=bench"), name: "bench")
  _ = state.loop.run(until: { routine.outcome != nil })
  switch routine.outcome {
  case .returned(let values):
    if case .number(let value)? = values.first { return value }
  case .failed(let error): throw error
  default: break
  }
  throw StartBench.Failed(message: "no number")
}

/// A call from Lua to Swift with a checked argument and a result, beside a C function of Lua's own.
enum CallBench {
  private final class Counter { var value = 0 }

  static func run() throws -> [Figure] {
    let state = try LuaState(name: "bench", loop: EventLoop(name: "bench"))
    defer { state.close() }
    let counters = try LuaClass<Counter>("counter", in: state) { "counter \($0.value)" }
    counters.method("set") { counter, call in
      counter.value = try call.int(2, in: 0...1_000_000_000)
      return call.return(counter.value)
    }
    state.register(
      "bench",
      [
        LuaFunction("abs") { call in call.return(abs(try call.int(1))) },
        LuaFunction("counter") { call in call.return(counters(Counter())) },
      ], global: true)
    let loops = 1_000_000
    func nanoseconds(_ setUp: String, _ body: String) throws -> Double {
      try Bench.median(of: 7) {
        try number(
          from: """
            \(setUp)
            local t = os.clock()
            for i = 1, \(loops) do \(body) end
            local full = os.clock() - t
            t = os.clock()
            for i = 1, \(loops) do end
            return (full - (os.clock() - t)) * 1e9 / \(loops)
            """, in: state)
      }
    }
    let c = try nanoseconds("local f = math.abs", "f(i)")
    let function = try nanoseconds("local f = bench.abs", "f(i)")
    let method = try nanoseconds("local c = bench.counter()", "c:set(i)")
    let sleep = try nanoseconds(
      "local co = coroutine.wrap(function() while true do coroutine.yield() end end)", "co()")
    let against = "math.abs, in C: \(Bench.rounded(c)) ns"
    return [
      Figure(
        name: "call of a module's function", value: function / c, unit: "x (\(Bench.rounded(function)) ns)",
        against: against, goal: "<= 2 x", isReached: function <= 2 * c),
      Figure(
        name: "call of an object's method", value: method / c, unit: "x (\(Bench.rounded(method)) ns)",
        against: against, goal: "<= 3 x", isReached: method <= 3 * c),
      Figure(
        name: "resume and yield of a coroutine", value: sleep, unit: "ns", against: "", goal: "none",
        isReached: true),
    ]
  }
}

/// The latency from an event in Swift to the first line of the Lua callback, on an idle loop.
enum EventBench {
  static func run() throws -> [Figure] {
    let loop = EventLoop(name: "bench")
    let state = try LuaState(name: "bench", loop: loop, watchdog: try LuaWatchdog())
    defer { state.close() }
    var started = 0.0
    var latencies: [Double] = []
    state.register(
      "bench",
      [
        LuaFunction("reached") { _ in
          latencies.append((Bench.now() - started) * 1e6)
          return .none
        }
      ], global: true)
    let callback = try state.load(Array("bench.reached()".utf8), chunkName: "=bench")
    let rounds = 2000
    func fire() {
      loop.after(.microseconds(500)) {
        started = Bench.now()
        state.start(callback, name: "event").whenEnded { _ in if latencies.count < rounds { fire() } }
      }
    }
    fire()
    _ = loop.run(until: { latencies.count >= rounds })
    latencies.sort()
    let p99 = latencies[latencies.count * 99 / 100]
    return [
      Figure(
        name: "event to callback, p99", value: p99, unit: "us",
        against: "median \(Bench.rounded(latencies[rounds / 2])) us", goal: "<= 100 us", isReached: p99 <= 100
      )
    ]
  }
}

/// The lateness of timers with 100,000 others pending.
enum TimerBench {
  static func run() throws -> [Figure] {
    let loop = EventLoop(name: "bench")
    for index in 0..<100_000 { loop.after(.seconds(3600 + index)) {} }
    var late: [Double] = []
    var due = loop.now
    let rounds = 500
    func next() {
      due = due.advanced(by: .milliseconds(2))
      loop.at(due) {
        late.append(Double(due.duration(to: loop.now).nanoseconds) / 1e6)
        if late.count < rounds { next() }
      }
    }
    next()
    _ = loop.run(until: { late.count >= rounds })
    loop.close()
    late.sort()
    let p99 = late[rounds * 99 / 100]
    return [
      Figure(
        name: "timer lateness, p99, 100,000 pending", value: p99, unit: "ms",
        against: "median \(Bench.rounded(late[rounds / 2])) ms", goal: "<= 2 ms", isReached: p99 <= 2)
    ]
  }
}

/// A week of a house's routines in virtual time.
enum SimulationBench {
  static func run() throws -> [Figure] {
    let seconds = try Bench.median(of: 3) {
      var options = EngineOptions()
      options.clock = .virtual(start: WallTime(seconds: 1_767_571_200))
      options.seed = 1
      options.configuration.house.output = .null
      let engine = try Engine(options)
      let week = try engine.load(
        ScriptText(
          code: """
            local schedule, speaker, task = require "schedule", require "speaker", require "task"
            for hour = 6, 22 do
              schedule.at(("%02d:30"):format(hour), { days = "daily" }, function()
                for v = 5, 30 do task.sleep(10) speaker.set_volume(v) end
              end)
            end
            schedule.every("5m", { align = true }, function() task.sleep(1) end)
            """))
      let start = Bench.now()
      _ = engine.run(week, limit: .seconds(7 * 86_400))
      return Bench.now() - start
    }
    return [
      Figure(
        name: "a week of routines, simulated", value: seconds * 1000, unit: "ms", against: "",
        goal: "<= 1000 ms",
        isReached: seconds <= 1)
    ]
  }
}
