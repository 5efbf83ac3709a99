import EventLoop
import Scheduling
import TestTraits
import Testing

/// A search through every minute of a span, with the clock of the system's `date` and fields that are parsed anew:
/// nothing of it comes from the module under test.
private struct MinuteSearch {
  /// A minute that the clocks of the zone show.
  struct Minute: Hashable, Comparable {
    var year, month, day, hour, minute: Int

    static func < (one: Minute, other: Minute) -> Bool {
      (one.year, one.month, one.day, one.hour, one.minute)
        < (other.year, other.month, other.day, other.hour, other.minute)
    }

    /// The day of the week, 0 for Sunday. Source: T. Sakamoto's method, 1992.
    var weekday: Int {
      let shifts = [0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4]
      let year = month < 3 ? self.year - 1 : self.year
      return (year + year / 4 - year / 100 + year / 400 + shifts[month - 1] + day) % 7
    }

    /// The minute behind it on a clock that nobody sets.
    var next: Minute {
      var next = self
      next.minute += 1
      if next.minute == 60 { (next.minute, next.hour) = (0, hour + 1) }
      if next.hour == 24 { (next.hour, next.day) = (0, day + 1) }
      let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
      let days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
      if next.day > days { (next.day, next.month) = (1, month + 1) }
      if next.month > 12 { (next.month, next.year) = (1, year + 1) }
      return next
    }
  }

  /// The moments in seconds since the epoch, a minute apart, and what the clocks show then.
  let clock: [(moment: Int, shown: Minute)]

  /// Searches `days` days from `start`, in seconds since the epoch.
  init(from start: Int, days: Int, in zone: String) {
    let moments = (0..<(days * 1440)).map { start + $0 * 60 }
    clock = zip(moments, systemDates(moments, in: zone)).map { moment, text in
      let numbers = text.split { "- :+".contains($0) }.compactMap { Int($0) }
      return (
        moment,
        Minute(year: numbers[0], month: numbers[1], day: numbers[2], hour: numbers[3], minute: numbers[4])
      )
    }
  }

  /// Returns the moments at which a line of a crontab runs, by the rules of crontab(5) and cron(8).
  func moments(of expression: String) -> [Int] {
    let fields = expression.split(separator: " ").map(String.init)
    let (minutes, hours) = (Self.numbers(fields[0], 0..<60), Self.numbers(fields[1], 0..<24))
    let (days, months) = (Self.numbers(fields[2], 1..<32), Self.numbers(fields[3], 1..<13))
    let weekdays = Self.numbers(fields[4], 0..<8)
    let isEither = !fields[2].hasPrefix("*") && !fields[4].hasPrefix("*")
    func matches(_ time: Minute) -> Bool {
      guard minutes.contains(time.minute), hours.contains(time.hour), months.contains(time.month) else {
        return false
      }
      let isDay = days.contains(time.day)
      let isWeekday = weekdays.contains(time.weekday) || (time.weekday == 0 && weekdays.contains(7))
      return isEither ? isDay || isWeekday : isDay && isWeekday
    }
    if fields[0].hasPrefix("*") || fields[1].hasPrefix("*") {
      return clock.filter { matches($0.shown) }.map(\.moment)
    }
    // A fixed time: once for each time that is shown, and right after a gap for those that are skipped.
    var (result, seen) = ([Int](), Set<Minute>())
    var previous: Minute?
    for (moment, shown) in clock {
      var due = matches(shown) && seen.insert(shown).inserted
      if var skipped = previous?.next {
        while skipped < shown {
          if matches(skipped) && seen.insert(skipped).inserted { due = true }
          skipped = skipped.next
        }
      }
      if due { result.append(moment) }
      seen.insert(shown)
      previous = shown
    }
    return result
  }

  private static let names = [
    "sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6, "jan": 1, "feb": 2, "mar": 3,
    "oct": 10,
  ]

  /// Returns the numbers of a range that a field has.
  private static func numbers(_ field: String, _ range: Range<Int>) -> Set<Int> {
    Set(
      range.filter { number in
        field.split(separator: ",").contains { part in
          let halves = part.split(separator: "/")
          let ends = halves[0].split(separator: "-").map { names[String($0)] ?? Int($0) ?? 0 }
          let step = halves.count == 2 ? Int(halves[1]) ?? 1 : 1
          let (first, last) = halves[0] == "*" ? (range.lowerBound, 59) : (ends[0], ends[ends.count - 1])
          return number >= first && number <= last && (number - first) % step == 0
        }
      })
  }
}

@Suite("an independent search through every minute finds the same moments", .tags(.schedule, .time))
struct MinuteSearchTests {
  /// Nine days each: both clock changes in three zones, of half an hour on Lord Howe, a leap day, a new year.
  static let spans = [
    ("Europe/Berlin", "2026-03-24 00:00"), ("Europe/Berlin", "2026-10-20 00:00"),
    ("America/New_York", "2026-03-03 00:00"), ("America/New_York", "2026-10-27 00:00"),
    ("Australia/Lord_Howe", "2026-03-31 00:00"), ("Australia/Lord_Howe", "2026-09-29 00:00"),
    ("UTC", "2028-02-24 00:00"), ("Europe/Berlin", "2027-12-27 00:00"),
  ]

  private static let searches = Dictionary(
    uniqueKeysWithValues: spans.map { span in
      let start = (try? moment(span.1, zone(span.0)).seconds) ?? 0
      return (span.0 + span.1, MinuteSearch(from: Int(start), days: 9, in: span.0))
    })

  private func check(_ recurrence: Recurrence, is expression: String, _ span: (String, String)) throws {
    let zone = try zone(span.0)
    let start = try moment(span.1, zone)
    let search = try #require(Self.searches[span.0 + span.1])
    #expect(search.clock.count == 9 * 1440)
    let end = start.seconds + 9 * 86_400
    var (found, time) = ([Int](), start.advanced(by: .nanoseconds(-1)))
    while let due = recurrence.next(after: time, in: zone), due.seconds < end {
      found.append(Int(due.seconds))
      time = due
    }
    #expect(found == search.moments(of: expression), "\(expression) in \(span)")
  }

  @Test(
    "for lines of a crontab", arguments: spans,
    [
      "*/7 * * * *", "30 2 * * *", "15,45 1-3 * * *", "0 */2 * * *", "0 9 * * 0", "0 9 * * 7", "30 1 * * sun",
      "10 2 13 * 5", "0 12 */2 * mon", "0 0 29 2 *", "59 23 28-31 * *", "*/30 2 * * *", "0 0 1 * *",
      "5-55/25 0-4/2 * * 5-7", "0 2 * mar,oct sat,sun", "20 * * * 1-5",
    ])
  func cron(_ span: (String, String), _ expression: String) throws {
    try check(.cron(try CronExpression(parsing: expression)), is: expression, span)
  }

  @Test(
    "for times of day", arguments: spans,
    [
      ("02:15", "daily", "15 2 * * *"), ("01:45", "sat,sun", "45 1 * * 6,0"),
      ("00:00", "mon-fri", "0 0 * * 1-5"),
      ("02:00", "sun", "0 2 * * 7"),
    ])
  func at(_ span: (String, String), _ time: (text: String, days: String, expression: String)) throws {
    let zone = try zone(span.0)
    let now = try moment(span.1, zone)
    try check(
      try Recurrence.at(time.text, days: time.days, now: now, in: zone), is: time.expression, span)
  }
}
