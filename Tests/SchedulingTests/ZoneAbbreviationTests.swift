import EventLoop
import TestTraits
import Testing

@testable import Scheduling

@Suite("Zones by their abbreviations", .tags(.schedule, .time)) struct ZoneAbbreviationTests {
  @Test(
    "an abbreviation is taken where all zones that have it keep the same time",
    arguments: [
      ("BST", "Europe/London"), ("JST", "Asia/Tokyo"), ("jst", "Asia/Tokyo"), ("NZDT", "Pacific/Auckland"),
      ("SAST", "Africa/Johannesburg"), ("PKT", "Asia/Karachi"), ("HKT", "Asia/Hong_Kong"),
      ("CEST", "Europe/Berlin"), ("ChST", "Pacific/Guam"),
    ])
  func one(_ abbreviation: String, _ zone: String) throws {
    let found = try ZoneFile(meaning: abbreviation)
    let expected = try ZoneFile(named: zone)
    // The first days of January and July.
    for moment in [1_767_225_600, 1_782_864_000] {
      #expect(found.offset(at: moment) == expected.offset(at: moment))
    }
  }

  @Test(
    "an abbreviation of zones that keep different times names them",
    arguments: [
      ("IST", ["Europe/Dublin", "Asia/Jerusalem", "Asia/Kolkata"]),
      ("AEST", ["Australia/Sydney", "Australia/Brisbane"]), ("CST", ["America/Chicago", "Asia/Shanghai"]),
    ])
  func several(_ abbreviation: String, _ zones: [String]) {
    let error = #expect(throws: ScheduleError.self) { try ZoneFile(meaning: abbreviation) }
    #expect(error?.code == "schedule.zone")
    let start = "\"\(abbreviation)\" is the abbreviation of several time zones: "
    #expect(error?.message.hasPrefix(start) == true)
    for zone in zones { #expect(error?.message.contains(zone) == true, "\(zone)") }
  }

  @Test("names of the database go first, and others are unknown", arguments: ["Europe/Berlin", "UTC", "CET"])
  func names(_ name: String) throws {
    #expect(try ZoneFile(meaning: name).name == name)
    for unknown in ["PXT", "", "<+03>", "+03", "AAAAAAAAAA", "../UTC"] {
      let error = #expect(throws: ScheduleError.self) { try ZoneFile(meaning: unknown) }
      #expect(error?.hint?.contains("Europe/Berlin") == true, "\(unknown)")
    }
  }
}
