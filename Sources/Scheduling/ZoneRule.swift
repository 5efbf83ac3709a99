/// The rule for the years after the last one that a zone file lists: `CET-1CEST,M3.5.0,M10.5.0/3`.
///
/// Source: POSIX.1-2017 §8.3 (TZ), with the transition times from -167 to 167 hours of RFC 9636 §3.3.1.
struct ZoneRule: Sendable, Equatable {
  /// A day of the year at which clocks change.
  enum Day: Sendable, Equatable {
    /// The days `J1` to `J365`; 29 February is never counted.
    case withoutLeapDay(Int)
    /// The days `0` to `365`.
    case fromZero(Int)
    /// A weekday in a month: `M3.5.0` is the last (5) Sunday (0) of March.
    case weekday(month: Int, week: Int, weekday: Int)

    /// Returns the days since 1970-01-01.
    func day(in year: Int) -> Int {
      let start = CalendarDate.day(year: year, month: 1, dayOfMonth: 1)
      switch self {
      case .withoutLeapDay(let day):
        return start + day - 1 + (day >= 60 && CalendarDate.isLeap(year) ? 1 : 0)
      case .fromZero(let day): return start + day
      case .weekday(let month, let week, let weekday):
        let first = CalendarDate.day(year: year, month: month, dayOfMonth: 1)
        let firstWeekday = (first + 4).dividedDown(by: 7).remainder  // 0 for Sunday, as in the rule
        let day = first + (weekday - firstWeekday + 7) % 7 + (week - 1) * 7
        return day < first + CalendarDate.days(ofMonth: month, year: year) ? day : day - 7
      }
    }
  }

  /// A change of the clocks: on a day, a number of seconds after midnight, by the clock until then.
  struct Change: Sendable, Equatable {
    let day: Day
    let seconds: Int
  }

  /// The standard offset in seconds ahead of UTC.
  let standard: Int
  /// The daylight-saving time, if any.
  let saving: Saving?

  struct Saving: Sendable, Equatable {
    /// The offset in seconds ahead of UTC.
    let offset: Int
    let begin: Change
    let end: Change
  }

  /// Returns the seconds ahead of UTC at a moment in seconds since the epoch.
  func offset(at seconds: Int) -> Int {
    guard let saving else { return standard }
    let day = (seconds + standard).dividedDown(by: 86_400).quotient
    let year = CalendarDate(day: day).components.year
    // The latest change up to the moment decides. If daylight-saving time ends and begins at once, it
    // continues.
    var latest = (moment: Int.min, offset: standard)
    for year in year - 1...year + 1 {
      let end = saving.end.day.day(in: year) * 86_400 + saving.end.seconds - saving.offset
      if end <= seconds, end > latest.moment { latest = (end, standard) }
      let begin = saving.begin.day.day(in: year) * 86_400 + saving.begin.seconds - standard
      if begin <= seconds, begin >= latest.moment { latest = (begin, saving.offset) }
    }
    return latest.offset
  }
}

extension ZoneRule {
  /// Parses a rule; nil if the text is not a rule.
  init?(parsing text: String) {
    var reader = TextReader(text)
    guard reader.skipZoneName(), let west = reader.clock(maximumHours: 24) else { return nil }
    standard = -west
    if reader.isAtEnd {
      saving = nil
      return
    }
    guard reader.skipZoneName() else { return nil }
    var offset = standard + 3600
    if reader.next != UInt8(ascii: ",") {
      guard let west = reader.clock(maximumHours: 24) else { return nil }
      offset = -west
    }
    guard reader.skip(","), let begin = reader.change(), reader.skip(","), let end = reader.change(),
      reader.isAtEnd
    else { return nil }
    saving = Saving(offset: offset, begin: begin, end: end)
  }
}

extension TextReader {
  /// Skips letters, or any text between `<` and `>`; at least three characters.
  fileprivate mutating func skipZoneName() -> Bool {
    if skip("<") {
      return run { $0 != UInt8(ascii: ">") }.utf8.count >= 3 && skip(">")
    }
    return run(where: isLetter).utf8.count >= 3
  }

  /// Reads the seconds of `[+-]hh[:mm[:ss]]`.
  fileprivate mutating func clock(maximumHours: Int) -> Int? {
    let isNegative = skip("-")
    if !isNegative { _ = skip("+") }
    guard let hours = number(below: maximumHours + 1) else { return nil }
    var seconds = hours * 3600
    for scale in [60, 1] where skip(":") {
      guard let part = number(below: 60) else { return nil }
      seconds += part * scale
    }
    return isNegative ? -seconds : seconds
  }

  /// Reads a number of one to three digits.
  private mutating func number(below limit: Int) -> Int? {
    let text = run(where: isDigit)
    guard (1...3).contains(text.utf8.count), let number = Int(text), number < limit else { return nil }
    return number
  }

  fileprivate mutating func change() -> ZoneRule.Change? {
    guard let day = changeDay() else { return nil }
    guard skip("/") else { return ZoneRule.Change(day: day, seconds: 7200) }
    return clock(maximumHours: 167).map { ZoneRule.Change(day: day, seconds: $0) }
  }

  private mutating func changeDay() -> ZoneRule.Day? {
    if skip("M") {
      guard let month = number(below: 13), month > 0, skip("."), let week = number(below: 6), week > 0,
        skip("."), let weekday = number(below: 7)
      else { return nil }
      return .weekday(month: month, week: week, weekday: weekday)
    }
    if skip("J") { return number(below: 366).flatMap { $0 > 0 ? .withoutLeapDay($0) : nil } }
    return number(below: 366).map { .fromZero($0) }
  }
}
