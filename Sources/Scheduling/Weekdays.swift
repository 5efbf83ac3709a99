public import EventLoop

/// A set of days of the week, at least one: `mon-fri`.
public struct Weekdays: Sendable, Hashable, CustomStringConvertible {
  /// Bit 0 for Monday to bit 6 for Sunday.
  private let bits: UInt8

  /// The set of all seven days.
  public static let all = Weekdays(bits: 0b111_1111)

  private static let names = [
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
  ]

  private init(bits: UInt8) { self.bits = bits }

  /// Parses days and ranges between commas, `"mon-wed,fri"`, in any case, in short or in full. Ranges wrap
  /// around the end of the week: `"fri-mon"`. `"daily"`, `"weekdays"` and `"weekends"` are sets of their own.
  /// - Throws: `schedule.syntax`.
  public init(parsing text: String) throws(ScheduleError) {
    var bits: UInt8 = 0
    for part in text.lowercased().split(separator: ",", omittingEmptySubsequences: false) {
      let part = part.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()
      let ends = String(part).split(separator: "-", omittingEmptySubsequences: false)
      switch ends.count {
      case 1:
        guard let named = Self.named(ends[0]) else { throw Self.error(text, String(part)) }
        bits |= named
      case 2:
        guard let first = Self.number(ends[0]), let last = Self.number(ends[1]) else {
          throw Self.error(text, String(part))
        }
        for day in first...(last < first ? last + 7 : last) { bits |= 1 << (day % 7) }
      default: throw Self.error(text, String(part))
      }
    }
    self.bits = bits
  }

  private static func error(_ text: String, _ part: String) -> ScheduleError {
    let found = part == text ? quoted(text) : "\(quoted(part)) in \(quoted(text))"
    return ScheduleError(
      .syntax, "\(found) names no day of the week (mon to sun expected)",
      hint: "write mon-fri or sat,sun, or daily, weekdays or weekends")
  }

  private static func number(_ name: Substring) -> Int? {
    names.firstIndex { $0 == name || $0.prefix(3) == name }
  }

  private static func named(_ name: Substring) -> UInt8? {
    switch name {
    case "daily": 0b111_1111
    case "weekdays": 0b001_1111
    case "weekends": 0b110_0000
    default: number(name).map { 1 << $0 }
    }
  }

  /// `true` if the set contains a day, 0 for Monday to 6 for Sunday.
  public func contains(_ weekday: Int) -> Bool { (0..<7).contains(weekday) && bits >> weekday & 1 == 1 }

  /// The set as `daily`, or as days and ranges from Monday on: `mon-wed,fri`.
  public var description: String {
    if self == .all { return "daily" }
    var parts: [String] = []
    var day = 0
    while day < 7 {
      guard contains(day) else {
        day += 1
        continue
      }
      let first = day
      while contains(day + 1) { day += 1 }
      let (from, to) = (Self.names[first].prefix(3), Self.names[day].prefix(3))
      parts += day == first ? [String(from)] : day == first + 1 ? ["\(from),\(to)"] : ["\(from)-\(to)"]
      day += 1
    }
    return parts.joined(separator: ",")
  }
}
