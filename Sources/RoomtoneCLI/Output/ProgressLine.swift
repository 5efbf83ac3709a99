internal import AudioCore
internal import EventLoop
internal import SpeakerKit

/// The one line on a terminal that tells how far a file is: `▶ wake_up.mp3  0:12 / 0:23  Kitchen, Bedroom`.
///
/// It is drawn over itself with a carriage return and blanks, which every terminal understands. Confined to the loop.
final class ProgressLine {
  /// What a station says that it plays; nil for what the source is called.
  var title: String?
  /// Where it sounds.
  var places = ""
  private let isShown: Bool
  /// Letters of the line that is there now.
  private var shown = 0

  /// A line on standard output, or none.
  init(isShown: Bool) { self.isShown = isShown }

  /// Draws it anew.
  func show(_ session: Session) {
    guard isShown, let source = session.source else { return }
    let rate = session.format.sampleRate
    let line = Self.text(
      title: title ?? source.title, position: session.position / rate,
      duration: session.duration.map { $0 / rate },
      places: places, columns: Terminal.columns)
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
  static func text(title: String, position: Int, duration: Int?, places: String, columns: Int) -> String {
    let time = clock(position) + (duration.map { " / " + clock($0) } ?? "")
    let line = "▶ \(title)  \(time)  \(places)".onOneLine
    // A letter in the last column moves some terminals to the next line.
    return line.count < columns ? line : line.prefix(max(0, columns - 2)) + "…"
  }

  /// `0:12`, `1:02:03`
  static func clock(_ seconds: Int) -> String {
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60)
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return hours > 0
      ? "\(hours):\(two(minutes)):\(two(seconds % 60))" : "\(minutes):\(two(seconds % 60))"
  }
}
