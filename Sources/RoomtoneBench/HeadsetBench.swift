internal import EventLoop
internal import Glibc
internal import HeadsetKit
internal import HeadsetLink
internal import LuaModules
internal import LuaRuntime
internal import Roomtone
internal import SpeakerKit
internal import TestSupport

/// A request to a headset and its response, from Swift and from Lua: the board is a process of its own, on a
/// unix socket.
enum HeadsetBench {
  private static let rounds = 20_000
  /// Requests before the first measured one.
  private static let warmUp = 1_000

  static func run() throws -> [Figure] {
    let folder = try TemporaryFolder()
    let socket = folder.file("board")
    let board = MeasuredProcesses("\(StartBench.executableFolder())/roomtone")
    try board.start(["board", "--listen", "unix:\(socket)", "--quiet"])
    for _ in 0..<1_000 where access(socket, F_OK) != 0 { usleep(10_000) }
    return [
      figure("a headset's request, from Swift", try fromSwift(socket)),
      figure("a headset's request, from Lua", try fromLua(socket)),
    ]
  }

  private static func figure(_ name: String, _ microseconds: [Double]) -> Figure {
    let sorted = microseconds.sorted()
    let median = sorted[sorted.count / 2]
    return Figure(
      name: name, value: median, unit: "us",
      against: "p99 \(Bench.rounded(sorted[sorted.count * 99 / 100])) us",
      goal: "< 200 us", isReached: median < 200)
  }

  private static func fromSwift(_ socket: String) throws -> [Double] {
    let loop = EventLoop(name: "bench")
    defer { loop.close() }
    var outcome: Result<[Double], any Error>?
    loop.start {
      let ended: Result<[Double], any Error>
      do {
        let headsets = Headsets(loop: loop, settings: HeadsetSettings())
        let headset = try await headsets.connect(to: .unix(path: socket))
        var times: [Double] = []
        for round in 0..<(warmUp + rounds) {
          let start = Bench.now()
          _ = try await headset.noiseCancelling()
          if round >= warmUp { times.append((Bench.now() - start) * 1e6) }
        }
        await headsets.close()
        ended = .success(times)
      } catch { ended = .failure(error) }
      outcome = ended
    }
    _ = loop.run(until: { outcome != nil })
    guard let outcome else { throw StartBench.Failed(message: "the loop ended before the requests") }
    return try outcome.get()
  }

  private static func fromLua(_ socket: String) throws -> [Double] {
    var options = EngineOptions()
    options.configuration.house.output = .null
    let engine = try Engine(options)
    let script = try engine.makeScript("headset", isFile: false)
    var times: [Double] = []
    script.state.register(
      "bench",
      [
        LuaFunction("now") { call in call.return(.number(Bench.now())) },
        LuaFunction("took") { call in
          times.append((Bench.now() - (try call.number(1))) * 1e6)
          return .none
        },
      ], global: true)
    let main = try script.state.load(
      Array(
        """
        local h = require "headset".connect { transport = "unix:\(socket)" }
        for _ = 1, \(warmUp) do h:noise_cancelling() end
        for _ = 1, \(rounds) do
          local start = bench.now()
          h:noise_cancelling()
          bench.took(start)
        end
        """.utf8), chunkName: "=headset")
    _ = engine.run(script, main)
    guard times.count == rounds else {
      throw StartBench.Failed(message: "only \(times.count) requests were answered")
    }
    return times
  }
}
