internal import Home
internal import Scheduling

/// The events as tables, a day each: all that the picture shows, in words.
extension WeekPage {
  /// The number of rows of a day up to which all events are listed.
  static let mostRows = 2000

  var events: HTML {
    """
    <section class="events" aria-labelledby="events">
    <h2 id="events">All events</h2>
    \(week.days.map(table))</section>
    """
  }

  private func table(of day: WeekDay) -> HTML {
    let range = week.entries(of: day)
    guard !range.isEmpty else { return "" }
    let count: HTML = range.count == 1 ? "1 event" : "\(range.count) events"
    let more: HTML =
      range.count > Self.mostRows
      ? "<p class=\"more\">and \(range.count - Self.mostRows) more; the option --json prints all of them</p>\n"
      : ""
    return """
      <details id="l\(day.date.day)" open>
      <summary><h3>\(day.date.weekdayName) <span>\(day.date.longText)</span></h3> <span>\(count)</span></summary>
      <table>
      <thead><tr><th scope="col">Time</th><th scope="col">Room</th><th scope="col">Event</th></tr></thead>
      <tbody>
      \(range.prefix(Self.mostRows).map(row))</tbody>
      </table>
      \(more)</details>

      """
  }

  private func row(_ index: Int) -> HTML {
    let entry = week.entries[index]
    let mark = entry.mark
    let row: HTML = mark == .failure ? " class=\"failed\"" : ""
    let kind: HTML =
      mark.map { "\(Self.symbol($0))<span class=\"sr\">\($0.label): </span>" }
      ?? (entry.kind.isOfRecording ? Self.recordingSymbol : "<span class=\"i\"></span>")
    return """
      <tr id="e\(index)"\(row)><td>\(week.clock(of: entry))</td>\
      <td>\(Self.name(entry.room))</td><td>\(kind)<bdi>\(text(of: entry))</bdi></td></tr>

      """
  }
}
