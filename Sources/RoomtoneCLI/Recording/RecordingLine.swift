internal import AudioCore
internal import EventLoop
internal import LuaModules
internal import StreamKit

/// The one line on a terminal that tells how far a recording is: `● 0:12:34  11 MB  ▅▅▃  Some Artist - Song  2 reconnects`.
///
/// Confined to the loop.
final class RecordingLine {
  /// Connections that were lost and made again.
  var reconnects = 0
  private var line: TerminalLine
  /// Whether there is a terminal to draw on.
  var isShown: Bool { line.isShown }

  /// A line on standard output, or none.
  init(isShown: Bool) { line = TerminalLine(isShown: isShown) }

  /// Draws it anew.
  func show(_ recording: Recording, _ stream: StreamKit.Stream) {
    guard isShown else { return }
    line.show(
      Self.text(
        seconds: recording.seconds, bytes: recording.bytes, title: recording.title?.text,
        level: stream.levels.map { max($0.left.rmsDBFS, $0.right.rmsDBFS) }, reconnects: reconnects,
        isWaiting: recording.state == .waiting, columns: Terminal.columns))
  }

  /// Makes room for a line of something else.
  func clear() { line.clear() }

  /// Leaves it where it is: what comes next begins on a line of its own.
  func end() { line.end() }

  /// The line, cut where the terminal would break it.
  /// - Parameter level: in dBFS; nil while it is not known.
  static func text(
    seconds: Double, bytes: Int, title: String?, level: Double?, reconnects: Int, isWaiting: Bool,
    columns: Int
  ) -> String {
    var parts = [
      "\(isWaiting ? "waits for room on the disk" : "●") \(RecordingText.clock(seconds))",
      ByteSize.describe(bytes),
      bar(level),
    ]
    if reconnects > 0 { parts.append(reconnects == 1 ? "1 reconnect" : "\(reconnects) reconnects") }
    if let title, !title.isEmpty { parts.append(title) }
    return TerminalLine.fit(parts.joined(separator: "  "), columns: columns)
  }

  /// Ten letters from -50 to 0 dBFS: `▮▮▮▮▮▮▯▯▯▯`.
  static func bar(_ level: Double?) -> String {
    // Silence is -infinity.
    let filled = level.map { $0 > -50 ? Int(min(10, (($0 + 50) / 5).rounded())) : 0 } ?? 0
    return String(repeating: "▮", count: filled) + String(repeating: "▯", count: 10 - filled)
  }
}
