internal import EventLoop

/// A table of text, each column as wide as its widest cell.
///
/// Widths are counted in columns of a terminal; control characters in a cell are escaped as by `onOneLine`.
struct TextTable {
  private var rows: [[String]] = []

  /// Creates a table with a line of titles; without titles it begins with its first row.
  init(_ titles: [String] = []) {
    if !titles.isEmpty { rows.append(titles) }
  }

  /// Adds a row.
  mutating func add(_ cells: [String]) { rows.append(cells.map(\.onOneLine)) }

  /// Lines without trailing blanks and line ends.
  var lines: [String] {
    var widths: [Int] = []
    for row in rows {
      for (column, cell) in row.enumerated() {
        if column == widths.count { widths.append(0) }
        widths[column] = max(widths[column], cell.columns)
      }
    }
    return rows.map { row in
      let cells = zip(row, widths).map { $0.padded(toColumns: $1) }
      let line = cells.joined(separator: "  ")
      return String(line.reversed().drop { $0 == " " }.reversed())
    }
  }
}
