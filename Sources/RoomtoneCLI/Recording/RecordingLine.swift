internal import AudioCore
internal import EventLoop
internal import Home
internal import Playback
internal import RecordingKit
internal import StreamCore

/// The progress line of a recording on a terminal: `● 0:12 / 2:00:00  190 kB  ▮▮▮▯▯▯▯▯▯▯ 2 reconnects  Some
/// Artist - Song  show.mp3`.
///
/// Confined to the loop.
final class RecordingLine {
  /// Number of reconnections.
  var reconnects = 0
  private var line: TerminalLine
  /// Planned length in seconds; nil without an end.
  var total: Double?
  /// `true` if the line is drawn on a terminal.
  var isShown: Bool { line.isShown }

  /// Creates a line on standard output, or a hidden one.
  init(isShown: Bool) { line = TerminalLine(isShown: isShown) }

  /// Redraws the line.
  func show(_ recording: Recording, _ stream: Playback.Stream) {
    guard isShown else { return }
    line.show(
      Self.text(
        seconds: recording.seconds, total: total, bytes: recording.bytes, title: recording.title?.text,
        level: stream.levels.map { max($0.left.rmsDBFS, $0.right.rmsDBFS) }, reconnects: reconnects,
        isWaiting: recording.state == .waiting, path: recording.path, columns: Terminal.columns))
  }

  /// Ends the line: further output begins on a new one.
  func end() { line.end() }

  /// Returns the line, truncated to the terminal's width; the path is cut at its beginning.
  /// - Parameters:
  ///   - total: planned length in seconds; nil without an end.
  ///   - level: in dBFS; nil while unknown.
  static func text(
    seconds: Double, total: Double?, bytes: Int, title: String?, level: Double?, reconnects: Int,
    isWaiting: Bool, path: String, columns: Int
  ) -> String {
    let end = total.map { " / \(RecordingText.clock($0))" } ?? ""
    var parts = [
      "\(isWaiting ? "waits for room on the disk" : "●") \(RecordingText.clock(seconds))\(end)",
      ByteSize.describe(bytes),
      bar(level),
    ]
    if reconnects > 0 { parts.append(reconnects == 1 ? "1 reconnect" : "\(reconnects) reconnects") }
    if let title, !title.isEmpty { parts.append(title) }
    let text = parts.joined(separator: "  ").onOneLine
    let (room, name) = (columns - text.count - 4, path.onOneLine)
    guard room >= shortestPath, !name.isEmpty else { return TerminalLine.fit(text, columns: columns) }
    return text + "  " + (name.count <= room ? name : "…" + name.suffix(room - 1))
  }

  /// Minimum number of characters of a path that is shown.
  private static let shortestPath = 8

  /// Returns ten characters from -50 to 0 dBFS: `▮▮▮▮▮▮▯▯▯▯`.
  static func bar(_ level: Double?) -> String {
    // Silence is -infinity.
    let filled = level.map { $0 > -50 ? Int(min(10, (($0 + 50) / 5).rounded())) : 0 } ?? 0
    return String(repeating: "▮", count: filled) + String(repeating: "▯", count: 10 - filled)
  }
}
