internal import EventLoop

/// The progress line of an operation on a terminal: `updating RT-10   42 %`.
///
/// Confined to the loop.
final class PercentLine {
  private var line: TerminalLine

  /// Creates a line on standard output, or a hidden one.
  init(isShown: Bool) { line = TerminalLine(isShown: isShown) }

  /// Redraws the line.
  /// - Parameter fraction: 0 to 1.
  func show(_ what: String, _ fraction: Double) {
    line.show(Self.text(what, fraction, columns: Terminal.columns))
  }

  /// Ends the line: further output begins on a new one.
  func end() { line.end() }

  /// Returns the line, truncated to the terminal's width. The percentage is rounded down: 100 % means
  /// complete.
  static func text(_ what: String, _ fraction: Double, columns: Int) -> String {
    let percent = "\(min(100, max(0, Int(fraction * 100))))"
    let number = String(repeating: " ", count: 3 - percent.count) + percent + " %"
    // A letter in the last column moves some terminals to the next line.
    return what.onOneLine.prefix(max(0, columns - number.count - 3)) + "  " + number
  }
}
