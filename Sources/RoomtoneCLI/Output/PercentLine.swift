internal import EventLoop

/// The one line on a terminal that tells how far something is: `updating RT-10   42 %`.
///
/// Confined to the loop.
final class PercentLine {
  private var line: TerminalLine

  /// A line on standard output, or none.
  init(isShown: Bool) { line = TerminalLine(isShown: isShown) }

  /// Draws it anew.
  /// - Parameter fraction: 0 to 1.
  func show(_ what: String, _ fraction: Double) {
    line.show(Self.text(what, fraction, columns: Terminal.columns))
  }

  /// Leaves it where it is: what comes next begins on a line of its own.
  func end() { line.end() }

  /// The line, cut where the terminal would break it. 100 % is for what is done alone.
  static func text(_ what: String, _ fraction: Double, columns: Int) -> String {
    let percent = "\(min(100, max(0, Int(fraction * 100))))"
    let number = String(repeating: " ", count: 3 - percent.count) + percent + " %"
    // A letter in the last column moves some terminals to the next line.
    return what.onOneLine.prefix(max(0, columns - number.count - 3)) + "  " + number
  }
}
