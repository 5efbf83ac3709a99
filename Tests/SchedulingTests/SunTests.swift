import EventLoop
import Scheduling
import TestSupport
import TestTraits
import Testing

/// A row of the table of 1,000 places and days, computed with JPL's ephemeris DE421: the latitude, the longitude, the
/// date of the sun's day, and the moments of dawn, sunrise, noon, sunset and dusk in seconds since 1970, nil where there
/// is none.
private struct SunRow {
  let location: Location
  let moments: [Int?]

  init(_ line: Substring) throws {
    let words = line.split(separator: " ")
    let (latitude, longitude) = (try #require(Double(words[0])), try #require(Double(words[1])))
    location = try #require(Location(latitude: latitude, longitude: longitude))
    moments = words[3...].map { Int($0) }
  }

  /// The noon of the sun, by which the date is found.
  var noon: Int { get throws { try #require(moments[2]) } }
}

/// A zone whose clocks are a fixed number of seconds ahead of UTC.
private struct FixedZone: LocalZone {
  let seconds: Int
  var name: String { "UTC+\(seconds)s" }
  func offset(at moment: Int) -> Int { seconds }
}

@Suite("Times by the sun", .tags(.schedule, .time))
struct SunTests {
  @Test(
    "are within a minute of the ephemeris on a thousand days at a thousand places, or there is none there either"
  )
  func table() throws {
    let text = String(decoding: try readBytes(Fixtures.path("sun_times.txt")), as: UTF8.self)
    let rows = try text.split(separator: "\n").map(SunRow.init)
    #expect(rows.count == 1000)
    var worst = 0
    for row in rows {
      let zone = FixedZone(seconds: Int((row.location.longitude / 15).rounded()) * 3600)
      let date = zone.local(WallTime(seconds: Int64(try row.noon))).date
      for (event, expected) in zip(SunEvent.allCases, row.moments) {
        let found = event.moment(on: date, at: row.location, in: zone)
        guard let expected, let found else {
          #expect((expected == nil) == (found == nil), "\(event) at \(row.location) on \(date)")
          continue
        }
        worst = max(worst, abs(Int(found.seconds) - expected))
        #expect(abs(Int(found.seconds) - expected) <= 60, "\(event) at \(row.location) on \(date)")
      }
    }
    #expect(worst > 0, "the table is not made by the code under test")
  }

  private static let berlin = Location(latitude: 52.52, longitude: 13.405)
  private static let tromso = Location(latitude: 69.65, longitude: 18.96)

  @Test("follow the sun through the year, with an offset, on their days only")
  func offsets() throws {
    let zone = try zone("Europe/Berlin")
    let start = try moment("2026-06-19 12:00", zone)
    let plain = try Recurrence.at("sunset", days: "sat,sun", now: start, in: zone, location: Self.berlin)
    let early = try Recurrence.at("sunset-20m", days: "sat,sun", now: start, in: zone, location: Self.berlin)
    let late = try Recurrence.at("sunset+3h", days: "sat,sun", now: start, in: zone, location: Self.berlin)
    let due = try #require(plain.next(after: start, in: zone))
    #expect(zone.local(due).description.hasPrefix("2026-06-20 21:3"))
    #expect(early.next(after: start, in: zone) == due.advanced(by: .seconds(-1200)))
    #expect(early.next(after: due, in: zone).map { zone.local($0).date.weekday } == 6)
    // Three hours behind the sunset of Saturday it is Sunday.
    #expect(late.next(after: start, in: zone) == due.advanced(by: .seconds(10_800)))
    #expect(early.description == "at sunset-20m sat,sun" && late.description == "at sunset+3h sat,sun")
  }

  @Test("without days are the next one only")
  func once() throws {
    let zone = try zone("Europe/Berlin")
    let start = try moment("2026-06-19 23:00", zone)
    let once = try Recurrence.at("sunrise", now: start, in: zone, location: Self.berlin)
    let due = try #require(once.next(after: start, in: zone))
    #expect(zone.local(due).description.hasPrefix("2026-06-20 04:4"))
    #expect(once.next(after: due, in: zone) == nil)
  }

  @Test("skip the polar night, and the job reports it")
  func polarNight() throws {
    let zone = try zone("Europe/Oslo")
    let loop = EventLoop(clock: .virtual(start: try moment("2026-11-25 12:00", zone)))
    defer { loop.close() }
    var seen: [String] = []
    let table = JobTable(loop: loop, zone: zone) { job, event in
      if case .withoutSun(let date, let next) = event {
        seen.append("none from \(date), next \(shown(next, zone))")
      }
    }
    try table.add(
      .sun(try SunTime(parsing: "sunset"), .all, try #require(Self.tromso)),
      { run in
        seen.append(shown(loop.wallNow, zone))
        run.succeed()
      })
    var isOver = false
    loop.at(try moment("2027-01-16 20:00", zone)) { isOver = true }
    #expect(loop.run(until: { isOver }) == .done)
    table.endAll()
    #expect(seen.count == 6, "\(seen)")
    #expect(seen.prefix(3).map { $0.prefix(10) } == ["2026-11-25", "2026-11-26", "2026-11-27"])
    #expect(seen[3].hasPrefix("none from 2026-11-28, next 2027-01-15 1"))
    #expect(seen.suffix(2).map { $0.prefix(10) } == ["2027-01-15", "2027-01-16"])
  }

  @Test(
    "that can't be meant are refused when they are set",
    arguments: [
      ("sunst", "schedule.syntax", "did you mean sunset?"),
      ("midnight", "schedule.syntax", "write 06:45, 2026-12-24 18:00, or dawn"),
      ("sunset 20m", "schedule.syntax", "write sunset-20m"), ("sunset-", "schedule.syntax", "it is empty"),
      ("sunset-13h", "schedule.syntax", "more than 12h"),
    ])
  func refused(_ text: String, _ code: String, _ reason: String) throws {
    let zone = try zone("Europe/Berlin")
    let error = #expect(throws: ScheduleError.self) {
      try Recurrence.at(text, now: try moment("2026-06-19 12:00", zone), in: zone, location: Self.berlin)
    }
    #expect(
      error?.code == code && "\(error?.description ?? "")".contains(reason), "\(error?.description ?? "")")
  }

  @Test("need a location, and one where the sun has them")
  func location() throws {
    let zone = try zone("Europe/Berlin")
    let now = try moment("2026-06-19 12:00", zone)
    let missing = #expect(throws: ScheduleError.self) { try Recurrence.at("sunset", now: now, in: zone) }
    #expect(missing?.code == "schedule.location")
    let pole = try #require(Location(latitude: 90, longitude: 0))
    let never = #expect(throws: ScheduleError.self) {
      try Recurrence.at("dusk", days: "mon", now: now, in: zone, location: pole)
    }
    #expect(never?.message.hasPrefix("there is no dusk at 90.0, 0.0") == true)
    #expect(Location(latitude: 91, longitude: 0) == nil && Location(latitude: 0, longitude: .nan) == nil)
  }
}
