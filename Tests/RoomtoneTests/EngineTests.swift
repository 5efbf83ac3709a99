import EventLoop
import LuaModules
import LuaRuntime
import Roomtone
import TestSupport
import TestTraits
import Testing

@Suite("the engine", .waiting, .tags(.scripts))
struct EngineTests {
  @Test("two engines live in one process, each with its own house, clock and jobs")
  func two() throws {
    let first = try EngineHarness()
    let second = try EngineHarness()
    // Both exist before either runs, and the second runs while the first's script is suspended.
    var inner: EngineHarness.Outcome?
    let engine = try first.engine()
    var lines: [String] = []
    let script = try engine.makeScript("first", isFile: false, global: true)
    let code =
      """
      speaker.open { add_all = true }
      speaker.set_volume(11)
      task.sleep(1)
      schedule.every("1h", { name = "job" }, function() end)
      print "suspended"
      task.sleep "1h"
      print(speaker.volume(), #schedule.jobs(), task.now())
      os.exit(3)
      """
    engine.onPrint = { line in
      lines.append(line)
      guard line == "suspended" else { return }
      inner = try? second.run("print(speaker.volume(), #schedule.jobs(), task.now() < 1) os.exit(4)")
    }
    let main = try script.state.load(Array(code.utf8), chunkName: "=first")
    let result = engine.run(script, main)
    #expect(lines == ["suspended", "11\t1\t\(3601.1)"] && result.status == 3)
    #expect(inner?.lines == ["21\t0\ttrue"] && inner?.status == 4)
  }

  @Test("engines on threads of their own do not disturb each other")
  func threads() throws {
    let outcomes = Lock<[String]>([])
    let threads = try (0..<4).map { number in
      try TestThread {
        let lines = try? EngineHarness().printed(
          """
          speaker.set_volume(\(number))
          for i = 1, 20 do task.sleep(1) collectgarbage() end
          print(\(number), speaker.volume())
          """)
        outcomes.withLock { $0 += lines ?? ["failed"] }
      }
    }
    for thread in threads { thread.join() }
    #expect(outcomes.withLock { $0.sorted() } == ["0\t0", "1\t1", "2\t2", "3\t3"])
  }

  @Test("the same simulation with the same seed does the same twice")
  func deterministic() throws {
    let code =
      """
      for name, value in pairs { kitchen = 1, bed = {}, [3] = print, [true] = 2 } do print(name, value) end
      print(math.random(1000000), {}, speaker.device "Kitchen")
      speaker.on("volume", function(e) print(task.now(), e.device, e.average) end)
      speaker.set_volume(math.random(0, 50))
      task.sleep(1)
      """
    let runs = try (0..<2).map { _ in
      var harness = try EngineHarness()
      harness.seed = 7
      return try harness.printed(code)
    }
    #expect(runs[0] == runs[1] && runs[0].count == 11)
    var other = try EngineHarness()
    other.seed = 8
    #expect(try other.printed(code) != runs[0])
  }

  @Test("an error of the script itself is reported with its position and traceback, and the status is 1")
  func fails() throws {
    let outcome = try EngineHarness().run("local function inner()\n  speaker.device 'Nobody'\nend\ninner()")
    let failure = try #require(outcome.failures.first)
    #expect(outcome.failures.count == 1 && outcome.status == 1 && failure.code == "speaker.unknown")
    #expect(failure.location == "test.lua:2")
    #expect(failure.traceback?.contains("test.lua:4: in main chunk") == true)
  }

  @Test("its limit ends the script, which is no failure")
  func limit() throws {
    var harness = try EngineHarness()
    harness.limit = .seconds(10)
    let outcome = try harness.run("task.spawn(function() while true do task.sleep(3) print 'tick' end end)")
    #expect(outcome.lines.count == 3 && outcome.status == 0)
    #expect(outcome.seconds >= 10 && outcome.seconds < 11)
  }

  @Test("a simulated script that is always busy ends with an error: it would keep time from passing")
  func busyLoop() throws {
    var harness = try EngineHarness()
    harness.longestStandstill = 20_000
    let busy = try harness.run("task.sleep(1) while true do task.sleep(0) end")
    #expect(busy.failures.map(\.code) == ["simulate.stuck"] && busy.status == 1 && busy.seconds < 2)
    let message = try #require(busy.failures.first?.description)
    #expect(
      message.hasSuffix(
        "test.lua is busy and lets next to no time pass (simulate.stuck); sleep longer between steps"))
    #expect(message.hasPrefix("test.lua:1: "))
    // A billionth of a second is next to none, also where a routine is not the one that waits.
    let creeping = try harness.run(
      """
      task.sleep(1)
      local function step()
        task.sleep(1e-9)
        task.spawn(step)
      end
      step()
      """)
    #expect(creeping.failures.map(\.code) == ["simulate.stuck"] && creeping.seconds < 2)
    #expect(creeping.failures.first?.location.map { ["test.lua:2", "test.lua:3"].contains($0) } == true)
    // Many turns are no standstill when time passes in between.
    let long = try harness.run(
      "for i = 1, 200 do for j = 1, 200 do task.sleep(0) end task.sleep(0.01) end print 'through'")
    #expect(long.lines == ["through"] && long.status == 0)
  }

  @Test("a simulated <close> variable that is always busy is dropped, so that the limit holds")
  func busyUnwinding() throws {
    var harness = try EngineHarness()
    harness.longestStandstill = 20_000
    harness.limit = .seconds(3600)
    let outcome = try harness.run(
      """
      local x <close> = setmetatable({}, { __close = function() while true do task.sleep(0) end end })
      task.sleep "10d"
      """)
    #expect(outcome.status == 0 && outcome.failures.isEmpty)
    #expect(outcome.seconds >= 3600 && outcome.seconds < 3610)
    #expect(outcome.log.map(\.message) == ["1 routine did not end within 5s and is dropped"])
  }

  @Test("a script that has ended is released, with its modules")
  func letsGo() throws {
    weak var gone: Script?
    do {
      let engine = try EngineHarness().engine()
      let script = try engine.makeScript("-e", isFile: false, global: true)
      gone = script
      let main = try script.state.load(
        Array(
          "speaker.on('volume', print) speaker.open { add_all = true } speaker.set_volume(3) task.sleep(1)"
            .utf8),
        chunkName: "=-e")
      #expect(engine.run(script, main).status == 0)
    }
    #expect(gone == nil)
  }

  @Test("at the prompt all modules are globals; in a script none is")
  func globals() throws {
    for isGlobal in [true, false] {
      let engine = try EngineHarness().engine()
      let script = try engine.makeScript("-e", isFile: false, global: isGlobal)
      var lines: [String] = []
      engine.onPrint = { lines.append($0) }
      let main = try script.state.load(
        Array("for _, n in ipairs { 'speaker', 'task', 'schedule', 'log' } do print(_G[n] ~= nil) end".utf8),
        chunkName: "=-e")
      #expect(engine.run(script, main).status == 0)
      #expect(lines == Array(repeating: "\(isGlobal)", count: 4))
    }
  }

  @Test("arguments are arg and ...")
  func arguments() throws {
    let engine = try EngineHarness().engine()
    let script = try engine.makeScript("name.lua", isFile: true)
    var lines: [String] = []
    engine.onPrint = { lines.append($0) }
    script.setArguments(["a", "b"])
    let main = try script.state.load(
      Array("print(arg[0], arg[1], arg[2], #arg, ...)".utf8), chunkName: "@name.lua")
    _ = engine.run(script, main, arguments: ["a", "b"])
    #expect(lines == ["name.lua\ta\tb\t2\ta\tb"])
  }

  @Test("a speaker's WAV file holds what was heard of it, at its level")
  func rendered() throws {
    var harness = try EngineHarness()
    harness.configuration =
      "house { output = 'wav:\(harness.folder.file("out"))', speakers = { { name = 'A', volume = 50 }, { name = 'B', volume = 0 } } }"
    try Sound(
      sampleRate: 48_000, channels: [Signal.sine(440, amplitude: 0.5, frames: 48_000, sampleRate: 48_000)]
    ).write(to: harness.folder.file("sine.wav"))
    #expect(try harness.printed("speaker.play 'sine.wav' print(speaker.finish())") == ["finished"])
    let loud = try Sound(file: harness.folder.file("out/A.wav"))
    #expect(loud.frameCount >= 48_000 && loud.peak > 0.49 && loud.peak < 0.51)
    #expect(try Sound(file: harness.folder.file("out/B.wav")).peak == 0)
  }
}
