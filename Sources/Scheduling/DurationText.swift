public import EventLoop

/// Durations in the text form of scripts.
public enum DurationText {
  private static let units: [(name: String, nanoseconds: Int64)] = [
    ("d", 86_400_000_000_000), ("h", 3_600_000_000_000), ("m", 60_000_000_000), ("s", 1_000_000_000),
    ("ms", 1_000_000),
  ]
  private static let expected = "as in 90s, 5m, 1h30m, 250ms or 7d expected"

  /// Reads `"90s"`, `"1h30m"`, `"250ms"`, `"7d"`, `"1.5h"`: numbers with units from large to small.
  /// - Returns: the duration, not negative, truncated to nanoseconds.
  /// - Throws: `schedule.syntax`.
  public static func parse(_ text: String) throws(ScheduleError) -> Duration {
    func wrong(_ reason: String) -> ScheduleError {
      ScheduleError(.syntax, "\(quoted(text)) is not a duration: \(reason) (\(expected))")
    }
    var reader = TextReader(text)
    var total: Int64 = 0
    var nextUnit = 0
    if reader.isAtEnd { throw wrong("it is empty") }
    while !reader.isAtEnd {
      let whole = reader.run(where: isDigit)
      if whole.isEmpty { throw wrong("a number is missing") }
      let hasFraction = reader.skip(".")
      let fraction = hasFraction ? reader.run(where: isDigit) : ""
      if hasFraction && fraction.isEmpty { throw wrong("digits are missing after the point") }
      let hasBlank = reader.skip(" ")
      let name = reader.run(where: isLetter)
      if name.isEmpty { throw wrong("a unit is missing after \(whole)") }
      guard let unit = units.firstIndex(where: { $0.name == name }) else {
        throw ScheduleError(
          .syntax, "\(quoted(text)) is not a duration: unknown unit \(quoted(name)); use d, h, m, s, ms: 5m")
      }
      if hasBlank { throw wrong("the unit follows the number directly: \(whole)\(name)") }
      guard unit >= nextUnit else { throw wrong("units go from large to small, each once") }
      nextUnit = unit + 1
      guard let part = nanoseconds(whole, fraction, units[unit].nanoseconds) else {
        throw wrong("it is longer than 292 years")
      }
      let (sum, overflow) = total.addingReportingOverflow(part)
      if overflow { throw wrong("it is longer than 292 years") }
      total = sum
    }
    return .nanoseconds(total)
  }

  private static func nanoseconds(_ whole: String, _ fraction: String, _ unit: Int64) -> Int64? {
    guard let number = Int64(whole) else { return nil }
    let (product, overflow) = number.multipliedReportingOverflow(by: unit)
    if overflow { return nil }
    var (rest, scale): (Int64, Int64) = (0, 1)
    for digit in fraction.utf8.prefix(4) { (rest, scale) = (rest * 10 + Int64(digit - 0x30), scale * 10) }
    var part = rest * unit / scale
    // The part of four digits is exact in Int64 for a day; the rest is below 9 seconds.
    var place = unit / scale
    for digit in fraction.utf8.dropFirst(4) {
      place /= 10
      part += place * Int64(digit - 0x30)
    }
    let (sum, isTooLong) = product.addingReportingOverflow(part)
    return isTooLong ? nil : sum
  }

  /// Returns the duration as `1h30m` or `250ms`; nanoseconds below a millisecond are truncated.
  public static func describe(_ duration: Duration) -> String {
    let (seconds, attoseconds) = duration.components
    var rest = seconds.magnitude
    var text = duration < .zero ? "-" : ""
    for (name, length) in [("d", UInt64(86_400)), ("h", 3600), ("m", 60), ("s", 1)] {
      if rest >= length { text += "\(rest / length)\(name)" }
      rest %= length
    }
    let milliseconds = attoseconds.magnitude / 1_000_000_000_000_000
    if milliseconds > 0 { text += "\(milliseconds)ms" }
    return text.isEmpty || text == "-" ? "0s" : text
  }
}
