/// Lines of text for a terminal of some width: paragraphs, tables of two columns, and code.
struct TextLines {
  private(set) var lines: [String] = []
  /// Columns of a line, at least 20.
  let width: Int

  init(width: Int) { self.width = max(20, width) }

  /// Adds an empty line, unless it would be the first line or the last line is empty.
  mutating func space() {
    if let last = lines.last, !last.isEmpty { lines.append("") }
  }

  /// Adds a line as it is.
  mutating func add(_ line: String) { lines.append(line) }

  /// Adds a paragraph.
  mutating func add(paragraph: String, indent: Int = 0, hanging: Int? = nil) {
    let (first, next) = (
      String(repeating: " ", count: indent), String(repeating: " ", count: hanging ?? indent)
    )
    var line = ""
    var isFirst = true
    for word in Self.plain(paragraph).split(separator: " ") {
      let start = isFirst ? first : next
      if !line.isEmpty && start.count + line.count + 1 + word.count > width {
        lines.append(start + line)
        (line, isFirst) = ("", false)
      }
      line += (line.isEmpty ? "" : " ") + word
    }
    if !line.isEmpty { lines.append((isFirst ? first : next) + line) }
  }

  /// Adds paragraphs and code, an empty line between them.
  mutating func add(_ blocks: [ReferenceBlock]) {
    for block in blocks {
      space()
      switch block {
      case .paragraph(let text): add(paragraph: text)
      case .code(let code): add(code: code)
      }
    }
  }

  /// Adds lines of code, which are not broken.
  mutating func add(code: [String]) { lines += code.map { $0.isEmpty ? "" : "  " + $0 } }

  /// Adds a table; a name that is longer than the first column has a line of its own, as all names on a
  /// narrow terminal.
  mutating func add(_ title: String?, table: [(name: String, text: String)]) {
    if table.isEmpty { return }
    if let title {
      space()
      lines.append(title)
    }
    let column = width < 60 ? 4 : min(28, (table.map(\.name.count).max() ?? 0) + 4)
    for (name, text) in table {
      let head = "  " + Self.plain(name)
      guard !text.isEmpty else {
        lines.append(head)
        continue
      }
      let start = lines.count
      add(paragraph: text, indent: column)
      // The text begins on the line of the name if there is room.
      if head.count + 2 <= column, lines.count > start {
        lines[start] = head + lines[start].dropFirst(head.count)
      } else {
        lines.insert(head, at: start)
      }
    }
  }

  /// Returns a text without the backquotes around texts in quotes, where they are not needed.
  static func plain(_ text: String) -> String {
    var plain: [UInt8] = []
    var isText = false
    let bytes = Array(text.utf8)
    for (index, byte) in bytes.enumerated() {
      guard byte == UInt8(ascii: "`") else {
        plain.append(byte)
        continue
      }
      let next = index + 1 < bytes.count ? bytes[index + 1] : 0
      if isText {
        isText = false
      } else if next == UInt8(ascii: "\""),
        bytes[(index + 1)...].firstIndex(of: byte).map({ bytes[$0 - 1] == next }) == true
      {
        isText = true
      } else {
        plain.append(byte)
      }
    }
    return String(decoding: plain, as: UTF8.self)
  }
}
