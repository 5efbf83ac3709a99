internal import AudioCore
internal import EventLoop
internal import LuaModules
internal import StreamKit

/// The one line on a terminal that tells how far a recording is: `● 0:12 / 2:00:00  190 kB  ▮▮▮▯▯▯▯▯▯▯
/// 2 reconnects  Some Artist - Song  show.mp3`.
///
/// Confined to the loop.
final class RecordingLine {
  /// Connections that were lost and made again.
  var reconnects = 0
  private var line: TerminalLine
  /// Its intended length in seconds; nil without an end.
  var total: Double?
  /// Whether there is a terminal to draw on.
  var isShown: Bool { line.isShown }

  /// A line on standard output, or none.
  init(isShown: Bool) { line = TerminalLine(isShown: isShown) }

  /// Draws it anew.
  func show(_ recording: Recording, _ stream: StreamKit.Stream) {
    guard isShown else { return }
    line.show(
      Self.text(
        seconds: recording.seconds, total: total, bytes: recording.bytes, title: recording.title?.text,
        level: stream.levels.map { max($0.left.rmsDBFS, $0.right.rmsDBFS) }, reconnects: reconnects,
        isWaiting: recording.state == .waiting, path: recording.path, columns: Terminal.columns))
  }

  /// Leaves it where it is: what comes next begins on a line of its own.
  func end() { line.end() }

  /// The line, cut where the terminal would break it: of the path its end is shown, as much as there is room for.
  /// - Parameters:
  ///   - total: how long it is to be; nil without an end.
  ///   - level: in dBFS; nil while it is not known.
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

  /// Letters of a path that tell something.
  private static let shortestPath = 8

  /// Ten letters from -50 to 0 dBFS: `▮▮▮▮▮▮▯▯▯▯`.
  static func bar(_ level: Double?) -> String {
    // Silence is -infinity.
    let filled = level.map { $0 > -50 ? Int(min(10, (($0 + 50) / 5).rounded())) : 0 } ?? 0
    return String(repeating: "▮", count: filled) + String(repeating: "▯", count: 10 - filled)
  }
}
