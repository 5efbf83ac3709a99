internal import EventLoop

/// A line on a terminal that is redrawn in place, with a carriage return and blanks, which every terminal
/// supports.
struct TerminalLine {
  /// `true` if the line is drawn on a terminal.
  let isShown: Bool
  /// Text on the terminal now.
  private var shown = ""

  /// Creates a line on standard output, or a hidden one.
  init(isShown: Bool) { self.isShown = isShown }

  /// Redraws the line if it has changed.
  mutating func show(_ line: String) {
    guard isShown, line != shown else { return }
    let blanks = String(repeating: " ", count: max(0, shown.columns - line.columns))
    Terminal.draw("\r" + line + blanks, keeping: Terminal.Drawn(line: line))
    shown = line
  }

  /// Draws the line as it is, on a terminal that others have used meanwhile.
  mutating func redraw() {
    let line = shown
    shown = ""
    show(line)
  }

  /// Ends the line: further output begins on a new one.
  mutating func end() {
    if !shown.isEmpty { Terminal.draw("\n", keeping: nil) }
    shown = ""
  }

  /// Returns the sequence that erases a line.
  static func blank(_ line: String) -> String { "\r" + String(repeating: " ", count: line.columns) + "\r" }

  /// Returns the text on one line, truncated to the terminal's width.
  static func fit(_ text: String, columns: Int) -> String {
    let line = text.onOneLine
    // A letter in the last column moves some terminals to the next line.
    return line.columns < columns ? line : line.cut(toColumns: max(1, columns - 1))
  }
}

/// The progress line of an operation on a terminal: `updating RT-10   42 %`.
///
/// Confined to the loop.
final class PercentLine {
  private var line: TerminalLine

  /// Creates a line on standard output, or a hidden one.
  init(isShown: Bool) { line = TerminalLine(isShown: isShown) }

  /// Redraws the line.
  /// - Parameters:
  ///   - fraction: 0 to 1.
  ///   - left: the words after it.
  func show(_ what: String, _ fraction: Double, left: String = "") {
    line.show(Self.text(what, fraction, left: left, columns: Terminal.columns))
  }

  /// Ends the line: further output begins on a new one.
  func end() { line.end() }

  /// Returns the line, truncated to the terminal's width. The percentage is rounded down: 100 % means
  /// complete.
  static func text(_ what: String, _ fraction: Double, left: String = "", columns: Int) -> String {
    let percent = "\(percent(fraction))"
    let number = String(repeating: " ", count: 3 - percent.count) + percent + " %" + left
    // A letter in the last column moves some terminals to the next line.
    return what.onOneLine.prefix(max(0, columns - number.count - 3)) + "  " + number
  }

  /// Returns a fraction as a percentage, rounded down.
  static func percent(_ fraction: Double) -> Int { min(100, max(0, Int(fraction * 100))) }
}
