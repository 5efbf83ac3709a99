import EventLoop
import LuaRuntime
import TestTraits
import Testing

/// Simulations in which no time passes, and those at the end of time.
@Suite("time that stands still", .waiting, .tags(.simulation, .time)) struct StandstillTests {
  @Test(
    "jobs that bring their own next run are stuck, whatever happens to runs that overlap",
    arguments: ["queue", "parallel"])
  func ownRun(overlap: String) throws {
    let start = ContinuousClock.now
    let outcome = try EngineHarness().run(
      """
      local job
      job = schedule.every("1h", { name = "again", overlap = "\(overlap)" }, function() job:run_now() end)
      """)
    #expect(outcome.failures.map(\.code) == ["simulate.stuck"])
    #expect(ContinuousClock.now - start < .seconds(60))
  }

  @Test("many jobs at one moment are not stuck")
  func manyJobs() throws {
    var harness = try EngineHarness()
    harness.limit = .seconds(7200)
    let lines = try harness.printed(
      """
      local runs = 0
      for i = 1, 2000 do schedule.every("1h", { name = "job " .. i }, function() runs = runs + 1 end) end
      task.sleep("1h30m")
      print(runs)
      os.exit(0)
      """)
    #expect(lines == ["2000"])
  }

  @Test("the last seconds that there are pass like others, and so does the time after them")
  func endOfTime() throws {
    var harness = try EngineHarness()
    harness.start = WallTime(nanoseconds: .max - 2_000_000_000)
    harness.limit = .seconds(3600)
    let lines = try harness.printed(
      """
      schedule.every("1h", { name = "hourly" }, function() end)
      schedule.cron("* * * * *", { name = "cron" }, function() end)
      print(os.date("!%Y-%m-%d"), os.time())
      task.sleep("10s")
      print(os.date("!%Y-%m-%d"), os.time())
      os.exit(0)
      """)
    #expect(lines == ["2262-04-11\t9223372034", "2262-04-11\t9223372036"])
  }
}
