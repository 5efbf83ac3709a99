internal import Home
internal import Scheduling

/// The picture: a strip per day, in which a lane has areas as high as the volume, bars of recordings, and marks.
extension WeekPage {
  /// Distances in seconds between marks, for windows of a class of width: about the width of a symbol.
  private static let distances: [(width: String, seconds: Int)] = [
    ("w", 15 * 60), ("m", 35 * 60), ("n", 105 * 60),
  ]
  private static let fullVolume = 50

  var picture: HTML {
    """
    <section class="week" aria-labelledby="week">
    <h2 id="week">\(week.days.count > 1 ? "Day by day" : "The day")</h2>
    <p class="back"><a href="#week">All days</a></p>
    \(legend)
    \(week.days.map(strip))</section>
    """
  }

  private var legend: HTML {
    let kinds = Set(week.entries.compactMap(\.mark))
    var styles = Set(week.days.flatMap { week.rows(of: $0) }.flatMap(\.bars).map(\.style))
    styles.insert(.music)
    let areas: [(WeekBar.Style, HTML)] = [
      (.music, "music, as high as its volume (0 to 50)"), (.alarm, "alarm"),
      (.announcement, "announcement"), (.interruption, "interruption"), (.recording, "recording"),
    ]
    // An area and its mark share one line.
    let marks: [WeekBar.Style: WeekMarkKind] = [.alarm: .alarm, .announcement: .announcement]
    let shown = styles.compactMap { marks[$0] }
    let items =
      areas.filter { styles.contains($0.0) }.map { style, label -> HTML in
        let mark = marks[style].flatMap { kinds.contains($0) ? $0 : nil }
        return
          "<li><span class=\"key \(verbatim: style.rawValue)\"></span>\(mark.map(Self.symbol) ?? "")\(label)</li>\n"
      }
      + WeekMarkKind.allCases.filter { kinds.contains($0) && !shown.contains($0) }.map { kind -> HTML in
        "<li>\(Self.symbol(kind))\(kind.label)</li>\n"
      }
    return "<ul class=\"legend\" aria-label=\"Legend\">\n\(items)</ul>"
  }

  // MARK: Days

  private func strip(_ day: WeekDay) -> HTML {
    let rows = week.rows(of: day)
    let title: HTML =
      "<h3 id=\"d\(day.date.day)\">\(day.date.weekdayName) <span>\(day.date.longText)</span></h3>"
    let change: HTML = day.change.map { "<p class=\"change\">\(text(of: $0))</p>" } ?? ""
    guard !rows.isEmpty else {
      return """
        <article class="day empty" id="a\(day.date.day)" aria-labelledby="d\(day.date.day)">
        <div class="top">\(title)<p class="sum">nothing happens</p>\(change)</div>
        </article>

        """
    }
    return """
      <article class="day" id="a\(day.date.day)" aria-labelledby="d\(day.date.day)">
      <div class="top">\(title)<p class="sum">\(sum(of: day))</p>\(change)</div>
      <div class="lanes">
      <div class="axis" aria-hidden="true">\(clocks(of: day))</div>
      \(rows.map { lane($0, on: day) })</div>
      </article>

      """
  }

  private func text(of change: WeekDay.ClockChange) -> HTML {
    let (before, after) = (clock(change.moment - 1), clock(change.moment))
    return
      "The clocks are put \(verbatim: change.seconds > 0 ? "forward" : "back") by \(Self.duration(abs(change.seconds))): \(before) is followed by \(after)."
  }

  /// The figures of a day in words.
  private func sum(of day: WeekDay) -> HTML {
    let figures = week.figures(of: day)
    var parts: [HTML] = []
    func add(_ count: Int, _ one: String, _ many: String) {
      if count > 0 { parts.append("\(count) \(count == 1 ? one : many)") }
    }
    if figures.soundingSeconds > 0 { parts.append("\(Self.duration(figures.soundingSeconds)) with sound") }
    add(figures.alarms, "alarm", "alarms")
    add(figures.announcements, "announcement", "announcements")
    add(figures.recordings, "recording", "recordings")
    add(figures.runs, "job run", "job runs")
    add(figures.fallbacks, "fallback", "fallbacks")
    add(figures.failures, "failure", "failures")
    add(figures.warnings, "warning", "warnings")
    return HTML(parts.enumerated().map { $0 == 0 ? $1 : " · \($1)" })
  }

  private func x(_ moment: Int, _ day: WeekDay) -> HTML {
    .percent(min(max(moment, axis.begin(of: day)), day.end) - axis.begin(of: day), of: axis.length)
  }

  /// The times at the lines: hours, or times of day on the axis of a part.
  private func clocks(of day: WeekDay) -> HTML {
    HTML(
      axis.ticks(of: day).map { tick -> HTML in
        let kind: HTML = tick.isMinor ? " class=\"h3\"" : ""
        let hour = day.hours.last { $0.moment <= tick.moment }?.hour ?? 0
        let text: HTML =
          axis.step == nil ? "\(verbatim: hour < 10 ? "0" : "")\(hour)" : clock(tick.moment)
        return "<span\(kind) style=\"left:\(x(tick.moment, day))\">\(text)</span>"
      })
  }

  private func lane(_ row: Week.Row, on day: WeekDay) -> HTML {
    let kind: HTML = row.bars.isEmpty ? "lane flat" : row.marks.isEmpty ? "lane" : "lane both"
    let bars = row.bars.map { bar(in: row.lane, $0, on: day) }
    return """
      <div class="\(kind)"><div class="name" title="\(row.lane.name)">\(Self.name(row.lane.name))</div>
      <div class="track">\(grid(of: day))\(bars)\(marks(row, on: day))</div></div>

      """
  }

  /// The hours as lines, the areas of the lane's bars, and the times that were not simulated.
  private func grid(of day: WeekDay) -> HTML {
    var pieces = axis.ticks(of: day).map { tick -> HTML in
      let kind: HTML = tick.isMinor ? "g" : "g g6"
      return "<i class=\"\(kind)\" style=\"left:\(x(tick.moment, day))\"></i>"
    }
    if let change = day.change {
      pieces.append("<i class=\"g gc\" style=\"left:\(x(change.moment, day))\"></i>")
    }
    let begin = axis.begin(of: day)
    for (start, end) in [(day.start, week.start), (week.end, day.end), (day.end, begin + axis.length)] {
      let (first, last) = (max(start, begin), min(end, begin + axis.length))
      guard first < last else { continue }
      let width = HTML.percent(last - first, of: axis.length)
      let left = HTML.percent(first - begin, of: axis.length)
      let kind: HTML = start == day.end ? "none" : "out"
      pieces.append("<i class=\"\(kind)\" style=\"left:\(left);width:\(width)\"></i>")
    }
    return HTML(pieces)
  }

  // MARK: Bars

  private func bar(in lane: Week.Lane, _ bar: WeekBar, on day: WeekDay) -> HTML {
    let (start, end) = (max(bar.start, day.start), min(bar.end, day.end))
    let width = end - start
    // The widths of windows in which it is long enough for its title.
    let sizes: [(seconds: Int, name: HTML)] = [(6 * 3600, "n"), (2 * 3600, "m"), (3600, "w")]
    let size = sizes.first { width >= axis.share($0.seconds) }?.name
    let volumes = volumes(of: bar)
    let label: HTML =
      size.map { "<span class=\"l \($0)\" aria-hidden=\"true\"><bdi>\(bar.title)</bdi></span>" } ?? ""
    let side: HTML = start - axis.begin(of: day) > axis.length / 2 ? " r" : ""
    return """
      <a class="b \(verbatim: bar.style.rawValue)\(side)" href="#\(target(of: bar, in: lane, on: day))" \
      style="left:\(x(start, day));width:\(HTML.percent(width, of: axis.length))">\(area(bar, start, end))\(label)\
      <span class="tip"><b><bdi>\(bar.title)</bdi></b><span>\(lane.name), \(clock(bar.start, near: day)) to \
      \(clock(bar.end, near: day)), \(Self.duration(bar.end - bar.start))</span>\(volumes)</span></a>
      """
  }

  /// Returns a moment, with the day of the week if it is on another day.
  private func clock(_ moment: Int, near day: WeekDay) -> HTML {
    if (day.start...day.end).contains(moment) { return moment == day.end ? "24:00" : clock(moment) }
    let other = week.days.last { $0.start <= moment } ?? day
    return "\(other.date.weekdayName) \(clock(moment))"
  }

  /// The first, the highest or lowest, and the last volume.
  private func volumes(of bar: WeekBar) -> HTML {
    let all = bar.levels.map(\.volume)
    guard let first = all.first, let last = all.last, let most = all.max(), let least = all.min() else {
      return ""
    }
    var steps = [first]
    if most > max(first, last) { steps.append(most) } else if least < min(first, last) { steps.append(least) }
    if steps != [last] { steps.append(last) }
    return "<span>volume \(steps.map(String.init).joined(separator: " → "))</span>"
  }

  /// The area below the volume, in an image that is stretched to the bar: a second across, a step of volume down.
  private func area(_ bar: WeekBar, _ start: Int, _ end: Int) -> HTML {
    guard !bar.levels.isEmpty else { return "" }
    var path = ""
    var last: (moment: Int, volume: Int)?
    // On the axis of a whole day, the highest volume of each minute is drawn for the whole minute.
    let grain = axis.share(60)
    for level in bar.levels where level.moment < end {
      let moment = max(start, level.moment - (level.moment - start) % grain)
      if let before = last, before.moment == moment, level.moment > start {
        guard level.volume > before.volume else { continue }
      }
      last = (moment, level.volume)
      path += "H\(moment - start)V\(Self.fullVolume - min(level.volume, Self.fullVolume))"
    }
    return """
      <svg viewBox="0 0 \(max(1, end - start)) \(Self.fullVolume)" preserveAspectRatio="none" aria-hidden="true">\
      <path d="M0 \(Self.fullVolume)\(verbatim: path)H\(max(1, end - start))V\(Self.fullVolume)Z"/></svg>
      """
  }

  /// Returns the identifier of the entry at which a bar begins, else of the day.
  private func target(of bar: WeekBar, in lane: Week.Lane, on day: WeekDay) -> HTML {
    let range = max(week.index(at: bar.start), week.entries(of: day).lowerBound)..<week.index(at: day.end)
    let found = range.first { week.places[$0].contains(lane.place) }
    return found.map(anchor) ?? "d\(day.date.day)"
  }

  // MARK: Marks

  private func marks(_ row: Week.Row, on day: WeekDay) -> HTML {
    var sets: [(classes: String, distance: Int, marks: [WeekMark])] = []
    for (width, seconds) in Self.distances {
      let seconds = axis.share(seconds)
      let marks = WeekMark.merged(row.marks, distance: seconds)
      if let last = sets.last, last.marks == marks {
        sets[sets.count - 1].classes += " \(width)"
        sets[sets.count - 1].distance = seconds
      } else {
        sets.append((width, seconds, marks))
      }
    }
    return HTML(
      sets.flatMap { set in
        set.marks.indices.map { index -> HTML in
          let next = index + 1 < set.marks.count ? set.marks[index + 1].moment : .max
          let hasRoom = next - set.marks[index].moment >= 2 * set.distance
          return mark(set.marks[index], set.classes, counts: hasRoom, on: day)
        }
      })
  }

  private static let mostLines = 8

  /// - Parameter counts: `true` if there is room for the number of entries.
  private func mark(_ mark: WeekMark, _ classes: String, counts: Bool, on day: WeekDay) -> HTML {
    var lines = mark.entries.prefix(Self.mostLines).map { index -> HTML in
      let entry = week.entries[index]
      return "<span><b>\(week.clock(of: entry))</b> <bdi>\(Self.shortened(text(of: entry)))</bdi></span>"
    }
    if mark.entries.count > Self.mostLines {
      lines.append("<span>and \(mark.entries.count - Self.mostLines) more</span>")
    }
    let side: HTML = mark.moment - axis.begin(of: day) > axis.length / 2 ? " r" : ""
    let count: HTML = counts && mark.entries.count > 1 ? "<em>\(mark.entries.count)</em>" : ""
    return """
      <a class="k \(verbatim: classes)\(side)" href="#\(anchor(mark.entries[0]))" style="left:\(x(mark.moment, day))">\
      \(Self.symbol(mark.kind))\(count)<span class="tip"><b class="sr">\(mark.kind.label)</b>\(lines)</span></a>
      """
  }

  /// Returns a text for a box: at most 160 characters.
  private static func shortened(_ text: String) -> String {
    text.count > 160 ? text.prefix(159) + "…" : text
  }
}
