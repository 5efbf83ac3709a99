internal import EventLoop

/// Rows of text below one another, each column as wide as its widest cell.
///
/// Widths are counted in letters as a person sees them; what a cell must not hold is written as `onOneLine` does.
struct TextTable {
  private var rows: [[String]] = []

  /// A table with a line of titles; without any it begins with its first row.
  init(_ titles: [String] = []) {
    if !titles.isEmpty { rows.append(titles) }
  }

  /// Adds a row.
  mutating func add(_ cells: [String]) { rows.append(cells.map(\.onOneLine)) }

  /// The lines, without blanks at their ends and without line ends.
  var lines: [String] {
    var widths: [Int] = []
    for row in rows {
      for (column, cell) in row.enumerated() {
        if column == widths.count { widths.append(0) }
        widths[column] = max(widths[column], cell.count)
      }
    }
    return rows.map { row in
      let cells = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
      let line = cells.joined(separator: "  ")
      return String(line.reversed().drop { $0 == " " }.reversed())
    }
  }
}
