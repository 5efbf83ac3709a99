import EventLoop
import Glibc
import Scheduling
import TestTraits
import Testing

/// A test harness: a virtual clock, a table of jobs, and a record of their events.
private final class JobHarness {
  let zone: ZoneFile
  let loop: EventLoop
  private(set) var table: JobTable
  var seen: [String] = []

  init(_ start: String, zone name: String = "Europe/Berlin") throws {
    zone = try ZoneFile(named: name)
    loop = EventLoop(clock: .virtual(start: try moment(start, zone)))
    table = JobTable(loop: loop, zone: zone)
    let (loop, zone) = (loop, zone)
    table = JobTable(loop: loop, zone: zone) { [weak self] job, event in
      if event != .started && event != .succeeded {
        self?.seen.append("\(job.name) \(event) at \(zone.local(loop.wallNow).time)")
      }
    }
  }

  /// Cancels all jobs: they and the harness retain each other.
  func close() {
    table.endAll()
    loop.close()
  }

  var now: String { shown(loop.wallNow, zone) }

  /// Records the time of a run, and ends it at once.
  func note(_ run: JobRun) {
    seen.append(now)
    run.succeed()
  }

  /// Runs until the civil time `end`.
  func run(until end: String) throws {
    var isOver = false
    loop.at(try moment(end, zone)) { isOver = true }
    #expect(loop.run(until: { isOver }) == .done)
  }
}

@Suite(.tags(.schedule, .time)) struct JobTableTests {
  @Test("thousands of jobs of several owners are added and ended one by one in a moment")
  func thousands() throws {
    let loop = EventLoop(clock: .virtual(start: WallTime(seconds: 0)))
    defer { loop.close() }
    let table = JobTable(loop: loop, zone: try ZoneFile(named: "Europe/Berlin"))
    let clock = ContinuousClock()
    let time = try clock.measure {
      var jobs: [Job] = []
      for number in 0..<20_000 {
        // Half of the names are derived from the recurrence.
        let name = number % 2 == 0 ? "job \(number)" : nil
        jobs.append(
          try table.add(.every(.seconds(60), aligned: false), name: name, owner: number % 4) { $0.succeed() })
      }
      #expect(table.count(of: 1) == 5000 && table.jobs(of: 1).last?.name.hasSuffix(" #5000") == true)
      #expect(table.jobs().count == 20_000 && table.jobs()[7] === jobs[7])
      for job in jobs where job.owner == 0 { job.cancel() }
      for owner in 1..<4 { table.endAll(of: owner) }
    }
    #expect(table.jobs().isEmpty)
    // Each that looked at all others took minutes.
    #expect(time < .seconds(20), "\(time)")
  }

  @Test("a week of 06:45 on weekdays runs five times")
  func week() throws {
    let harness = try JobHarness("2026-01-05 00:00")
    defer { harness.close() }
    let job = try harness.table.add(
      try .at("06:45", days: "mon-fri", now: harness.loop.wallNow, in: harness.zone), harness.note)
    #expect(shown(job.next, harness.zone) == "2026-01-05 06:45 +60" && job.last == nil)
    try harness.run(until: "2026-01-12 00:00")
    #expect(harness.seen == (5...9).map { "2026-01-0\($0) 06:45 +60" })
    #expect(job.runs == 5 && job.failures == 0 && job.name == "at 06:45 mon-fri")
    #expect(shown(job.next, harness.zone) == "2026-01-12 06:45 +60")
    #expect(shown(job.last, harness.zone) == "2026-01-09 06:45 +60")
    harness.table.endAll()
    #expect(harness.loop.run(until: { false }) == .idle, "a cancelled job leaves no timer")
  }

  @Test("over a change of the clocks a job runs once each day")
  func clockChange() throws {
    let harness = try JobHarness("2026-10-24 12:00")
    defer { harness.close() }
    try harness.table.add(.daily(try TimeOfDay(parsing: "02:30"), .all), harness.note)
    try harness.run(until: "2026-10-27 00:00")
    #expect(harness.seen == ["2026-10-25 02:30 +120", "2026-10-26 02:30 +60"])
  }

  @Test("a run that fails, at once or later, or that is dropped, is counted and does not end the job")
  func failures() throws {
    let harness = try JobHarness("2026-01-05 00:00")
    defer { harness.close() }
    let loop = harness.loop
    let job = try harness.table.add(.every(.seconds(60), aligned: true), name: "poll") { run in
      switch run.number {
      case 1: run.fail("no network")
      case 2: loop.after(.seconds(5)) { run.fail("late") }
      case 3: break
      default:
        run.succeed()
        run.fail("ended twice")
      }
    }
    try harness.run(until: "2026-01-05 00:05:30")
    #expect(
      harness.seen == [
        "poll failed(\"no network\") at 00:01", "poll failed(\"late\") at 00:02:05",
        "poll failed(\"the run was dropped before it had ended\") at 00:03",
        "poll failing(runs: 3, \"the run was dropped before it had ended\") at 00:03",
      ])
    #expect(job.runs == 5 && job.failures == 3 && job.running == 0 && job.isActive)
  }

  @Test("a job that runs once ends by itself when its run has ended")
  func once() throws {
    let harness = try JobHarness("2026-12-24 12:00")
    defer { harness.close() }
    let loop = harness.loop
    let job = try harness.table.add(.once(try local("2026-12-24 18:00")), name: "gifts") { run in
      loop.after(.seconds(60)) { run.succeed() }
    }
    #expect(job.runNow())
    try harness.run(until: "2026-12-24 17:00")
    #expect(job.isActive && job.runs == 1, "running it by hand does not use it up")
    #expect(loop.run(until: { false }) == .idle)
    #expect(harness.seen == ["gifts ended at 18:01"] && harness.table.jobs().isEmpty)
    #expect(job.runs == 2 && job.next == nil && !job.isActive && !job.runNow())
  }

  @Test("names are unique for each owner")
  func duplicate() throws {
    let harness = try JobHarness("2026-01-05 00:00")
    defer { harness.close() }
    let every = Recurrence.every(.seconds(60), aligned: false)
    let job = try harness.table.add(every, name: "a", owner: 1, harness.note)
    try harness.table.add(every, name: "a", owner: 2, harness.note)
    let error = #expect(throws: ScheduleError.self) {
      try harness.table.add(every, name: "a", owner: 1, harness.note)
    }
    #expect(error?.code == "schedule.duplicate")
    #expect(error?.message == "there is already a job \"a\" (every 1m)")
    job.cancel()
    try harness.table.add(every, name: "a", owner: 1, harness.note)
    #expect(
      (1...3).map { _ in try? harness.table.add(every, owner: 3, harness.note).name } == [
        "every 1m", "every 1m #2", "every 1m #3",
      ])
    #expect(harness.table.jobs(of: 3).count == 3 && harness.table.jobs().count == 5)
    harness.table.endAll(of: 3)
    #expect(harness.table.jobs().map(\.owner) == [2, 1])
  }

  @Test("a date that has passed and an interval that cannot be are refused")
  func refused() throws {
    let harness = try JobHarness("2026-01-05 00:00")
    defer { harness.close() }
    let refused: [(Recurrence, String)] = [
      (.once(try local("2026-01-05 00:00")), "schedule.past"),
      (.every(.zero, aligned: false), "schedule.syntax"),
      (.every(.seconds(-5), aligned: false), "schedule.syntax"),
      (.every(.milliseconds(1500), aligned: true), "schedule.syntax"),
      (.every(.seconds(90_000), aligned: true), "schedule.syntax"),
    ]
    for (recurrence, code) in refused {
      let error = #expect(throws: ScheduleError.self) { try harness.table.add(recurrence, harness.note) }
      #expect(error?.code == code)
    }
    #expect(harness.table.jobs().isEmpty)
  }

  @Test(
    "when a job is due while it runs, its policy decides what happens",
    arguments: [
      (OverlapPolicy.skip, [0, 30, 60]), (.queue, [0, 25, 50]),
      (.parallel, [0, 10, 20, 30, 40, 50, 60]),
    ])
  func overlap(policy: OverlapPolicy, starts: [Int]) throws {
    let harness = try JobHarness("2026-01-05 00:00")
    defer { harness.close() }
    let loop = harness.loop
    var begun: [Int] = []
    var events: [JobEvent] = []
    // A table of its own: the harness's would record each skipped run.
    let table = JobTable(loop: loop, zone: harness.zone) { events.append($1) }
    let job = try table.add(.every(.seconds(10), aligned: false), overlap: policy) { run in
      begun.append(Int(loop.now.nanoseconds / 1_000_000_000) - 10)
      loop.after(.seconds(25)) { run.succeed() }
    }
    try harness.run(until: "2026-01-05 00:01:11")
    #expect(begun == starts)
    let left = events.count { if case .skipped = $0 { true } else { false } }
    #expect(policy == .skip ? left == 4 : left == 0)
    job.cancel()
    #expect(loop.run(until: { false }) == .idle)
    #expect(begun == starts && job.running == 0)
  }

  @Test("a full queue reports the runs that it skips")
  func fullQueue() throws {
    let harness = try JobHarness("2026-01-05 00:00")
    defer { harness.close() }
    var runs: [JobRun] = []
    let job = try harness.table.add(.daily(.midnight, .all), name: "q", overlap: .queue) { runs.append($0) }
    for _ in 0..<(Job.queueLimit + 3) { job.runNow() }
    #expect(harness.seen.count { $0.contains("queued") } == Job.queueLimit)
    #expect(harness.seen.count { $0.contains("skipped") } == 2)
    while let run = runs.popLast() { run.succeed() }
    #expect(job.runs == Job.queueLimit + 1 && job.running == 0)
  }

  @Test("jobs that are due together run in the order in which they were added, day after day")
  func order() throws {
    let harness = try JobHarness("2026-01-05 00:00")
    defer { harness.close() }
    var seen = ""
    for name in ["a", "b", "c"] {
      try harness.table.add(.daily(try TimeOfDay(parsing: "06:00"), .all), name: name) { run in
        seen += run.job.name
        run.succeed()
      }
    }
    try harness.run(until: "2026-01-08 00:00")
    #expect(seen == "abcabcabc")
  }

  @Test("a plain interval keeps its beat")
  func beat() throws {
    let harness = try JobHarness("2026-01-05 00:00:07")
    defer { harness.close() }
    try harness.table.add(.every(.seconds(20), aligned: false), harness.note)
    try harness.run(until: "2026-01-05 00:01:10")
    #expect(
      harness.seen == ["2026-01-05 00:00:27 +60", "2026-01-05 00:00:47 +60", "2026-01-05 00:01:07 +60"])
  }

  @Test("a plain interval that came late keeps its old beat")
  func lateBeat() throws {
    let loop = EventLoop()
    let table = JobTable(loop: loop, zone: ProcessZone())
    let start = loop.wallNow
    var phase: Int64?
    let job = try table.add(.every(.milliseconds(100), aligned: false)) { run in
      if run.number == 1 { usleep(150_000) }
      if run.number == 2 {
        phase = run.job.next.map { start.duration(to: $0).nanoseconds / 1_000_000 % 100 }
      }
      run.succeed()
    }
    #expect(loop.run(until: { job.runs == 2 }) == .done)
    // The second run was about 50 ms late; the third is due on the old beat, within the difference of the two
    // clocks.
    #expect(phase.map { $0 < 20 || $0 > 80 } == true, "\(phase ?? -1)")
    table.endAll()
  }

  @Test("a job can cancel itself, and its run may end afterwards")
  func cancelInside() throws {
    let harness = try JobHarness("2026-01-05 00:00")
    defer { harness.close() }
    let job = try harness.table.add(.every(.seconds(20), aligned: true)) { run in
      run.job.cancel()
      run.succeed()
    }
    #expect(harness.loop.run(until: { false }) == .idle)
    #expect(job.runs == 1 && job.running == 0 && harness.table.jobs().isEmpty)
  }

  @Test("a job in another zone follows the clocks there")
  func otherZone() throws {
    let harness = try JobHarness("2026-03-20 00:00")
    defer { harness.close() }
    let newYork = try zone("America/New_York")
    try harness.table.add(.daily(try TimeOfDay(parsing: "06:45"), .all), zone: newYork, harness.note)
    try harness.run(until: "2026-03-20 23:00")
    #expect(harness.seen == ["2026-03-20 11:45 +60"])
  }
}
