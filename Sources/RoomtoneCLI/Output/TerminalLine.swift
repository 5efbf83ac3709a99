internal import EventLoop

/// One line on a terminal that is drawn over itself, with a carriage return and blanks, which every terminal understands.
struct TerminalLine {
  /// Whether there is a terminal to draw on.
  let isShown: Bool
  /// What is there now.
  private var shown = ""

  /// A line on standard output, or none.
  init(isShown: Bool) { self.isShown = isShown }

  /// Draws it anew, if it is another.
  mutating func show(_ line: String) {
    guard isShown, line != shown else { return }
    Terminal.draw("\r" + line + String(repeating: " ", count: max(0, shown.count - line.count)), over: line)
    shown = line
  }

  /// Leaves it where it is: what comes next begins on a line of its own.
  mutating func end() {
    if !shown.isEmpty { Terminal.draw("\n", over: "") }
    shown = ""
  }

  /// The sequence that erases a line.
  static func blank(_ line: String) -> String { "\r" + String(repeating: " ", count: line.count) + "\r" }

  /// The text on one line, cut where the terminal would break it.
  static func fit(_ text: String, columns: Int) -> String {
    let line = text.onOneLine
    // A letter in the last column moves some terminals to the next line.
    return line.count < columns ? line : line.prefix(max(0, columns - 2)) + "…"
  }
}
