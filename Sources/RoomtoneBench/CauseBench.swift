internal import EventLoop
internal import Home
internal import LuaModules
internal import LuaRuntime
internal import Roomtone

/// A change with its cause, kept by a script that runs: the look for its line, the cause, the place in the ring.
enum CauseBench {
  private static let count = 100_000

  static func run() throws -> [Figure] {
    let time = try Bench.median { try measure() } * 1e6
    return [
      Figure(
        name: "a cause kept", value: time, unit: "µs", against: "the loop", goal: "<= 2 µs",
        isReached: time <= 2)
    ]
  }

  /// Returns the seconds that a change costs, whose cause is a line of a script in a function in a job's routine.
  private static func measure() throws -> Double {
    let engine = try Engine(EngineOptions())
    let script = try engine.makeScript("bedtime.lua", isFile: true)
    var seconds = 0.0
    script.state.register(
      "bench",
      [
        LuaFunction("keep", arity: 0) { call in
          let journal = engine.journal
          let start = Bench.now()
          var last: Int?
          for index in 0..<count {
            let (from, to) = index % 2 == 0 ? (5, 20) : (20, 5)
            last = journal.record(
              .volume, of: .speaker, "Kitchen", speakers: ["kitchen"], from: .number(from), to: .number(to),
              cause: journal.current, after: last)
          }
          seconds = (Bench.now() - start) / Double(count)
          return .none
        }
      ])
    let text = "local keep = require 'bench'.keep local function run() keep() end run()"
    let main = try script.state.load(Array(text.utf8), chunkName: "@bedtime.lua")
    let result = engine.run(script, main)
    guard result.status == 0, engine.journal.recent.last?.cause?.line == 1 else {
      throw StartBench.Failed(message: "the script failed, or no line was found")
    }
    return seconds
  }
}
