import EventLoop
import Glibc
import Scheduling
import TestTraits
import Testing

@Suite(.tags(.schedule, .time)) struct ZoneTests {
  @Test(
    "a zone file and the system agree on 600 moments from 1970 to 2200",
    arguments: [
      "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "America/Sao_Paulo",
      "Africa/Casablanca", "Europe/Dublin", "Pacific/Apia", "America/Nuuk", "Asia/Gaza", "UTC", "Etc/GMT+5",
      "Pacific/Chatham", "America/Asuncion", "Antarctica/Troll", "Asia/Kathmandu",
    ])
  func agreesWithSystem(name: String) throws {
    let zone = try zone(name)
    var random = SeededRandom(seed: 7)
    var moments = (0..<300).map { _ in Int.random(in: 0..<7_258_118_400, using: &random) }
    moments += (0..<300).map { _ in Int.random(in: 1_600_000_000..<2_000_000_000, using: &random) }
    let system = systemDates(moments, in: name)
    try #require(system.count == moments.count)
    for (seconds, expected) in zip(moments, system) { #expect(likeSystem(seconds, zone) == expected) }
  }

  @Test("the zone of the process agrees with the system")
  func processZone() throws {
    let moments = Array(stride(from: 0, to: 2_000_000_000, by: 9_999_991))
    let system = systemDates(moments, in: nil)
    try #require(system.count == moments.count)
    for (seconds, expected) in zip(moments, system) {
      #expect(likeSystem(seconds, ProcessZone()) == expected)
    }
  }

  @Test("changes of the year are found to the second")
  func changes() throws {
    let berlin = try zone("Europe/Berlin")
    #expect(berlin.offset(at: 1_774_745_999) == 3600)
    #expect(berlin.offset(at: 1_774_746_000) == 7200)
    // 2100-03-28 01:00 UTC, which only the rule of the footer knows.
    #expect(berlin.offset(at: 4_109_878_799) == 3600 && berlin.offset(at: 4_109_878_800) == 7200)
  }

  @Test(
    "a time that is skipped counts right after the gap",
    arguments: [
      ("Europe/Berlin", "2026-03-29 02:00", "2026-03-29 03:00 +120"),
      ("Europe/Berlin", "2026-03-29 02:59:59", "2026-03-29 03:00 +120"),
      ("America/New_York", "2026-03-08 02:30", "2026-03-08 03:00 -240"),
      ("Australia/Lord_Howe", "2026-10-04 02:15", "2026-10-04 02:30 +660"),
      ("Pacific/Apia", "2011-12-30 12:00", "2011-12-31 00:00 +840"),
      ("America/Sao_Paulo", "2018-11-04 00:30", "2018-11-04 01:00 -120"),
    ])
  func gaps(name: String, text: String, expected: String) throws {
    let zone = try zone(name)
    let match = zone.match(try local(text))
    guard case .skipped = match else {
      Issue.record("\(match)")
      return
    }
    #expect(shown(match.moment, zone) == expected)
  }

  @Test(
    "a time that comes twice is found twice, and counts the first time",
    arguments: [
      ("Europe/Berlin", "2026-10-25 02:00", 3600), ("Europe/Berlin", "2026-10-25 02:59:59", 3600),
      ("America/New_York", "2026-11-01 01:30", 3600), ("Australia/Lord_Howe", "2026-04-05 01:45", 1800),
      ("America/Asuncion", "2020-03-21 23:15", 3600),
    ])
  func repeats(name: String, text: String, distance: Int) throws {
    let zone = try zone(name)
    guard case .twice(let first, let second) = zone.match(try local(text)) else {
      Issue.record("not twice")
      return
    }
    #expect(first.duration(to: second) == .seconds(distance))
    let expected = try local(text)
    #expect(zone.local(first) == expected && zone.local(second) == expected)
  }

  @Test(
    "at the edges of a change there is one answer",
    arguments: [
      ("Europe/Berlin", "2026-03-29 01:59:59"), ("Europe/Berlin", "2026-03-29 03:00"),
      ("Europe/Berlin", "2026-10-25 01:59:59"), ("Europe/Berlin", "2026-10-25 03:00"),
      ("Australia/Lord_Howe", "2026-04-05 02:00"), ("Australia/Lord_Howe", "2026-04-05 01:29:59"),
      ("Asia/Kolkata", "2026-03-29 02:30"),
    ])
  func edges(name: String, text: String) throws {
    let match = try zone(name).match(try local(text))
    guard case .once(let moment) = match else {
      Issue.record("\(match)")
      return
    }
    #expect(try zone(name).local(moment) == (try local(text)))
  }

  @Test("the local time of a zone leads back to the moment")
  func roundTrip() throws {
    var random = SeededRandom(seed: 3)
    for name in [
      "Europe/Berlin", "Australia/Lord_Howe", "America/Asuncion", "Pacific/Apia", "Africa/Casablanca",
    ] {
      let zone = try zone(name)
      for _ in 0..<300 {
        let moment = WallTime(seconds: Int64.random(in: 0..<5_000_000_000, using: &random))
        switch zone.match(zone.local(moment)) {
        case .once(let found): #expect(found == moment)
        case .twice(let first, let second): #expect(first == moment || second == moment)
        case .skipped: Issue.record("\(name) \(moment)")
        }
      }
    }
  }

  @Test(
    "a zone that does not exist raises schedule.zone, and no name leaves the folder",
    arguments: [
      "Europe/Atlantis", "", "..", "../../../etc/passwd", "Europe/../UTC", "/etc/localtime", "Europe/",
      "Europe",
      "zone.tab", "tzdata.zi", "Europe//Berlin", "Europe/Berlin\u{0}",
    ])
  func unknown(name: String) {
    let error = #expect(throws: ScheduleError.self) { try ZoneFile(named: name) }
    #expect(error?.code == "schedule.zone" && error?.hint?.contains("Europe/Berlin") == true)
  }
}

@Suite(.tags(.schedule, .time)) struct ZoneFileTests {
  /// Returns a zone of a file without changes: its rule is in its footer.
  private func zone(footer: String) throws -> ZoneFile {
    let header = Array("TZif2".utf8) + [UInt8](repeating: 0, count: 15 + 16) + [0, 0, 0, 1, 0, 0, 0, 0]
    let type = [UInt8](repeating: 0, count: 6)
    return try ZoneFile(name: footer, bytes: header + type + header + type + Array("\n\(footer)\n".utf8))
  }

  @Test(
    "the rule of a footer equals what the system reads in it",
    arguments: [
      "EST5EDT,J60,J300", "EST5EDT,59/1:30,300/3", "<-02>2<-01>,M3.5.0/-1,M10.5.0/0",
      "XXX-3<+04>-4,0/0,J365/25",
      "NZST-12NZDT,M9.5.0,M4.1.0/3", "IST-1GMT0,M10.5.0,M3.5.0/1", "LHST-10:30LHDT-11,M10.1.0,M4.1.0", "UTC0",
      "EET-2EEST,M3.4.4/50,M10.4.4/50", "CET-1CEST,M3.5.0,M10.5.0/3",
    ])
  func footers(rule: String) throws {
    let zone = try zone(footer: rule)
    var random = SeededRandom(seed: 5)
    var moments = (0..<400).map { _ in Int.random(in: 1_600_000_000..<2_500_000_000, using: &random) }
    // Each hour around the end of February 2028, a leap year.
    moments += stride(from: 1_835_308_800, to: 1_835_308_800 + 96 * 3600, by: 3600)
    let system = systemDates(moments, in: "'\(rule)'")
    try #require(system.count == moments.count)
    for (seconds, expected) in zip(moments, system) { #expect(likeSystem(seconds, zone) == expected) }
  }

  @Test(
    "a footer that is no rule is refused",
    arguments: [
      "C1", "CET", "CET-25", "CET-1CEST", "CET-1CEST,M13.1.0,M10.5.0", "CET-1CEST,M3.6.0,M10.5.0",
      "CET-1CEST,J0,J5",
      "CET-1CEST,M3.5.0", "CET-1CEST,M3.5.0/168,M10.5.0", "<CET-1", "CET-1CEST,M3.5.0,M10.5.0/3x",
      "CET99999999999999999999",
    ])
  func noFooter(text: String) {
    let error = #expect(throws: ScheduleError.self) { try zone(footer: text) }
    #expect(error?.message.hasSuffix("is broken: its footer is not a rule") == true)
  }

  private func bytes(_ name: String) -> [UInt8] {
    let fd = open("/usr/share/zoneinfo/" + name, O_RDONLY)
    defer { close(fd) }
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = read(fd, &bytes, bytes.count)
    return Array(bytes.prefix(max(0, count)))
  }

  private func use(_ bytes: [UInt8]) -> Bool {
    guard let zone = try? ZoneFile(name: "fuzz", bytes: bytes) else { return false }
    for seconds in [Int(Int32.min), 0, 1_774_746_000, 9_000_000_000, -9_000_000_000] {
      _ = zone.offset(at: seconds)
      _ = zone.match(zone.local(WallTime(seconds: Int64(seconds))))
    }
    return true
  }

  @Test("a file that is cut short anywhere is refused")
  func truncated() {
    let whole = bytes("Europe/Berlin")
    #expect(whole.count > 500 && use(whole))
    for count in 0..<whole.count { #expect(!use(Array(whole.prefix(count)))) }
  }

  @Test("random bytes and broken files never crash")
  func fuzz() {
    var random = SeededRandom(seed: 11)
    let originals = ["Europe/Berlin", "America/Nuuk", "Africa/Casablanca", "UTC"].map(bytes)
    var accepted = 0
    for round in 0..<4_000 {
      var data = originals[round % originals.count]
      if round % 5 == 0 {
        data = (0..<Int.random(in: 0..<300, using: &random)).map { _ in
          UInt8.random(in: 0...255, using: &random)
        }
        if round % 10 == 0 { data = Array("TZif2".utf8) + data }
      } else {
        for _ in 0..<Int.random(in: 1...4, using: &random) {
          // Headers and the footer are the sensitive parts; the rest of the file is mostly times.
          let spot = [0..<50, data.count - 60..<data.count, 0..<data.count][
            Int.random(in: 0..<3, using: &random)]
          data[Int.random(in: spot.clamped(to: 0..<data.count), using: &random)] =
            UInt8.random(in: 0...255, using: &random)
        }
      }
      if use(data) { accepted += 1 }
    }
    #expect(accepted > 100, "some changes leave a file that can be read: \(accepted)")
  }

  @Test("a file that claims more than it holds is refused before memory is allocated")
  func hugeCounts() {
    var data = bytes("UTC")
    let second = data.indices.filter { data[$0...].starts(with: "TZif".utf8) }.last ?? 0
    for index in second + 20..<second + 44 { data[index] = 0x7f }
    let error = #expect(throws: ScheduleError.self) { try ZoneFile(name: "UTC", bytes: data) }
    #expect(error?.message == "the file of time zone \"UTC\" is broken: it counts leap seconds")
    for index in second + 28..<second + 32 { data[index] = 0 }
    #expect(throws: ScheduleError.self) { try ZoneFile(name: "UTC", bytes: data) }
  }
}
