public import EventLoop

/// The schedule of a line of a crontab: `30 20 * * 6`, `@daily`.
///
/// Debian's cron accepts every text accepted here. Texts that cron accepts but never runs are refused: ranges
/// that go backwards, and dates that don't exist. Source: crontab(5) of Debian's cron 3.0pl1.
public struct CronExpression: Sendable, Hashable, CustomStringConvertible {
  /// The text as it was parsed, with one blank between its fields.
  public let description: String
  /// The fields as bit sets, bit n for the number n; nil for `@reboot`.
  private let fields: Fields?

  private struct Fields: Hashable {
    var minutes, hours, daysOfMonth, months, daysOfWeek: UInt64
    /// `true` for a field that begins with `*`; `isAnyTime` if minute or hour does.
    var isAnyTime, isAnyDayOfMonth, isAnyDayOfWeek: Bool
  }

  private static let nicknames = [
    "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
  ]

  /// Reads five fields, or one of the words that begin with `@`.
  /// - Throws: `schedule.syntax`, also for dates that never occur.
  public init(parsing text: String) throws(ScheduleError) {
    let words = text.split { $0 == " " || $0 == "\t" }.map(String.init)
    description = words.joined(separator: " ")
    if let word = words.first, word.hasPrefix("@") {
      guard words.count == 1, word == "@reboot" || Self.nicknames[word] != nil else {
        throw ScheduleError(
          .syntax, "\(quoted(text)) is not a time for cron",
          hint: "known are @reboot, " + Self.nicknames.keys.sorted().joined(separator: ", "))
      }
    }
    guard words != ["@reboot"] else {
      fields = nil
      return
    }
    let parts = Self.nicknames[description]?.split(separator: " ").map(String.init) ?? words
    guard parts.count == 5 else {
      throw ScheduleError(
        .syntax, "\(quoted(text)) is not a time for cron: it has \(Self.count(parts.count)), not five",
        hint: "minute, hour, day of month, month, day of week: '30 20 * * 6' is Saturday at half past eight")
    }
    var fields = Fields(
      minutes: try CronField.minute.read(parts[0]), hours: try CronField.hour.read(parts[1]),
      daysOfMonth: try CronField.dayOfMonth.read(parts[2]), months: try CronField.month.read(parts[3]),
      daysOfWeek: try CronField.dayOfWeek.read(parts[4]),
      isAnyTime: parts[0].hasPrefix("*") || parts[1].hasPrefix("*"),
      isAnyDayOfMonth: parts[2].hasPrefix("*"), isAnyDayOfWeek: parts[4].hasPrefix("*"))
    // Sunday is both 0 and 7.
    if fields.daysOfWeek & 0x81 != 0 { fields.daysOfWeek |= 0x81 }
    // Within 40 years a leap day falls on every weekday.
    let days = (0..<40 * 366).lazy.map { CalendarDate(day: $0) }
    guard days.contains(where: { Self.contains($0, fields) }) else {
      throw ScheduleError(.syntax, "\(quoted(text)) never comes: there is no such date")
    }
    self.fields = fields
  }

  private static func count(_ number: Int) -> String { number == 1 ? "1 field" : "\(number) fields" }

  /// Returns the first moment after `moment`; nil for `@reboot`.
  ///
  /// As in Debian's cron, a fixed time that the clocks skip runs right after the gap, and one that they show
  /// twice runs once. If minute or hour begin with `*`, every occurrence on the clock counts.
  public func next(after moment: WallTime, in zone: any LocalZone) -> WallTime? {
    guard let fields else { return nil }
    return fields.isAnyTime
      ? Self.shown(fields, after: moment, in: zone) : Self.fixed(fields, after: moment, in: zone)
  }

  private static func fixed(_ fields: Fields, after moment: WallTime, in zone: any LocalZone) -> WallTime? {
    // A gap moves a time to the following day at most.
    let yesterday = zone.local(moment).date.advanced(by: -1)
    let times = (0..<1440).filter { has(fields.hours, $0 / 60) && has(fields.minutes, $0 % 60) }
    for day in 0..<41 * 366 {
      let date = yesterday.advanced(by: day)
      guard contains(date, fields) else { continue }
      for minute in times {
        let due = zone.match(LocalDateTime(date, TimeOfDay(checkedSeconds: minute * 60))).moment
        if due > moment { return due }
      }
    }
    return nil
  }

  private static func shown(_ fields: Fields, after moment: WallTime, in zone: any LocalZone) -> WallTime? {
    var seconds = (moment.seconds / 60 + 1) * 60
    let last = seconds + 41 * 366 * 86_400
    while seconds < last {
      let local = zone.local(WallTime(seconds: seconds))
      let minute = local.time.seconds / 60
      if !contains(local.date, fields) || !has(fields.hours, minute / 60) {
        seconds += Int64(60 - minute % 60) * 60
      } else if has(fields.minutes, minute % 60) {
        return WallTime(seconds: seconds)
      } else {
        seconds += 60
      }
    }
    return nil
  }

  /// `true` if the day matches. If both kinds of days are limited, one match is enough.
  private static func contains(_ date: CalendarDate, _ fields: Fields) -> Bool {
    let (_, month, dayOfMonth) = date.components
    guard has(fields.months, month) else { return false }
    let isDayOfMonth = has(fields.daysOfMonth, dayOfMonth)
    let isDayOfWeek = has(fields.daysOfWeek, (date.weekday + 1) % 7)
    return fields.isAnyDayOfMonth || fields.isAnyDayOfWeek
      ? isDayOfMonth && isDayOfWeek : isDayOfMonth || isDayOfWeek
  }

  private static func has(_ bits: UInt64, _ number: Int) -> Bool { bits >> UInt64(number) & 1 == 1 }
}

/// A field of the five: `*/15`, `1-5`, `mon,wed`.
private struct CronField {
  let what: String
  let range: ClosedRange<Int>
  /// The names of the numbers from `firstNamed` on.
  var names: [String] = []
  var firstNamed = 0

  static let minute = CronField(what: "minute", range: 0...59)
  static let hour = CronField(what: "hour", range: 0...23)
  static let dayOfMonth = CronField(what: "day of the month", range: 1...31)
  static let month = CronField(
    what: "month", range: 1...12,
    names: ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], firstNamed: 1
  )
  static let dayOfWeek = CronField(
    what: "day of the week", range: 0...7, names: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"])

  /// Returns the numbers that the field lists, as bits.
  func read(_ text: String) throws(ScheduleError) -> UInt64 {
    var bits: UInt64 = 0
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let halves = part.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
      guard halves.count <= 2 else { throw wrong(text, "there is a / too many") }
      let ends = halves[0].split(separator: "-", omittingEmptySubsequences: false).map(String.init)
      let numbers: ClosedRange<Int>
      if halves[0] == "*" {
        numbers = range
      } else if ends.count == 1 {
        let single = try number(ends[0], in: text)
        if halves.count == 2 {
          throw wrong(
            text, "steps go with * or a range", hint: "write \(single)-\(range.upperBound)/\(halves[1])")
        }
        numbers = single...single
      } else {
        guard ends.count == 2 else { throw wrong(text, "there is a - too many") }
        let (first, last) = (try number(ends[0], in: text), try number(ends[1], in: text))
        guard first <= last else {
          throw wrong(
            text, "the range \(halves[0]) goes backwards",
            hint: "write \(first)-\(range.upperBound),\(range.lowerBound)-\(last)")
        }
        numbers = first...last
      }
      let step = halves.count == 2 ? try self.step(halves[1], in: text) : 1
      for number in stride(from: numbers.lowerBound, through: numbers.upperBound, by: step) {
        bits |= 1 << UInt64(number)
      }
    }
    return bits
  }

  private func number(_ text: String, in field: String) throws(ScheduleError) -> Int {
    if let index = names.firstIndex(of: text.lowercased()) { return index + firstNamed }
    if let number = digits(text), range.contains(number) { return number }
    let named = names.isEmpty ? "" : ", or \(names[0]) to \(names[names.count - 1]),"
    throw wrong(
      field, "\(range.lowerBound) to \(range.upperBound)\(named) expected, got \(quoted(text))")
  }

  private func step(_ text: String, in field: String) throws(ScheduleError) -> Int {
    guard let step = digits(text), step > 0, step <= range.upperBound else {
      throw wrong(field, "a step of 1 to \(range.upperBound) expected, got \(quoted(text))")
    }
    return step
  }

  private func digits(_ text: String) -> Int? {
    !text.isEmpty && text.utf8.count <= 4 && text.utf8.allSatisfy(isDigit) ? Int(text) : nil
  }

  private func wrong(_ field: String, _ reason: String, hint: String? = nil) -> ScheduleError {
    ScheduleError(.syntax, "\(quoted(field)) is not a valid \(what) for cron: \(reason)", hint: hint)
  }
}
