internal import AudioCore
internal import EventLoop
internal import JSONText
internal import SpeakerKit

/// The progress line of playback on a terminal: `▶ wake_up.mp3  0:12 / 0:23  2 of 5  Kitchen, Bedroom`.
///
/// Confined to the loop.
final class ProgressLine {
  /// Current title of a station; nil for the title of the source.
  var title: String?
  /// Names of the rooms and speakers.
  var places = ""
  /// `true` if the volume is shown, which keys can change.
  var showsControls = false
  private var line: TerminalLine

  /// Creates a line on standard output, or a hidden one.
  init(isShown: Bool) { line = TerminalLine(isShown: isShown) }

  /// Redraws the line.
  func show(_ session: Session) {
    guard line.isShown, let source = session.source else { return }
    let rate = session.format.sampleRate
    var notes: [String] = []
    if let (entries, index) = session.queue, entries.count > 1 {
      notes.append("\(index + 1) of \(entries.count)")
    }
    if showsControls { notes.append("volume \(session.volume)") }
    line.show(
      Self.text(
        title: title ?? source.title, position: session.position / rate,
        duration: session.duration.map { $0 / rate }, notes: notes, isPaused: session.state == .paused,
        places: places, columns: Terminal.columns))
  }

  /// Redraws the line for what the daemon plays.
  func show(_ playing: JSON) {
    guard line.isShown else { return }
    var notes: [String] = []
    if let count = playing["count"]?.int { notes.append("\(playing["index"]?.int ?? 0) of \(count)") }
    line.show(
      Self.text(
        title: playing["title"]?.text ?? "", position: playing["position"]?.int ?? 0,
        duration: playing["duration"]?.int, notes: notes, isPaused: playing["paused"]?.bool ?? false,
        places: (playing["rooms"]?.elements ?? []).compactMap(\.text).joined(separator: ", "),
        columns: Terminal.columns))
  }

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
