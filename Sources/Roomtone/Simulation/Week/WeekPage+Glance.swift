internal import Scheduling

/// The week at a glance: a line per day, which leads to the day alone.
extension WeekPage {
  /// The styles of bars in the order in which they are drawn, the last on top.
  private static let layers: [WeekBar.Style] = [.recording, .music, .interruption, .announcement, .alarm]

  var glance: HTML {
    guard week.days.count > 1 else { return "" }
    return """
      <nav class="glance" aria-labelledby="glance">
      <h2 id="glance">At a glance</h2>
      <ol>
      \(week.days.map(line))</ol>
      </nav>
      """
  }

  private func line(_ day: WeekDay) -> HTML {
    let bars = week.rows(of: day).flatMap(\.bars)
    let pieces = Self.layers.flatMap { style in
      Self.joined(bars.filter { $0.style == style }).map { start, end -> HTML in
        let (first, last) = (max(start, axis.begin(of: day)), min(end, day.end))
        let left = HTML.percent(first - axis.begin(of: day), of: axis.length)
        let width = HTML.percent(max(0, last - first), of: axis.length)
        return "<i class=\"\(verbatim: style.rawValue)\" style=\"left:\(left);width:\(width)\"></i>"
      }
    }
    let figures = week.figures(of: day)
    let failures: HTML = figures.failures > 0 ? "\(Self.symbol(.failure))<b>\(figures.failures)</b>" : ""
    let warnings: HTML = figures.warnings > 0 ? "\(Self.symbol(.warning))<b>\(figures.warnings)</b>" : ""
    let sound: HTML =
      figures.soundingSeconds > 0 ? Self.duration(figures.soundingSeconds) : "silent"
    return """
      <li><a href="#a\(day.date.day)"><span class="on">\(day.date.weekdayName) <small>\(day.date.longText)</small></span>\
      <span class="strip" aria-hidden="true">\(pieces)</span><span class="of">\(sound)\(failures)\(warnings)</span></a></li>

      """
  }

  /// Returns the times in which at least one of the bars is there.
  private static func joined(_ bars: [WeekBar]) -> [(start: Int, end: Int)] {
    var spans: [(start: Int, end: Int)] = []
    for bar in bars.sorted(by: { ($0.start, $0.end) < ($1.start, $1.end) }) {
      if let last = spans.last, bar.start <= last.end {
        spans[spans.count - 1].end = max(last.end, bar.end)
      } else {
        spans.append((bar.start, bar.end))
      }
    }
    return spans
  }

  /// The rules by which a day is alone when it is the target: its picture, larger, and its events.
  var alone: HTML {
    guard week.days.count > 1 else { return "" }
    return HTML(
      week.days.map { day -> HTML in
        "body:has(#a\(day.date.day):target) details:not(#l\(day.date.day)){display:none}\n"
      })
  }
}
