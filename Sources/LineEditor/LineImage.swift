internal import EventLoop

/// The rows of a terminal that show a block and its prompts, and the cursor on them.
struct LineImage: Equatable {
  /// The rows, each no wider than the terminal.
  private(set) var rows: [String]
  /// The row of the cursor, among the shown rows, and its column.
  private(set) var cursor: (row: Int, column: Int)

  static func == (one: LineImage, other: LineImage) -> Bool {
    one.rows == other.rows && one.cursor == other.cursor
  }

  /// The rows of `buffer`; a block that is higher than the terminal is cut around the cursor.
  /// - Parameters:
  ///   - prompts: the text before the first line, and before each further one.
  ///   - columns: the columns of the terminal.
  ///   - height: the rows of the terminal.
  init(_ buffer: EditBuffer, prompts: (first: String, more: String), columns: Int, height: Int) {
    let width = max(4, columns)
    var rows: [String] = []
    var cursor = (row: 0, column: 0)
    var row = ""
    var column = 0
    var offset = 0
    func end() {
      rows.append(row)
      (row, column) = ("", 0)
    }
    func put(_ text: String, _ size: Int) {
      if column + size > width { end() }
      row += text
      column += size
    }
    func begin(_ prompt: String) {
      for character in prompt { put(String(character), String(character).columns) }
    }
    begin(prompts.first)
    for character in buffer.text {
      if offset == buffer.cursor {
        // The next character decides on which row the cursor is.
        let size = character == "\n" ? 1 : Self.shown(character).columns
        cursor = column + size > width ? (rows.count + 1, 0) : (rows.count, column)
      }
      if character == "\n" {
        if column == width && offset == buffer.cursor { end() }
        end()
        begin(prompts.more)
      } else {
        let text = Self.shown(character)
        put(text, text.columns)
      }
      let after = offset + character.unicodeScalars.count
      if offset < buffer.cursor && buffer.cursor < after { cursor = (rows.count, column) }
      offset = after
    }
    if buffer.cursor >= offset {
      if column >= width { end() }
      cursor = (rows.count, column)
    }
    end()
    let room = max(1, height)
    if rows.count > room {
      let first = min(max(0, cursor.row - room / 2), rows.count - room)
      rows = Array(rows[first..<(first + room)])
      cursor.row -= first
    }
    self.rows = rows
    self.cursor = cursor
  }

  /// The text of a character on the terminal: control characters as `^A`, a tab as blanks.
  private static func shown(_ character: Character) -> String {
    if character == "\t" { return "    " }
    var text = ""
    for scalar in character.unicodeScalars {
      if scalar.value < 0x20 {
        text += "^" + String(Unicode.Scalar(UInt8(scalar.value + 0x40)))
      } else if scalar.movesText {
        text += "\u{FFFD}"
      } else {
        text.unicodeScalars.append(scalar)
      }
    }
    return text
  }

  /// The sequence that draws the rows from the start of an empty row on, and leaves the cursor in its position.
  var drawing: String {
    let below = rows.count - 1 - cursor.row
    return rows.joined(separator: "\r\n") + (below > 0 ? "\u{1B}[\(below)A" : "") + "\r"
      + (cursor.column > 0 ? "\u{1B}[\(cursor.column)C" : "")
  }

  /// The sequence that erases the rows, and leaves the cursor at the start of the first.
  /// - Parameter columns: the present columns of the terminal, which may be narrower and have divided rows.
  func erasing(columns: Int) -> String {
    let above =
      rows[..<cursor.row].reduce(0) { $0 + Self.height($1, columns) } + cursor.column / max(1, columns)
    return "\r" + (above > 0 ? "\u{1B}[\(above)A" : "") + "\u{1B}[J"
  }

  /// The sequence that moves the cursor below the last row.
  var leaving: String {
    let below = rows.count - 1 - cursor.row
    return (below > 0 ? "\u{1B}[\(below)B" : "") + "\r\n"
  }

  private static func height(_ row: String, _ columns: Int) -> Int {
    max(1, (row.columns + columns - 1) / max(1, columns))
  }
}
