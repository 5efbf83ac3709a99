internal import AudioCore
internal import EventLoop
internal import LuaModules
internal import StreamKit

/// The one line on a terminal that tells how far a recording is: `● 0:12:34  11 MB  ▅▅▃  Some Artist - Song  2 reconnects`.
///
/// Drawn over itself, as `ProgressLine`. Confined to the loop.
final class RecordingLine {
  let isShown: Bool
  /// Connections that were lost and made again.
  var reconnects = 0
  /// Letters of the line that is there now.
  private var shown = 0

  /// A line on standard output, or none.
  init(isShown: Bool) { self.isShown = isShown }

  /// Draws it anew.
  func show(_ recording: Recording, _ stream: StreamKit.Stream) {
    guard isShown else { return }
    let line = Self.text(
      seconds: recording.seconds, bytes: recording.bytes, title: recording.title?.text,
      level: stream.levels.map { max($0.left.rmsDBFS, $0.right.rmsDBFS) }, reconnects: reconnects,
      isWaiting: recording.state == .waiting, columns: Terminal.columns)
    Terminal.write("\r" + line + String(repeating: " ", count: max(0, shown - line.count)))
    shown = line.count
  }

  /// Makes room for a line of something else.
  func clear() {
    guard shown > 0 else { return }
    Terminal.write("\r" + String(repeating: " ", count: shown) + "\r")
    shown = 0
  }

  /// Leaves it where it is: what comes next begins on a line of its own.
  func end() {
    if shown > 0 { Terminal.write("\n") }
    shown = 0
  }

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
    let line = parts.joined(separator: "  ").onOneLine
    // A letter in the last column moves some terminals to the next line.
    return line.count < columns ? line : line.prefix(max(0, columns - 2)) + "…"
  }

  /// Ten letters from -50 to 0 dBFS: `▮▮▮▮▮▮▯▯▯▯`.
  static func bar(_ level: Double?) -> String {
    // Silence is -infinity.
    let filled = level.map { $0 > -50 ? Int(min(10, (($0 + 50) / 5).rounded())) : 0 } ?? 0
    return String(repeating: "▮", count: filled) + String(repeating: "▯", count: 10 - filled)
  }
}
