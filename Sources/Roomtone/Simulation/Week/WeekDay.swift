internal import EventLoop
internal import Home
public import Scheduling

/// A day on the clocks of a zone, from one midnight to the next: 23 or 25 hours long where the clocks are changed.
/// Moments are seconds since the epoch.
public struct WeekDay: Sendable, Equatable {
  /// A full hour on the clocks. The day on which they are put back has an hour twice, the one on which they are put
  /// forward lacks one.
  public struct Hour: Sendable, Equatable {
    /// The moment at which it begins.
    public let moment: Int
    /// The hour that the clocks show, 0 to 23.
    public let hour: Int
  }

  /// A change of the clocks.
  public struct ClockChange: Sendable, Equatable {
    /// The first moment after it.
    public let moment: Int
    /// The seconds by which the clocks are put forward, negative for back.
    public let seconds: Int
  }

  /// The date.
  public let date: CalendarDate
  /// The first moment of the day.
  public let start: Int
  /// The first moment of the next day.
  public let end: Int
  /// The full hours, in order.
  public let hours: [Hour]
  /// The change of the clocks during the day; nil without one.
  public let change: ClockChange?

  /// The length in seconds.
  public var length: Int { end - start }

  /// The day `date` of a zone; nil for a date that the zone's clocks never showed.
  public init?(_ date: CalendarDate, in zone: any LocalZone) {
    let start = Self.midnight(date, in: zone)
    let end = Self.midnight(date.advanced(by: 1), in: zone)
    guard start < end else { return nil }
    let before = zone.offset(at: start)
    var change: ClockChange?
    if zone.offset(at: end - 1) != before {
      let moment = zone.change(after: start, until: end - 1)
      change = ClockChange(moment: moment, seconds: zone.offset(at: moment) - before)
    }
    // Offsets are whole quarters of an hour.
    let hours = stride(from: start, to: end, by: 900).compactMap { moment -> Hour? in
      let shown = moment + zone.offset(at: moment) - date.day * 86_400
      return shown % 3600 == 0 ? Hour(moment: moment, hour: shown / 3600 % 24) : nil
    }
    (self.date, self.start, self.end, self.hours, self.change) = (date, start, end, hours, change)
  }

  /// Returns the days of a zone that have a moment in `start..<end`; for an empty range the day of `start`.
  public static func days(from start: Int, to end: Int, in zone: any LocalZone) -> [WeekDay] {
    let first = zone.local(WallTime(seconds: Int64(start))).date
    let last = zone.local(WallTime(seconds: Int64(max(start, end - 1)))).date
    return (first.day...max(first.day, last.day)).compactMap { WeekDay(CalendarDate(day: $0), in: zone) }
  }

  private static func midnight(_ date: CalendarDate, in zone: any LocalZone) -> Int {
    Int(zone.match(LocalDateTime(date, .midnight)).moment.seconds)
  }
}

extension CalendarDate {
  private static let weekdays = [
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
  ]
  private static let months = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
  ]

  /// The name of the day of the week: `Monday`.
  var weekdayName: String { Self.weekdays[weekday] }
  /// The date with the name of its month: `5 January 2026`.
  var longText: String {
    let (year, month, dayOfMonth) = components
    return "\(dayOfMonth) \(Self.months[month - 1]) \(year)"
  }
}

extension Week {
  /// Returns the local time of an entry.
  func time(of entry: JournalEntry) -> LocalDateTime { clocks.local(entry.at) }

  /// Returns the time of day of an entry with its seconds: `06:45:00`.
  func clock(of entry: JournalEntry) -> String {
    let seconds = time(of: entry).time.seconds
    return [seconds / 3600, seconds / 60 % 60, seconds % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }
      .joined(separator: ":")
  }
}
