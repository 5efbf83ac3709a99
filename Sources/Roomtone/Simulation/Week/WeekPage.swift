internal import Home
internal import JSONText
internal import Scheduling

/// The picture of a simulated week as a page of HTML that needs nothing else: days down, hours across, a lane
/// per room. A simulated part of less than half a day is as wide as the page. A day that is the target of a
/// link is shown alone.
///
/// The page has no script. All of it is there when it is printed or read aloud, details appear on hover and focus
/// through CSS alone, and its policy forbids scripts, so that a name of a station that looks like one stays a name.
public struct WeekPage {
  let week: Week
  let axis: WeekAxis

  /// A page for a week.
  public init(_ week: Week) {
    self.week = week
    axis = WeekAxis(week)
  }

  /// The text of the file. The same week gives the same text.
  public var text: String {
    let policy: HTML = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    let page: HTML = """
      <!doctype html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta http-equiv="Content-Security-Policy" content="\(policy)">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">
      <meta name="referrer" content="no-referrer">
      <title>\(title), simulated</title>
      <style>
      \(Self.style)\(alone)</style>
      </head>
      <body>
      \(Self.symbols)
      \(head)
      <main>
      \(findings)
      \(glance)
      \(picture)
      \(events)
      </main>
      </body>
      </html>

      """
    return page.markup
  }

  // MARK: The head

  private var title: String { week.title.isEmpty ? "a script" : week.title }

  private var head: HTML {
    let figures = week.figures
    let tiles: [(label: HTML, value: HTML, symbol: HTML?, isShown: Bool, kind: HTML)] = [
      ("with sound", Self.duration(figures.soundingSeconds), nil, true, ""),
      ("job runs", "\(figures.runs)", Self.symbol(.run), true, ""),
      ("alarms", "\(figures.alarms)", Self.symbol(.alarm), figures.alarms > 0, ""),
      (
        "announcements", "\(figures.announcements)", Self.symbol(.announcement), figures.announcements > 0, ""
      ),
      ("recordings", "\(figures.recordings)", Self.recordingSymbol, figures.recordings > 0, ""),
      ("fallbacks", "\(figures.fallbacks)", Self.symbol(.fallback), figures.fallbacks > 0, ""),
      (
        "failures", "\(figures.failures)", Self.symbol(.failure), true,
        figures.failures > 0 ? " class=\"bad\"" : ""
      ),
      ("warnings", "\(figures.warnings)", Self.symbol(.warning), true, ""),
    ]
    let list = tiles.filter(\.isShown).map { tile -> HTML in
      "<div\(tile.kind)><dt>\(tile.symbol ?? "")\(tile.label)</dt><dd>\(tile.value)</dd></div>\n"
    }
    return """
      <header>
      <p class="kind">Simulation</p>
      <h1>\(Self.name(title))</h1>
      <p class="span">\(span)</p>
      <dl class="figures">
      \(list)</dl>
      </header>
      """
  }

  private var span: HTML {
    guard let first = week.days.first, let last = week.days.last else { return "" }
    let days: HTML = week.days.count == 1 ? "1 day" : "\(week.days.count) days"
    let dates: HTML =
      first == last
      ? "\(first.date.weekdayName) \(first.date.longText)"
      : "\(first.date.weekdayName) \(first.date.longText) to \(last.date.weekdayName) \(last.date.longText)"
    let end: HTML =
      week.isWhole ? "" : " · the script ended by itself on \(last.date.weekdayName) at \(clock(week.end))"
    return "\(dates) · \(days) · \(week.zone)\(end)"
  }

  // MARK: Findings

  private static let mostFindings = 20

  /// Entries with the same text, the first of which is shown.
  private struct Finding {
    let mark: WeekMarkKind
    let first: Int
    var count = 1
  }

  /// The failures, warnings and fallbacks, the most urgent first.
  private var found: [Finding] {
    struct Key: Hashable {
      let mark: WeekMarkKind
      let room, text: String
    }
    var findings: [Finding] = []
    var known: [Key: Int] = [:]
    for (index, entry) in week.entries.enumerated() {
      guard let mark = entry.mark, mark <= .fallback else { continue }
      let key = Key(mark: mark, room: entry.room, text: text(of: entry))
      if let place = known[key] {
        findings[place].count += 1
      } else {
        known[key] = findings.count
        findings.append(Finding(mark: mark, first: index))
      }
    }
    return findings.sorted { ($0.mark, $0.first) < ($1.mark, $1.first) }
  }

  /// The list of findings: failures, warnings, fallbacks, sources that were never heard, jobs without a run.
  private var findings: HTML {
    let found = found
    let notes = week.summary.filter { entry in
      switch entry.fact("about")?.text {
      case "sources": true
      case "job": entry.fact("runs")?.int == 0
      default: false
      }
    }
    guard !found.isEmpty || !notes.isEmpty else { return "" }
    var list = found.prefix(Self.mostFindings).map(item)
    if found.count > Self.mostFindings {
      list.append(
        "<li class=\"more\">and \(found.count - Self.mostFindings) more, among the events below</li>\n")
    }
    list += notes.prefix(Self.mostFindings).map {
      "<li>\(Self.symbol(.note))<bdi>\(text(of: $0))</bdi></li>\n"
    }
    if notes.count > Self.mostFindings {
      list.append("<li class=\"more\">and \(notes.count - Self.mostFindings) more of that kind</li>\n")
    }
    return """
      <section class="findings" aria-labelledby="findings">
      <h2 id="findings">Worth a look</h2>
      <ol>
      \(list)</ol>
      </section>
      """
  }

  private func item(_ finding: Finding) -> HTML {
    let entry = week.entries[finding.first]
    let room: HTML = entry.room.isEmpty ? "" : "<b>\(Self.name(entry.room))</b> "
    let times: HTML = finding.count > 1 ? " <span class=\"times\">\(finding.count) times</span>" : ""
    return """
      <li>\(Self.symbol(finding.mark))<span class="sr">\(finding.mark.label): </span>\
      <a href="#\(anchor(finding.first))">\(week.time(of: entry).date.weekdayName) \(week.clock(of: entry))</a> \
      \(room)<bdi>\(text(of: entry))</bdi>\(times)</li>

      """
  }

  /// Returns the identifier of the row of an entry, or of its day's list when that leaves the entry out.
  func anchor(_ index: Int) -> HTML {
    guard let day = week.days.last(where: { $0.start <= week.entries[index].moment }),
      index - week.entries(of: day).lowerBound >= Self.mostRows
    else { return "e\(index)" }
    return "l\(day.date.day)"
  }

  // MARK: Texts

  /// Returns the text of an entry without the `!` or `?` of a line, in whose place it has a symbol.
  func text(of entry: JournalEntry) -> String {
    JournalText(zone: week.clocks, now: entry.at).text(entry)
  }

  /// Returns text of a script or a station, which may be written from right to left.
  static func name(_ text: String) -> HTML { "<bdi>\(text)</bdi>" }

  /// Returns a time span as `1 h 5 min`.
  static func duration(_ seconds: Int) -> HTML {
    if seconds < 60 { return "\(seconds) s" }
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60)
    if hours == 0 { return "\(minutes) min" }
    return minutes == 0 ? "\(hours) h" : "\(hours) h \(minutes) min"
  }

  /// Returns a moment as the clocks show it: `06:45`, with seconds unless they are 0; `24:00` for the end of a day.
  func clock(_ moment: Int) -> HTML {
    guard let day = week.days.last(where: { $0.start <= moment }) else { return "" }
    if moment >= day.end { return "24:00" }
    var shown = moment - (day.hours.first?.moment ?? day.start) + (day.hours.first?.hour ?? 0) * 3600
    if let change = day.change, moment >= change.moment { shown += change.seconds }
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let seconds = shown % 60 == 0 ? "" : ":\(two(shown % 60))"
    return "\(two(shown / 3600)):\(two(shown / 60 % 60))\(seconds)"
  }

  static func symbol(_ kind: WeekMarkKind) -> HTML {
    "<svg class=\"i \(verbatim: kind.name)\" viewBox=\"0 0 16 16\" aria-hidden=\"true\"><use href=\"#\(verbatim: kind.name)\"/></svg>"
  }

  static let recordingSymbol: HTML =
    "<svg class=\"i recording\" viewBox=\"0 0 16 16\" aria-hidden=\"true\"><use href=\"#recording\"/></svg>"
}

extension WeekMarkKind {
  /// The name in identifiers and classes of the page.
  var name: String { "\(self)" }

  /// The name for readers.
  var label: String {
    switch self {
    case .failure: "failure"
    case .warning: "warning"
    case .fallback: "another source instead"
    case .alarm: "alarm"
    case .announcement: "announcement"
    case .trigger: "trigger"
    case .run: "job run"
    case .setting: "setting"
    case .note: "printed or logged"
    }
  }
}
