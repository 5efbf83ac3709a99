import EventLoop
import Scheduling
import TestTraits
import Testing

/// Records of jobs in memory, for several processes in turn.
private final class Records: JobMemory {
  private var records: [String: JobRecord] = [:]
  func record(of name: String, owner: String) -> JobRecord? { records["\(owner) \(name)"] }
  func keep(_ record: JobRecord?, of name: String, owner: String) { records["\(owner) \(name)"] = record }
}

/// A test harness: processes in turn, each with a virtual clock and a table, and one memory.
private final class Household {
  let zone: ZoneFile
  private let records = Records()
  var seen: [String] = []
  private(set) var loop: EventLoop
  private(set) var table: JobTable

  init() throws {
    zone = try ZoneFile(named: "Europe/Berlin")
    loop = EventLoop(clock: .virtual(start: WallTime(seconds: 0)))
    table = JobTable(loop: loop, zone: zone)
  }

  /// Runs a process between two moments.
  func process(from start: String, to end: String, _ body: () throws -> Void) throws {
    loop = EventLoop(clock: .virtual(start: try moment(start, zone)))
    let zone = zone
    table = JobTable(loop: loop, zone: zone, memory: records) { [unowned self] _, event in
      if case .missed(let due) = event { seen.append("missed \(zone.local(due))") }
      if case .failing(let runs, let reason) = event { seen.append("\(runs) failed: \(reason)") }
    }
    try body()
    var isOver = false
    loop.after(try moment(start, zone).duration(to: try moment(end, zone))) { isOver = true }
    #expect(loop.run(until: { isOver }) == .done)
    table.endAll()
    loop.close()
  }

  @discardableResult
  func add(
    _ recurrence: Recurrence, _ policy: LateRunPolicy = .init(), early: Duration = .zero, fails: Bool = false
  ) throws -> Job {
    try table.add(recurrence, name: "alarm", identity: "script", early: early, lateRuns: policy) {
      [unowned self] run in
      seen.append("ran \(zone.local(loop.wallNow)) for \(zone.local(run.due))")
      if fails { run.fail("no sound") } else { run.succeed() }
    }
  }
}

@Suite("A job that comes late", .tags(.schedule, .time))
struct LateRunTests {
  private static func daily() throws -> Recurrence { .daily(try TimeOfDay(parsing: "06:45"), .all) }

  @Test("has one run for a moment, also when it runs early and its process is started again") func early()
    throws
  {
    let house = try Household()
    for (start, end) in [("06:00", "06:35"), ("06:36", "06:37"), ("06:38", "07:00")] {
      try house.process(from: "2026-01-06 " + start, to: "2026-01-06 " + end) {
        try house.add(try Self.daily(), early: .seconds(900))
      }
    }
    #expect(house.seen == ["ran 2026-01-06 06:30 for 2026-01-06 06:45"])
  }

  @Test("and was to come once has one run too when it runs early, and comes again on a later day")
  func earlyOnce()
    throws
  {
    let house = try Household()
    func add() throws {
      try house.add(
        try Recurrence.at("06:45", now: house.loop.wallNow, in: house.zone), early: .seconds(900))
    }
    for (start, end) in [("06:00", "06:31"), ("06:32", "06:33"), ("06:38", "06:40")] {
      try house.process(from: "2026-01-06 " + start, to: "2026-01-06 " + end) {
        try add()
      }
    }
    try house.process(from: "2026-01-06 22:00", to: "2026-01-07 07:00") { try add() }
    #expect(
      house.seen == [
        "ran 2026-01-06 06:30 for 2026-01-06 06:45",
        "ran 2026-01-07 06:30 for 2026-01-07 06:45",
      ])
  }

  @Test("is not made up for when its schedule has been changed since") func edited() throws {
    let house = try Household()
    let policy = LateRunPolicy(catchesUp: true)
    try house.process(from: "2026-01-06 06:00", to: "2026-01-06 06:40") {
      try house.add(try Self.daily(), policy)
    }
    try house.process(from: "2026-01-06 08:00", to: "2026-01-07 08:00") {
      try house.add(.daily(try TimeOfDay(parsing: "22:10"), .all), policy)
    }
    #expect(house.seen == ["ran 2026-01-06 22:10 for 2026-01-06 22:10"])
  }

  @Test("and was to come once is made up for, and does not come again the next day") func once() throws {
    let house = try Household()
    func add() throws { try house.add(try Recurrence.at("06:45", now: house.loop.wallNow, in: house.zone)) }
    try house.process(from: "2026-01-06 06:00", to: "2026-01-06 06:44") { try add() }
    try house.process(from: "2026-01-06 06:47", to: "2026-01-08 06:47") { try add() }
    #expect(house.seen == ["ran 2026-01-06 06:47 for 2026-01-06 06:45"])
  }

  @Test(
    "follows its policy after a power cut",
    arguments: [
      (LateRunPolicy(), "2026-01-06 06:50", ["ran 2026-01-06 06:50 for 2026-01-06 06:45"]),
      (LateRunPolicy(), "2026-01-06 07:00", ["missed 2026-01-06 06:45"]),
      (
        LateRunPolicy(grace: .seconds(1200)), "2026-01-06 07:00",
        ["ran 2026-01-06 07:00 for 2026-01-06 06:45"]
      ),
      (LateRunPolicy(catchesUp: true), "2026-01-09 18:00", ["ran 2026-01-09 18:00 for 2026-01-09 06:45"]),
      (
        LateRunPolicy(catchesUp: true, grace: .seconds(3600)), "2026-01-09 18:00", ["missed 2026-01-09 06:45"]
      ),
      (LateRunPolicy(grace: .zero), "2026-01-06 06:45:01", ["missed 2026-01-06 06:45"]),
    ])
  func powerCut(_ policy: LateRunPolicy, _ restart: String, _ expected: [String]) throws {
    let house = try Household()
    try house.process(from: "2026-01-05 06:00", to: "2026-01-05 12:00") {
      try house.add(Self.daily(), policy)
    }
    #expect(house.seen == ["ran 2026-01-05 06:45 for 2026-01-05 06:45"])
    house.seen = []
    let start = try moment(restart, house.zone)
    let end = house.zone.local(start.advanced(by: .seconds(3600))).description
    var job: Job?
    try house.process(from: restart, to: end) {
      job = try house.add(Self.daily(), policy)
      #expect(job?.last == (try moment("2026-01-05 06:45", house.zone)), "the last run is remembered")
    }
    #expect(house.seen == expected)
  }

  @Test("for a date runs late, or is missed, and is not set again")
  func date() throws {
    for (restart, expected) in [
      ("2026-01-05 06:50", "ran 2026-01-05 06:50 for 2026-01-05 06:45"),
      ("2026-01-05 09:00", "missed 2026-01-05 06:45"),
    ] {
      let house = try Household()
      let date = Recurrence.once(try local("2026-01-05 06:45"))
      try house.process(from: "2026-01-04 20:00", to: "2026-01-04 21:00") { try house.add(date) }
      try house.process(from: restart, to: "2026-01-05 10:00") { try house.add(date) }
      #expect(house.seen == [expected])
      try house.process(from: "2026-01-05 11:00", to: "2026-01-05 12:00") {
        #expect(throws: ScheduleError.self) { try house.add(date) }
      }
    }
  }

  @Test("that was cancelled is forgotten, and one that did not change has missed nothing")
  func nothing() throws {
    let house = try Household()
    try house.process(from: "2026-01-05 07:00", to: "2026-01-05 08:00") { try house.add(Self.daily()) }
    try house.process(from: "2026-01-05 09:00", to: "2026-01-05 10:00") {
      try house.add(Self.daily()).cancel()
    }
    try house.process(from: "2026-01-09 09:00", to: "2026-01-09 10:00") { try house.add(Self.daily()) }
    #expect(house.seen == [])
  }

  @Test("as the clock was wrong by years at its start runs neither for each year nor never")
  func clockSetForward() throws {
    for (policy, expected) in [
      (LateRunPolicy(), ["missed 2026-01-05 06:45", "ran 2026-01-06 06:45 for 2026-01-06 06:45"]),
      (
        LateRunPolicy(catchesUp: true),
        ["ran 2026-01-05 12:00:10 for 2026-01-05 06:45", "ran 2026-01-06 06:45 for 2026-01-06 06:45"]
      ),
    ] {
      let house = try Household()
      try house.process(from: "1970-01-02 00:00", to: "1970-01-03 06:00") {
        try house.add(Self.daily(), policy)
        let right = try moment("2026-01-05 12:00:10", house.zone)
        house.loop.after(.seconds(10)) { [loop = house.loop] in
          loop.setVirtualClock(by: loop.wallNow.duration(to: right))
        }
      }
      #expect(house.seen == expected)
    }
  }

  @Test(
    "is due by the clock again when that is set back by years, and does not come twice when it is set back a little"
  )
  func clockSetBack() throws {
    let house = try Household()
    try house.process(from: "2030-01-05 00:00", to: "2030-01-06 03:00") {
      try house.add(Self.daily())
      house.loop.after(.seconds(10)) { [loop = house.loop] in
        loop.setVirtualClock(by: .seconds(-4 * 365 * 86_400))
      }
    }
    #expect(house.seen == ["ran 2026-01-06 06:45 for 2026-01-06 06:45"])
    let other = try Household()
    try other.process(from: "2026-02-05 06:00", to: "2026-02-05 20:00") {
      try other.add(Self.daily())
      other.loop.after(.seconds(3600)) { [loop = other.loop] in loop.setVirtualClock(by: .seconds(-1800)) }
    }
    #expect(other.seen == ["ran 2026-02-05 06:45 for 2026-02-05 06:45"])
  }

  @Test("whose third run in a row fails is reported once, also over a restart")
  func failing() throws {
    let house = try Household()
    try house.process(from: "2026-01-05 06:00", to: "2026-01-06 12:00") {
      try house.add(Self.daily(), fails: true)
    }
    try house.process(from: "2026-01-06 13:00", to: "2026-01-08 12:00") {
      try house.add(Self.daily(), fails: true)
    }
    #expect(house.seen.filter { $0.contains("failed") } == ["3 failed: no sound"])
    #expect(house.seen.count == 5)
  }

  @Test("can leave out its next run")
  func skip() throws {
    let house = try Household()
    try house.process(from: "2026-01-05 06:00", to: "2026-01-06 12:00") {
      let job = try house.add(Self.daily())
      #expect(job.skipNext() == (try moment("2026-01-05 06:45", house.zone)))
      #expect(job.next == (try moment("2026-01-06 06:45", house.zone)))
    }
    #expect(house.seen == ["ran 2026-01-06 06:45 for 2026-01-06 06:45"])
    try house.process(from: "2026-01-05 06:00", to: "2026-01-05 07:00") {
      let once = try house.add(.once(try local("2026-01-05 06:45")))
      once.skipNext()
      #expect(!once.isActive)
    }
  }
}
