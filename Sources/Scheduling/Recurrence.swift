public import EventLoop

/// A schedule by the clocks of a zone: a value without a clock of its own.
///
/// When clocks change, a time that they skip counts right after the gap, and a time that they show twice
/// counts once, as in Debian's cron.
public enum Recurrence: Sendable, Hashable, CustomStringConvertible {
  /// A single date and time.
  case once(LocalDateTime)
  /// A time on each of these days.
  case daily(TimeOfDay, Weekdays)
  /// An interval. Aligned: runs whenever the clock shows a multiple of it since midnight.
  case every(Duration, aligned: Bool)
  /// The minutes of a line of a crontab.
  case cron(CronExpression)
  /// A time by the sun on each of these days that has such a time.
  case sun(SunTime, Weekdays, Location)

  /// Parses the argument of `schedule.at`: a time of day by the clock or the sun, once or on certain days, or
  /// a date and time.
  ///
  /// A time of day without days means its next occurrence: today, or tomorrow if it has passed.
  /// - Parameters:
  ///   - location: the point at which the sun is seen.
  ///   - acceptsPast: `true` for a date that may have passed.
  /// - Throws: `schedule.syntax`; `schedule.past` for a date that has passed; `schedule.location` for a time
  ///   by the sun without a location.
  public static func at(
    _ text: String, days: String? = nil, now: WallTime, in zone: any LocalZone, location: Location? = nil,
    acceptsPast: Bool = false
  ) throws(ScheduleError) -> Recurrence {
    if SunTime.isMeant(by: text) {
      return try bySun(SunTime(parsing: text), days: days, now: now, in: zone, location)
    }
    // A text that begins like a date is parsed as one, so that the error is about dates.
    if text.utf8.prefix(5).last == UInt8(ascii: "-") {
      let moment = try LocalDateTime(parsing: text)
      if days != nil {
        throw ScheduleError(
          .syntax, "\(quoted(text)) is a date, and days of the week do not go with it",
          hint: "give a time of day with days, or a date without")
      }
      let once = Recurrence.once(moment)
      if !acceptsPast, once.next(after: now, in: zone) == nil { throw past(moment, now: now, in: zone) }
      return once
    }
    guard text.utf8.first.map({ (0x30...0x39).contains($0) }) == true else {
      throw ScheduleError(
        .syntax, "\(quoted(text)) is not a time; use 06:45, sunset-20m or 2026-12-24 18:00")
    }
    let time = try TimeOfDay(parsing: text)
    if let days { return .daily(time, try Weekdays(parsing: days)) }
    let today = LocalDateTime(zone.local(now).date, time)
    let tomorrow = LocalDateTime(today.date.advanced(by: 1), time)
    return .once(zone.match(today).moment > now ? today : tomorrow)
  }

  private static func bySun(
    _ time: SunTime, days: String?, now: WallTime, in zone: any LocalZone, _ location: Location?
  ) throws(ScheduleError) -> Recurrence {
    guard let location else {
      throw ScheduleError(
        .location, "\(quoted("\(time)")) needs a location",
        hint: "write location { latitude = 52.5, longitude = 13.4 } with yours into the configuration")
    }
    let days = try days.map { text throws(ScheduleError) in try Weekdays(parsing: text) }
    guard let next = time.next(after: now, on: days ?? .all, at: location, in: zone) else {
      throw ScheduleError(.syntax, "there is no \(time.event.rawValue) at \(location) in the coming year")
    }
    return days.map { .sun(time, $0, location) } ?? .once(zone.local(next))
  }

  static func past(_ moment: LocalDateTime, now: WallTime, in zone: any LocalZone) -> ScheduleError {
    ScheduleError(.past, "\(moment) has passed", hint: "it is \(zone.local(now)) now")
  }

  /// Returns the first moment after `moment`, nil if no moment follows.
  public func next(after moment: WallTime, in zone: any LocalZone) -> WallTime? {
    switch self {
    case .once(let local):
      let due = zone.match(local).moment
      return due > moment ? due : nil
    case .daily(let time, let days):
      let today = zone.local(moment).date
      for date in (0...8).map(today.advanced) where days.contains(date.weekday) {
        let due = zone.match(LocalDateTime(date, time)).moment
        if due > moment { return due }
      }
      return nil
    case .every(let distance, aligned: false):
      return distance > .zero ? moment.advanced(by: distance) : nil
    case .every(let distance, aligned: true):
      let seconds = Int(distance.components.seconds)
      return seconds > 0 ? Self.nextMark(after: moment, every: seconds, in: zone) : nil
    case .cron(let expression): return expression.next(after: moment, in: zone)
    case .sun(let time, let days, let location):
      return time.next(after: moment, on: days, at: location, in: zone)
    }
  }

  /// Returns the last moment up to `now`, after a first one that is known to be before it.
  func last(upTo now: WallTime, from first: WallTime, in zone: any LocalZone) -> WallTime {
    // The search starts near `now`, so that the minutes of a year need not be counted.
    var last = first
    for distance in [3_600, 86_400, 8 * 86_400, 32 * 86_400, 400 * 86_400] {
      let start = now.advanced(by: .seconds(-distance))
      guard start > first, let due = next(after: start, in: zone), due <= now else { continue }
      last = due
      break
    }
    while let due = next(after: last, in: zone), due <= now { last = due }
    return last
  }

  /// Returns the first moment after `moment` at which the clock shows a multiple of `distance` seconds since
  /// midnight.
  /// When clocks are put back by at least `distance`, marks count both times, so that the distance is kept;
  /// when by less, they count once.
  /// by less, once.
  private static func nextMark(
    after moment: WallTime, every distance: Int, in zone: any LocalZone
  ) -> WallTime? {
    let now = Int(moment.seconds)
    var mark = self.mark(after: now + zone.offset(at: now), every: distance)
    for _ in 0..<100 {
      switch zone.match(LocalDateTime(clockSeconds: mark)) {
      case .once(let due), .skipped(let due):
        if due > moment {
          return repeatedMark(after: now, before: Int(due.seconds), every: distance, in: zone) ?? due
        }
      case .twice(let first, let second):
        if first > moment { return first }
        let isKept = first.duration(to: second) >= .seconds(distance)
        if isKept && second > moment { return second }
      }
      mark = self.mark(after: mark, every: distance)
    }
    return nil
  }

  /// Returns a mark between two moments that the clock shows for the second time, because it is put back
  /// there.
  private static func repeatedMark(
    after now: Int, before due: Int, every distance: Int, in zone: any LocalZone
  ) -> WallTime? {
    var begin = now
    while begin < due {
      let end = min(begin + 3600, due)
      let (before, after) = (zone.offset(at: begin), zone.offset(at: end))
      if before - after >= distance {
        let change = zone.change(after: begin, until: end)
        let repeated = change + mark(after: change + after - 1, every: distance) - (change + after)
        if repeated > now, repeated < due { return WallTime(seconds: Int64(repeated)) }
      }
      begin = end
    }
    return nil
  }

  /// Returns the first multiple of `distance` since midnight after `shown`, or the next midnight.
  private static func mark(after shown: Int, every distance: Int) -> Int {
    let (day, seconds) = shown.dividedDown(by: 86_400)
    return day * 86_400 + min((seconds / distance + 1) * distance, 86_400)
  }

  /// The schedule as `at 06:45 mon-fri`, `at 2026-12-24 18:00`, `every 15m`, `cron 30 6 * * 1-5`.
  public var description: String {
    switch self {
    case .once(let local): "at \(local)"
    case .daily(let time, let days): "at \(time) \(days)"
    case .every(let distance, _): "every \(DurationText.describe(distance))"
    case .cron(let expression): "cron \(expression)"
    case .sun(let time, let days, _): "at \(time) \(days)"
    }
  }

  /// Throws for an interval that could never run, or would run without end.
  func validate() throws(ScheduleError) {
    guard case .every(let distance, let isAligned) = self else { return }
    let text = DurationText.describe(distance)
    if distance < .milliseconds(1) {
      throw ScheduleError(.syntax, "an interval of \(text) is too short (1ms or more expected)")
    }
    if isAligned, distance > .seconds(86_400) || distance.components.attoseconds != 0 {
      throw ScheduleError(
        .syntax, "an interval of \(text) cannot be aligned (whole seconds up to 24h expected)",
        hint: "leave the alignment out")
    }
  }
}
