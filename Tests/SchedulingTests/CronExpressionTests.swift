import EventLoop
import Glibc
import Scheduling
import TestTraits
import Testing

@Suite("times for cron", .tags(.schedule, .time, .cron))
struct CronExpressionTests {
  private func next(_ count: Int, _ text: String, after start: String, in zone: any LocalZone) throws
    -> [String]
  {
    let expression = try CronExpression(parsing: text)
    var (result, time) = ([String](), try moment(start, zone))
    while result.count < count, let due = expression.next(after: time, in: zone) {
      result.append(shown(due, zone))
      time = due
    }
    return result
  }

  @Test(
    "come when all fields agree",
    arguments: [
      ("30 20 * * 6", "2026-01-03 20:30", "2026-01-10 20:30"),
      ("30 20 * * sat", "2026-01-03 20:30", "2026-01-10 20:30"),
      ("*/20 6 * * *", "2026-01-01 06:00", "2026-01-01 06:20"),
      ("5-59/15 * * * *", "2026-01-01 00:05", "2026-01-01 00:20"),
      ("0 0 * * 7", "2026-01-04 00:00", "2026-01-11 00:00"),
      ("0 0 * * 0", "2026-01-04 00:00", "2026-01-11 00:00"),
      ("0 12 * * 5-7", "2026-01-02 12:00", "2026-01-03 12:00"),
      ("0 0 29 2 *", "2028-02-29 00:00", "2032-02-29 00:00"),
      ("0 7 1,15 MAR,jun *", "2026-03-01 07:00", "2026-03-15 07:00"),
      ("@daily", "2026-01-01 00:00", "2026-01-02 00:00"), ("@hourly", "2026-01-01 00:00", "2026-01-01 01:00"),
      ("@monthly", "2026-01-01 00:00", "2026-02-01 00:00"),
      ("@yearly", "2026-01-01 00:00", "2027-01-01 00:00"),
      ("@weekly", "2026-01-04 00:00", "2026-01-11 00:00"),
    ])
  func fields(_ text: String, _ first: String, _ second: String) throws {
    let utc = try zone("UTC")
    #expect(try next(2, text, after: "2026-01-01 00:00", in: utc).first != nil)
    let before = try moment(first, utc).advanced(by: .nanoseconds(-1))
    let expression = try CronExpression(parsing: text)
    let due = expression.next(after: before, in: utc)
    #expect(shown(due, utc) == first + " +0")
    #expect(shown(expression.next(after: try #require(due), in: utc), utc) == second + " +0")
  }

  @Test("where both days are limited, one of them is enough; a day that begins with * limits with the other")
  func days() throws {
    let utc = try zone("UTC")
    #expect(
      try next(3, "0 0 13 * 5", after: "2026-02-01 00:00", in: utc)
        == ["2026-02-06 00:00 +0", "2026-02-13 00:00 +0", "2026-02-20 00:00 +0"])
    #expect(
      try next(3, "0 0 */2 * mon", after: "2026-02-01 00:00", in: utc)
        == ["2026-02-09 00:00 +0", "2026-02-23 00:00 +0", "2026-03-09 00:00 +0"])
  }

  @Test(
    "a fixed time that the clocks skip comes right after the gap, and one that they show twice comes once")
  func clockChanges() throws {
    let berlin = try zone("Europe/Berlin")
    #expect(
      try next(3, "30 2 * * *", after: "2026-03-28 00:00", in: berlin)
        == ["2026-03-28 02:30 +60", "2026-03-29 03:00 +120", "2026-03-30 02:30 +120"])
    #expect(
      try next(2, "30 2 * * *", after: "2026-10-25 00:00", in: berlin)
        == ["2026-10-25 02:30 +120", "2026-10-26 02:30 +60"])
  }

  @Test("with * for the hour or the minute, the time that the clocks show counts")
  func intervals() throws {
    let berlin = try zone("Europe/Berlin")
    #expect(
      try next(3, "*/30 * * * *", after: "2026-03-29 01:20", in: berlin)
        == ["2026-03-29 01:30 +60", "2026-03-29 03:00 +120", "2026-03-29 03:30 +120"])
    #expect(
      try next(3, "30 * * * *", after: "2026-10-25 02:00", in: berlin)
        == ["2026-10-25 02:30 +120", "2026-10-25 02:30 +60", "2026-10-25 03:30 +60"])
  }

  @Test(
    "a step may be as long as its field, and a range of one number is a range",
    arguments: [
      ("*/59 5 * * *", "2026-01-01 05:00", "2026-01-01 05:59"),
      ("0 */23 * * *", "2026-01-01 00:00", "2026-01-01 23:00"),
      ("0 0 */31 * *", "2026-01-01 00:00", "2026-02-01 00:00"),
      ("0 0 1 */12 *", "2026-01-01 00:00", "2027-01-01 00:00"),
      ("0 0 * * */7", "2026-01-04 00:00", "2026-01-11 00:00"),
      ("5-5 0 * * *", "2026-01-01 00:05", "2026-01-02 00:05"),
      ("59-59/59 23-23 * * *", "2026-01-01 23:59", "2026-01-02 23:59"),
      // A leap day that is a Sunday comes once in 28 years.
      ("0 0 29 2 */7", "2032-02-29 00:00", "2060-02-29 00:00"),
      ("*/60 0 29 2 */7", "", ""), ("*/30 0 29 2 */7", "2032-02-29 00:00", "2032-02-29 00:30"),
    ])
  func longSteps(_ text: String, _ first: String, _ second: String) throws {
    guard !first.isEmpty else {
      #expect(throws: ScheduleError.self) { try CronExpression(parsing: text) }
      return
    }
    #expect(
      try next(2, text, after: "2025-12-31 23:59", in: zone("UTC")) == ["\(first) +0", "\(second) +0"])
  }

  @Test("the clock's own minutes are found too when they come after 28 years")
  func rare() throws {
    let due = try next(1, "*/30 0 29 2 */7", after: "2032-03-01 00:00", in: zone("UTC"))
    #expect(due == ["2060-02-29 00:00 +0"])
  }

  @Test("@reboot has no time, and blanks don't matter")
  func odd() throws {
    #expect(
      try CronExpression(parsing: "@reboot").next(after: WallTime(seconds: 0), in: ProcessZone()) == nil)
    #expect(try CronExpression(parsing: " 30  20\t* * 6 ").description == "30 20 * * 6")
  }

  @Test(
    "a mistake is reported with the field, and the right form",
    arguments: [
      ("", "0 fields, not five"), ("30 20 * *", "4 fields"), ("30 20 * * 6 roomtone", "6 fields"),
      ("@dayly", "@daily"), ("@daily now", "not a time for cron"), ("61 * * * *", "0 to 59 expected"),
      ("* 24 * * *", "not a valid hour"), ("* * 0 * *", "not a valid day of the month"),
      ("* * * 13 *", "1 to 12, or jan to dec,"),
      ("* * * * 8", "0 to 7, or sun to sat,"), ("* * * * monday", "\"monday\""),
      ("5/15 * * * *", "write 5-59/15"), ("*/0 * * * *", "a step of 1 to 59"),
      ("*/61 * * * *", "a step of 1 to 59"),
      ("0 0 * * fri-mon", "write 5-7,0-1"), ("1-2-3 * * * *", "a - too many"),
      ("*/2/3 * * * *", "a / too many"),
      (",5 * * * *", "expected"), ("5, * * * *", "expected"), ("+5 * * * *", "expected"),
      ("٣ * * * *", "expected"),
      ("0 0 31 2 *", "never comes"), ("0 0 30 feb *", "never comes"),
      ("99999999999999999999 * * * *", "expected"),
    ])
  func wrong(_ text: String, _ part: String) throws {
    let error = try #require(throws: ScheduleError.self) { try CronExpression(parsing: text) }
    #expect(error.code == "schedule.syntax" && error.description.contains(part), "\(error)")
  }

  @Test("the real crontab accepts whatever is accepted here")
  func real() throws {
    var random = SeededRandom(seed: 7)
    func pick(_ words: [String]) -> String { words.randomElement(using: &random) ?? "" }
    var lines = ""
    for _ in 0..<400 {
      let text = [
        pick(["*", "0", "59", "*/7", "1-5", "1-50/9", "1,2,3-9", "00", "5,*/15"]),
        pick(["*", "0", "23", "*/2", "8-17"]),
        pick(["*", "1", "31", "*/2", "1-7", "13"]), pick(["*", "1", "jan", "DEC", "jan-mar", "*/3"]),
        pick(["*", "0", "7", "sun", "Mon,wed", "mon-fri", "5-7", "*/2", "1-5/2"]),
      ].joined(separator: pick([" ", "\t", "  "]))
      if (try? CronExpression(parsing: text)) != nil { lines += "\(text) true\n" }
    }
    for word in ["reboot", "yearly", "annually", "monthly", "weekly", "daily", "midnight", "hourly"] {
      _ = try CronExpression(parsing: "@\(word)")
      lines += "@\(word) true\n"
    }
    #expect(lines.count > 1000)
    let pipe = try #require(popen("crontab -n - >/dev/null", "w"))
    fputs(lines, pipe)
    #expect(pclose(pipe) == 0)
  }
}
