internal import EventLoop
internal import JSONText

/// The progress line of playback on a terminal: `▶ wake_up.mp3  0:12 / 0:23  2 of 5  Kitchen, Bedroom`.
///
/// Confined to the loop.
final class ProgressLine {
  /// `true` if the volume is shown, which keys can change.
  var showsControls = false
  private var line: TerminalLine

  /// Creates a line on standard output, or a hidden one.
  init(isShown: Bool) { line = TerminalLine(isShown: isShown) }

  /// Redraws the line for a notification `playing`.
  func show(_ playing: JSON) {
    guard line.isShown else { return }
    var notes: [String] = []
    if let count = playing["count"]?.int { notes.append("\(playing["index"]?.int ?? 0) of \(count)") }
    if showsControls { notes.append("volume \(playing["volume"]?.int ?? 0)") }
    line.show(
      Self.text(
        title: playing["title"]?.text ?? "", position: playing["position"]?.int ?? 0,
        duration: playing["duration"]?.int, notes: notes, isPaused: playing["paused"]?.bool ?? false,
        places: (playing["rooms"]?.elements ?? []).compactMap(\.text).joined(separator: ", "),
        columns: Terminal.columns))
  }

  /// Draws the line as it was, on a screen that others have used meanwhile.
  func redraw() { line.redraw() }

  /// Ends the line: further output begins on a new one.
  func end() { line.end() }

  /// Returns the line, truncated to the terminal's width.
  /// - Parameter notes: between the time and the places.
  static func text(
    title: String, position: Int, duration: Int?, notes: [String] = [], isPaused: Bool = false,
    places: String,
    columns: Int
  ) -> String {
    let time = clockText(position) + (duration.map { " / " + clockText($0) } ?? "")
    let parts = ["\(isPaused ? "⏸" : "▶") \(title)", time] + notes + [places]
    return TerminalLine.fit(parts.joined(separator: "  "), columns: columns)
  }
}
