/// The scale of the days of a page, the same for all of them: of a whole day, or of the simulated part where
/// that is less than half a day. Moments are seconds since the epoch.
struct WeekAxis: Sendable, Equatable {
  /// A line of the axis.
  struct Tick: Sendable, Equatable {
    let moment: Int
    /// `true` for every other one, which narrow windows leave out.
    let isMinor: Bool
  }

  /// The length of a simulated part of a day up to which it is as wide as the page.
  private static let longestPart = 12 * 3600
  /// The most lines of a part.
  private static let mostTicks = 10
  /// Distances between lines in seconds.
  private static let steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200]

  /// The length in seconds.
  let length: Int
  /// The distance between lines in seconds, for parts of days; nil for whole days, with a line at every third hour.
  let step: Int?
  private let start: Int

  /// The axis of a week.
  init(_ week: Week) {
    start = week.start
    let parts = week.days.map { ($0, max(0, min($0.end, week.end) - max($0.start, week.start))) }
    let longest = parts.map(\.1).max() ?? 0
    guard longest > 0, longest <= Self.longestPart,
      let step = Self.steps.first(where: { longest / $0 <= Self.mostTicks })
    else {
      (length, self.step) = (week.days.map(\.length).max() ?? 86_400, nil)
      return
    }
    self.step = step
    let first = week.start
    length =
      week.days.map { day in
        let begin = Self.begin(of: day, first, step)
        return max(1, (min(day.end, week.end) - begin + step - 1) / step) * step
      }.max() ?? step
  }

  private static func begin(of day: WeekDay, _ start: Int, _ step: Int) -> Int {
    let first = max(day.start, min(start, day.end))
    return first - (first - day.start) % step
  }

  /// Returns the moment at the left end of a day.
  func begin(of day: WeekDay) -> Int { step.map { Self.begin(of: day, start, $0) } ?? day.start }

  /// Returns seconds of a whole day as seconds on this axis with the same width.
  func share(_ seconds: Int) -> Int { step == nil ? seconds : max(1, seconds * length / 86_400) }

  /// Returns the lines of a day.
  func ticks(of day: WeekDay) -> [Tick] {
    guard let step else {
      return day.hours.filter { $0.hour % 3 == 0 }.map { Tick(moment: $0.moment, isMinor: $0.hour % 6 != 0) }
    }
    let begin = begin(of: day)
    return stride(from: begin, to: min(begin + length, day.end), by: step).enumerated().map {
      Tick(moment: $1, isMinor: $0 % 2 == 1)
    }
  }
}
