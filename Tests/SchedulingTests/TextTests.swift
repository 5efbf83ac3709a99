import EventLoop
import Scheduling
import TestTraits
import Testing

@Suite(.tags(.schedule, .time)) struct TextTests {
  @Test(
    "times of day", arguments: [("06:45", 24_300), ("06:45:30", 24_330), ("00:00", 0), ("23:59:59", 86_399)])
  func timeOfDay(text: String, seconds: Int) throws {
    let time = try TimeOfDay(parsing: text)
    #expect(time.seconds == seconds && time.description == text)
  }

  @Test(
    "a text that is no time of day is refused, and named",
    arguments: [
      "25:00", "24:00", "6:45", "06:60", "06:45:60", "06:45 ", "", "0645", "06:45:3", "-1:00", "०६:४५",
    ])
  func noTimeOfDay(text: String) {
    let error = #expect(throws: ScheduleError.self) { try TimeOfDay(parsing: text) }
    #expect(error?.code == "schedule.syntax")
    #expect(error?.message == "\"\(text)\" is not a time of day (00:00 to 23:59 expected)")
  }

  @Test("a text that is long or has control characters cannot spoil the message")
  func hostile() {
    let error = #expect(throws: ScheduleError.self) {
      try TimeOfDay(parsing: "\u{1b}[31m\n" + String(repeating: "x", count: 500))
    }
    #expect(error?.message.contains("\n") == false && error?.message.contains("\u{1b}") == false)
    #expect((error?.message.count ?? 999) < 120)
  }

  @Test("dates with times", arguments: ["2026-12-24 18:00", "2026-12-24T18:00", "2026-12-24 18:00:00"])
  func dateTime(text: String) throws {
    #expect(try LocalDateTime(parsing: text).description == "2026-12-24 18:00")
  }

  @Test(
    "a text that is no date is reported with the reason",
    arguments: [
      ("2026-02-30 18:00", "is not a date (days 01 to 28 expected in 2026-02)"),
      ("2028-02-30 18:00", "is not a date (days 01 to 29 expected in 2028-02)"),
      ("2026-13-01 18:00", "is not a date (months 01 to 12 expected)"),
      ("2026-12-24", "is not a date and time; use 2026-12-24T18:00"),
      ("2026-12-24 25:00", "is not a date and time; use 2026-12-24T18:00"),
      ("1969-12-24 18:00", "is out of range (years 1970 to 2261 expected)"),
    ])
  func noDate(text: String, reason: String) {
    let error = #expect(throws: ScheduleError.self) { try LocalDateTime(parsing: text) }
    #expect(error?.message == "\"\(text)\" \(reason)")
  }

  @Test("days of the calendar: numbers, parts and weekdays agree over four hundred years")
  func calendar() {
    var date = CalendarDate(day: 0)
    #expect(date.description == "1970-01-01" && date.weekday == 3)
    for _ in 0..<146_097 {
      let (year, month, dayOfMonth) = date.components
      let again = CalendarDate(year: year, month: month, dayOfMonth: dayOfMonth)
      if again != date {
        Issue.record("\(date)")
        break
      }
      date = date.advanced(by: 1)
    }
    #expect(date.description == "2370-01-01" && date.weekday == 3)
  }

  @Test(
    "days of the week",
    arguments: [
      ("mon-fri", "mon-fri"), ("sat,sun", "sat,sun"), ("mon-wed,fri", "mon-wed,fri"),
      ("fri-mon", "mon,fri-sun"), ("Monday", "mon"), ("tuesday-THURSDAY", "tue-thu"), ("daily", "daily"),
      ("weekdays", "mon-fri"), ("weekends", "sat,sun"), ("sun-sat", "daily"), ("mon, wed", "mon,wed"),
      ("weekends,wed", "wed,sat,sun"), ("tue-tue", "tue"),
    ])
  func weekdays(text: String, meaning: String) throws {
    #expect(try Weekdays(parsing: text).description == meaning)
  }

  @Test(
    "a text that is no day of the week is refused, and named",
    arguments: ["", "mo", "mon-", "mon,,fri", "mon-tue-wed", "x"])
  func noWeekdays(text: String) {
    let error = #expect(throws: ScheduleError.self) { try Weekdays(parsing: text) }
    #expect(error?.code == "schedule.syntax" && error?.message.contains("\"\(text)\"") == true)
  }

  @Test(
    "durations",
    arguments: [
      ("90s", .seconds(90)), ("5m", .seconds(300)), ("1h30m", .seconds(5400)), ("250ms", .milliseconds(250)),
      ("7d", .seconds(604_800)), ("1.5h", .seconds(5400)), ("0.25s", .milliseconds(250)), ("0s", .zero),
      ("1d2h3m4s5ms", .milliseconds(93_784_005)), ("1.00000001d", .nanoseconds(86_400_000_864_000)),
    ] as [(String, Duration)])
  func durations(text: String, duration: Duration) throws {
    #expect(try DurationText.parse(text) == duration)
  }

  @Test("durations are written as they are read")
  func writtenDurations() throws {
    for text in ["1m30s", "5m", "1h30m", "250ms", "7d", "0s"] {
      #expect(DurationText.describe(try DurationText.parse(text)) == text)
    }
  }

  @Test(
    "a text that is no time at all is reported with all kinds that there are",
    arguments: ["", " 06:45", "(6:45)"])
  func noTime(_ text: String) {
    let error = #expect(throws: ScheduleError.self) {
      try Recurrence.at(text, now: WallTime(seconds: 0), in: ProcessZone())
    }
    #expect(error?.message == "\"\(text)\" is not a time; use 06:45, sunset-20m or 2026-12-24 18:00")
  }

  @Test(
    "a text that is no duration is reported with the reason",
    arguments: [
      ("", "it is empty"), ("90", "a unit is missing after 90"),
      ("5x", "unknown unit \"x\"; use d, h, m, s, ms: 5m"),
      ("m", "a number is missing"), ("30m1h", "units go from large to small"), ("1h1h", "each once"),
      ("-5s", "a number is missing"), ("5 m", "the unit follows the number directly: 5m"),
      ("5 minutes", "unknown unit \"minutes\"; use d, h, m, s, ms: 5m"), ("1.h", "digits are missing"),
      ("99999999999999999999s", "longer than 292 years"), ("300000d", "longer than 292 years"),
      ("100000d9000000000s", "longer than 292 years"),
    ])
  func noDuration(text: String, reason: String) {
    let error = #expect(throws: ScheduleError.self) { try DurationText.parse(text) }
    #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
  }
}
