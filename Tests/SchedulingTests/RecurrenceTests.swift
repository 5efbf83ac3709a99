import EventLoop
import Scheduling
import TestTraits
import Testing

@Suite(.tags(.schedule, .time)) struct RecurrenceTests {
  @Test("a daily time runs on its days only")
  func days() throws {
    let berlin = try zone("Europe/Berlin")
    let start = try moment("2026-01-01 12:00", berlin)
    let recurrence = try Recurrence.at("06:45", days: "mon-fri", now: start, in: berlin)
    #expect(
      first(3, recurrence, after: start, in: berlin)
        == ["2026-01-02 06:45 +60", "2026-01-05 06:45 +60", "2026-01-06 06:45 +60"])
    let due = try moment("2026-01-02 06:45", berlin)
    #expect(recurrence.next(after: due.advanced(by: .nanoseconds(-1)), in: berlin) == due)
    #expect(recurrence.next(after: due, in: berlin) != due)
  }

  @Test("a daily time that is skipped runs right after the gap, and is itself again the next day")
  func gap() throws {
    let berlin = try zone("Europe/Berlin")
    let start = try moment("2026-03-28 00:00", berlin)
    #expect(
      first(3, .daily(try TimeOfDay(parsing: "02:30"), .all), after: start, in: berlin)
        == ["2026-03-28 02:30 +60", "2026-03-29 03:00 +120", "2026-03-30 02:30 +120"])
  }

  @Test("a daily time that comes twice runs once")
  func twice() throws {
    let newYork = try zone("America/New_York")
    let start = try moment("2026-10-31 12:00", newYork)
    #expect(
      first(2, .daily(try TimeOfDay(parsing: "01:30"), .all), after: start, in: newYork)
        == ["2026-11-01 01:30 -240", "2026-11-02 01:30 -300"])
  }

  @Test("an aligned interval keeps its distance when clocks go forward")
  func alignedForward() throws {
    let berlin = try zone("Europe/Berlin")
    let start = try moment("2026-03-29 01:20", berlin)
    #expect(
      first(4, .every(.seconds(900), aligned: true), after: start, in: berlin)
        == ["2026-03-29 01:30 +60", "2026-03-29 01:45 +60", "2026-03-29 03:00 +120", "2026-03-29 03:15 +120"])
    #expect(
      first(3, .every(.seconds(21_600), aligned: true), after: start, in: berlin)
        == ["2026-03-29 06:00 +120", "2026-03-29 12:00 +120", "2026-03-29 18:00 +120"])
    #expect(
      first(2, .every(.seconds(7200), aligned: true), after: start, in: berlin)
        == ["2026-03-29 03:00 +120", "2026-03-29 04:00 +120"], "02:00 is skipped")
  }

  @Test("an aligned interval keeps its distance when clocks go back, and a long one runs once")
  func alignedBack() throws {
    let berlin = try zone("Europe/Berlin")
    let start = try moment("2026-10-25 01:45", berlin)
    #expect(
      first(6, .every(.seconds(1800), aligned: true), after: start, in: berlin) == [
        "2026-10-25 02:00 +120", "2026-10-25 02:30 +120", "2026-10-25 02:00 +60", "2026-10-25 02:30 +60",
        "2026-10-25 03:00 +60", "2026-10-25 03:30 +60",
      ])
    #expect(
      first(3, .every(.seconds(7200), aligned: true), after: start, in: berlin)
        == ["2026-10-25 02:00 +120", "2026-10-25 04:00 +60", "2026-10-25 06:00 +60"])
    let secondPass = try moment("2026-10-25 02:10", berlin).advanced(by: .seconds(3600))
    #expect(
      first(2, .every(.seconds(75 * 60), aligned: true), after: secondPass, in: berlin)
        == ["2026-10-25 03:45 +60", "2026-10-25 05:00 +60"], "02:30 had its turn")
    let lordHowe = try zone("Australia/Lord_Howe")
    #expect(
      first(
        3, .every(.seconds(3600), aligned: true), after: try moment("2026-04-05 00:30", lordHowe),
        in: lordHowe)
        == ["2026-04-05 01:00 +660", "2026-04-05 02:00 +630", "2026-04-05 03:00 +630"])
    let asuncion = try zone("America/Asuncion")
    #expect(
      first(
        3, .every(.seconds(3600), aligned: true), after: try moment("2020-03-21 22:30", asuncion),
        in: asuncion)
        == ["2020-03-21 23:00 -180", "2020-03-21 23:00 -240", "2020-03-22 00:00 -240"])
  }

  @Test("an aligned interval that does not divide the day begins anew at midnight")
  func alignedUneven() throws {
    let kolkata = try zone("Asia/Kolkata")
    #expect(
      first(
        3, .every(.seconds(7 * 3600), aligned: true), after: try moment("2026-05-01 13:59:59", kolkata),
        in: kolkata)
        == ["2026-05-01 14:00 +330", "2026-05-01 21:00 +330", "2026-05-02 00:00 +330"])
  }

  @Test(
    "of an aligned interval, brute force over a year of minutes finds the same moments",
    arguments: [900, 3600])
  func alignedBruteForce(distance: Int) throws {
    for name in ["Europe/Berlin", "America/New_York", "Asia/Kolkata"] {
      let zone = try zone(name)
      let start = try moment("2026-01-01 00:00", zone)
      var expected: [Int] = []
      for minute in 1...(365 * 1440) {
        let seconds = Int(start.seconds) + minute * 60
        if (seconds + zone.offset(at: seconds)) % distance == 0 { expected.append(seconds) }
      }
      var found: [Int] = []
      var moment = start
      while let next = Recurrence.every(.seconds(distance), aligned: true).next(after: moment, in: zone),
        next.seconds <= start.seconds + 365 * 86_400
      {
        found.append(Int(next.seconds))
        moment = next
      }
      #expect(found == expected, "\(name)")
    }
  }

  @Test("a time of day without days is once: today, or tomorrow when it has passed")
  func once() throws {
    let berlin = try zone("Europe/Berlin")
    let now = try moment("2026-05-01 07:00", berlin)
    #expect(try Recurrence.at("06:45", now: now, in: berlin) == .once(try local("2026-05-02 06:45")))
    #expect(try Recurrence.at("07:00", now: now, in: berlin) == .once(try local("2026-05-02 07:00")))
    #expect(try Recurrence.at("07:01", now: now, in: berlin) == .once(try local("2026-05-01 07:01")))
  }

  @Test("a date that has passed raises schedule.past, and a date with days schedule.syntax")
  func past() throws {
    let berlin = try zone("Europe/Berlin")
    let now = try moment("2026-05-01 07:00", berlin)
    let error = #expect(throws: ScheduleError.self) {
      try Recurrence.at("2026-05-01 06:59", now: now, in: berlin)
    }
    #expect(error?.code == "schedule.past" && error?.message == "2026-05-01 06:59 has passed")
    #expect(error?.hint == "it is 2026-05-01 07:00 now")
    let mixed = #expect(throws: ScheduleError.self) {
      try Recurrence.at("2026-12-24 18:00", days: "mon", now: now, in: berlin)
    }
    #expect(mixed?.code == "schedule.syntax")
  }
}
