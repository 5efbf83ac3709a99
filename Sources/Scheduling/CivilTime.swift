public import EventLoop

/// A time of day on a wall clock: `06:45`, `06:45:30`.
public struct TimeOfDay: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// The seconds since midnight, 0 to 86,399.
  public let seconds: Int

  /// The time 00:00.
  public static let midnight = TimeOfDay(checkedSeconds: 0)

  /// The time 12:00.
  static let midday = TimeOfDay(checkedSeconds: 43_200)

  init(checkedSeconds: Int) { seconds = checkedSeconds }

  /// Reads `"06:45"` or `"06:45:30"`, two digits each.
  /// - Throws: `schedule.syntax`.
  public init(parsing text: String) throws(ScheduleError) {
    var reader = TextReader(text)
    guard let time = TimeOfDay(reading: &reader), reader.isAtEnd else {
      throw ScheduleError(
        .syntax, "\(quoted(text)) is not a time of day (00:00 to 23:59 expected)",
        hint: "write two digits each, as in 06:45 or 06:45:30")
    }
    self = time
  }

  init?(reading reader: inout TextReader) {
    guard let hour = reader.number(digits: 2), hour < 24, reader.skip(":"),
      let minute = reader.number(digits: 2), minute < 60
    else { return nil }
    var second = 0
    if reader.skip(":") {
      guard let read = reader.number(digits: 2), read < 60 else { return nil }
      second = read
    }
    seconds = hour * 3600 + minute * 60 + second
  }

  /// The time in the form that `init(parsing:)` reads: with seconds unless they are 0.
  public var description: String {
    let minutes = "\((seconds / 3600).twoDigits):\((seconds / 60 % 60).twoDigits)"
    return seconds % 60 == 0 ? minutes : "\(minutes):\((seconds % 60).twoDigits)"
  }

  /// `true` if `a` is earlier than `b`.
  public static func < (a: TimeOfDay, b: TimeOfDay) -> Bool { a.seconds < b.seconds }
}

/// A day of the Gregorian calendar, without a zone: `2026-12-24`.
public struct CalendarDate: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// The days since 1970-01-01, which is 0.
  public let day: Int

  /// Creates the day `day` days after 1970-01-01.
  public init(day: Int) { self.day = day }

  /// Creates the day of this year, month (1 to 12) and day of month, nil if it does not exist.
  public init?(year: Int, month: Int, dayOfMonth: Int) {
    guard (1...9999).contains(year), (1...12).contains(month),
      (1...Self.days(ofMonth: month, year: year)).contains(dayOfMonth)
    else { return nil }
    day = Self.day(year: year, month: month, dayOfMonth: dayOfMonth)
  }

  /// Returns the days from 1970-01-01. Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms",
  /// days_from_civil.
  static func day(year: Int, month: Int, dayOfMonth: Int) -> Int {
    let year = month <= 2 ? year - 1 : year  // years begin in March, so that leap days come last
    let (era, yearOfEra) = year.dividedDown(by: 400)
    let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + dayOfMonth - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  /// The year, month and day of month. Source: as above, civil_from_days.
  public var components: (year: Int, month: Int, dayOfMonth: Int) {
    let (era, dayOfEra) = (day + 719_468).dividedDown(by: 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * dayOfYear + 2) / 153
    let month = shifted < 10 ? shifted + 3 : shifted - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
  }

  static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

  static func days(ofMonth month: Int, year: Int) -> Int {
    month == 2 ? (isLeap(year) ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
  }

  /// The day of the week: 0 for Monday to 6 for Sunday.
  public var weekday: Int { (day + 3).dividedDown(by: 7).remainder }

  /// Returns the day `days` days later.
  public func advanced(by days: Int) -> CalendarDate { CalendarDate(day: day + days) }

  /// The day as `2026-12-24`.
  public var description: String {
    let (year, month, dayOfMonth) = components
    let padding = String(repeating: "0", count: max(0, 4 - String(year).count))
    return "\(padding)\(year)-\(month.twoDigits)-\(dayOfMonth.twoDigits)"
  }

  /// `true` if `a` is earlier than `b`.
  public static func < (a: CalendarDate, b: CalendarDate) -> Bool { a.day < b.day }
}

/// A date and a time of day, without a zone: `2026-12-24 18:00`.
public struct LocalDateTime: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// The date.
  public let date: CalendarDate
  /// The time of day.
  public let time: TimeOfDay

  /// Creates a time on a day.
  public init(_ date: CalendarDate, _ time: TimeOfDay) { (self.date, self.time) = (date, time) }

  /// Reads `"2026-12-24 18:00"`, also with `T` between, and with seconds. Years 1970 to 2261.
  /// - Parameter given: the text that errors show; nil for `text`.
  /// - Throws: `schedule.syntax`.
  public init(parsing text: String, shownAs given: String? = nil) throws(ScheduleError) {
    let shown = quoted(given ?? text)
    let malformed = ScheduleError(.syntax, "\(shown) is not a date and time; use 2026-12-24T18:00")
    var reader = TextReader(text)
    guard let year = reader.number(digits: 4), reader.skip("-"),
      let month = reader.number(digits: 2), reader.skip("-"), let day = reader.number(digits: 2),
      reader.skip(" ") || reader.skip("T"), let time = TimeOfDay(reading: &reader), reader.isAtEnd
    else { throw malformed }
    guard (1970...2261).contains(year) else {
      throw ScheduleError(.syntax, "\(shown) is out of range (years 1970 to 2261 expected)")
    }
    guard (1...12).contains(month) else {
      throw ScheduleError(.syntax, "\(shown) is not a date (months 01 to 12 expected)")
    }
    guard let date = CalendarDate(year: year, month: month, dayOfMonth: day) else {
      let last = CalendarDate.days(ofMonth: month, year: year)
      throw ScheduleError(
        .syntax, "\(shown) is not a date (days 01 to \(last) expected in \(year)-\(month.twoDigits))")
    }
    self.init(date, time)
  }

  /// The seconds since 1970-01-01 00:00 on the same clock.
  var clockSeconds: Int { date.day * 86_400 + time.seconds }

  init(clockSeconds: Int) {
    let (day, seconds) = clockSeconds.dividedDown(by: 86_400)
    self.init(CalendarDate(day: day), TimeOfDay(checkedSeconds: seconds))
  }

  /// The date and time as `2026-12-24 18:00`, with seconds unless they are 0.
  public var description: String { "\(date) \(time)" }

  /// `true` if `a` is earlier than `b`, by their date and time alone.
  public static func < (a: LocalDateTime, b: LocalDateTime) -> Bool { a.clockSeconds < b.clockSeconds }
}
